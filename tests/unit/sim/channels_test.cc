/// Several channels, each with its own way through the network: packets of different channels
/// overtake each other.

#include "core/reliability/sender_policy.h"
#include "sim/experiment.h"
#include "tests/catch.h"

namespace longhaul::sim {
namespace {

PathSpec skewed_path() {
  PathSpec path;
  path.rate_bps = 100'000'000'000;
  path.propagation = Duration::milliseconds(5);
  // Up to 2 ms apart, which is six thousand packets.
  path.channel_delays = {{},
                         Duration::microseconds(700),
                         Duration::microseconds(50),
                         Duration::milliseconds(2),
                         Duration::microseconds(1300)};
  return path;
}

MessageSpec message_of(const char* policy, uint8_t channels) {
  MessageSpec message;
  message.bytes = (16 << 20) + 777;
  message.policy = parse_policy(policy).policy;
  message.channels = channels;
  return message;
}

TEST_CASE("what is delivered does not depend on the number of channels") {
  for (const char* policy : {"sr(rto=3rtt)", "sr(nack)", "ec(32,8)"}) {
    for (const uint8_t channels : {uint8_t{1}, uint8_t{2}, uint8_t{3}, uint8_t{8}, uint8_t{64}}) {
      PathSpec path = skewed_path();
      path.loss = LossSpec::bernoulli(1e-2);
      path.reverse_loss = path.loss;
      INFO(policy << " over " << int{channels} << " channels");
      const MessageSample sample = simulate_message(path, message_of(policy, channels), 1, 0);
      // Delivered means: compared with what was sent, byte by byte.
      REQUIRE(sample.outcome == Outcome::delivered);
      REQUIRE(sample.lost_packets > 0);
    }
  }
}

TEST_CASE("packets that other channels overtake are not taken for lost") {
  for (const char* policy : {"sr(rto=3rtt)", "sr(nack)", "ec(32,8)"}) {
    for (const uint8_t channels : {uint8_t{1}, uint8_t{5}, uint8_t{8}}) {
      const MessageSample sample =
          simulate_message(skewed_path(), message_of(policy, channels), 1, 0);
      INFO(policy << " over " << int{channels} << " channels");
      REQUIRE(sample.outcome == Outcome::delivered);
      REQUIRE(sample.retransmitted_packets == 0);
      REQUIRE(sample.receiver.late_packets + sample.duplicate_packets <=
              (sample.parity_packets > 0 ? sample.parity_packets : 0));
    }
  }
}

TEST_CASE("each lost packet of a channel is sent again about once") {
  PathSpec path = skewed_path();
  path.loss = LossSpec::bernoulli(1e-2);
  const MessageSample sample = simulate_message(path, message_of("sr(nack)", 8), 1, 0);
  REQUIRE(sample.outcome == Outcome::delivered);
  REQUIRE(sample.retransmitted_packets >= sample.lost_packets);
  REQUIRE(sample.retransmitted_packets < sample.lost_packets * 11 / 10 + 5);
}

TEST_CASE("with channels, too, the digest does not depend on how runs are cut") {
  PathSpec path = skewed_path();
  path.loss = LossSpec::bernoulli(1e-3);
  MessageSpec message = message_of("sr(nack)", 8);
  const uint64_t digest = simulate_message(path, message, 1, 0).digest;
  for (const uint32_t run : {1u, 16u}) {
    message.max_run_packets = run;
    REQUIRE(simulate_message(path, message, 1, 0).digest == digest);
  }
}

TEST_CASE("chunks are dealt in turn, starting elsewhere for each message") {
  const ChannelMap map{16, 8, 3};
  REQUIRE(map.channel_of(0) == 3);
  REQUIRE(map.channel_of(15) == 3);
  REQUIRE(map.channel_of(16) == 4);
  REQUIRE(map.channel_of(16 * 5) == 0);
  REQUIRE(map.channel_of(kMaxMessagePackets) == 3);  // each segment begins anew
  REQUIRE(ChannelMap{16, 1, 7}.channel_of(12345) == 0);
}

}  // namespace
}  // namespace longhaul::sim
