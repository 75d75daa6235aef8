/// Whole messages on the simulator: closed forms, tails, and what must not matter.

#include "sim/experiment.h"
#include "tests/catch.h"

namespace longhaul::sim {
namespace {

PathSpec path_of(Duration round_trip) {
  PathSpec path;
  path.propagation = round_trip / 2;
  return path;
}

MessageSpec message_of(uint64_t bytes, const char* policy, Payload payload = Payload::real) {
  MessageSpec message;
  message.bytes = bytes;
  message.policy = parse_policy(policy).policy;
  message.payload = payload;
  return message;
}

const std::vector<const char*> kPolicies = {"sr(rto=3rtt)", "sr(nack)", "ec(32,8)", "ec(4,1)"};

TEST_CASE(
    "without loss a message takes its wire times, a round trip and COMPLETE, to the picosecond") {
  for (const char* policy : kPolicies) {
    for (const uint64_t bytes : {0ull, 1ull, 4095ull, 4096ull, 4097ull, 128ull << 10, 8ull << 20}) {
      for (const uint64_t rate_bps : {10'000'000'000ull, 400'000'000'000ull, 333'333'333'333ull}) {
        PathSpec path = path_of(Duration::microseconds(36'730));
        path.rate_bps = rate_bps;
        INFO(policy << " " << bytes << " bytes at " << rate_bps);
        const auto sample = simulate_message(path, message_of(bytes, policy), 1, 0);
        REQUIRE(sample.outcome == Outcome::delivered);
        Duration expected = path.propagation * 2 + wire_time(28 + 102, rate_bps);
        const uint64_t full = bytes / 4096;
        expected += wire_time(4096 + 102, rate_bps) * static_cast<int64_t>(full);
        if (bytes % 4096 != 0) expected += wire_time(bytes % 4096 + 102, rate_bps);
        REQUIRE(sample.completion == expected);
        REQUIRE(sample.ideal == expected);
        REQUIRE(sample.oracle == expected);
      }
    }
  }
}

TEST_CASE("nothing is sent twice without loss, whatever the round trip") {
  for (const char* policy : {"sr(rto=3rtt)", "sr(rto=1rtt)", "sr(nack)"}) {
    for (int64_t us = 100; us <= 300'000; us = us * 3 / 2) {
      INFO(policy << " " << us << " us");
      const auto sample =
          simulate_message(path_of(Duration::microseconds(us)), message_of(3 << 20, policy), 1, 0);
      REQUIRE(sample.outcome == Outcome::delivered);
      REQUIRE(sample.retransmitted_packets == 0);
      REQUIRE(sample.duplicate_packets == 0);
    }
  }
}

TEST_CASE("how runs are cut does not matter") {
  PathSpec path = path_of(Duration::milliseconds(5));
  path.loss = LossSpec::bursts(0.02, 5);
  path.reverse_loss = LossSpec::bernoulli(0.05);
  for (const char* policy : kPolicies) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      MessageSpec message = message_of(10'000'001, policy, Payload::virtual_64);
      message.max_run_packets = 1;
      const auto single = simulate_message(path, message, seed, 0);
      for (const uint32_t limit : {16u, 1024u}) {
        message.max_run_packets = limit;
        const auto longer = simulate_message(path, message, seed, 0);
        REQUIRE(longer.digest == single.digest);
        REQUIRE(longer.completion == single.completion);
        REQUIRE(longer.wire_bytes == single.wire_bytes);
      }
    }
  }
}

TEST_CASE("the same seed gives the same run, another seed another") {
  PathSpec path = path_of(Duration::milliseconds(5));
  path.loss = LossSpec::bernoulli(0.01);
  const MessageSpec message = message_of(8 << 20, "sr(nack)");
  const auto once = simulate_message(path, message, 7, 3);
  REQUIRE(simulate_message(path, message, 7, 3).digest == once.digest);
  REQUIRE(simulate_message(path, message, 8, 3).digest != once.digest);
  REQUIRE(simulate_message(path, message, 7, 4).digest != once.digest);
}

TEST_CASE("virtual payload takes the same course as real payload") {
  PathSpec path = path_of(Duration::milliseconds(5));
  path.loss = LossSpec::bernoulli(0.03);
  for (const char* policy : kPolicies) {
    const auto real = simulate_message(path, message_of(1'000'001, policy), 5, 0);
    const auto tags =
        simulate_message(path, message_of(1'000'001, policy, Payload::virtual_64), 5, 0);
    REQUIRE(real.outcome == Outcome::delivered);
    REQUIRE(tags.outcome == Outcome::delivered);
    REQUIRE(tags.completion == real.completion);
    REQUIRE(tags.decoded_packets == real.decoded_packets);
  }
}

TEST_CASE("only the last packet is lost, first transmission and repairs alike") {
  for (const char* policy : {"sr(rto=3rtt)", "sr(nack)"}) {
    PathSpec path = path_of(Duration::milliseconds(10));
    path.loss = LossSpec::scripted({255, 256, 257});
    const auto sample = simulate_message(path, message_of(1 << 20, policy), 1, 0);
    INFO(policy);
    REQUIRE(sample.outcome == Outcome::delivered);
    REQUIRE(sample.lost_packets == 3);
    REQUIRE(sample.retransmitted_packets == 3);
    REQUIRE(sample.oracle > sample.ideal);
  }
}

TEST_CASE("sr(rto=3rtt) repairs at exactly the time-out, as in the model") {
  PathSpec path = path_of(Duration::milliseconds(10));
  path.loss = LossSpec::scripted({100});
  const auto sample = simulate_message(path, message_of(1 << 20, "sr(rto=3rtt)"), 1, 0);
  // X_i = i T + RTO + T (SDR-RDMA paper, appendix), one round trip and COMPLETE.
  const Duration packet = wire_time(4096 + 102, path.rate_bps);
  const Duration expected = packet * 102 + Duration::milliseconds(30) + Duration::milliseconds(10) +
                            wire_time(125, path.rate_bps);
  REQUIRE((sample.completion - expected).ps >= 0);
  // The measured round trip holds FEEDBACK's own wire time as well, three times here.
  REQUIRE((sample.completion - expected) < Duration::nanoseconds(100));
}

TEST_CASE("sr(nack) repairs within a round trip and two feedback periods") {
  PathSpec path = path_of(Duration::milliseconds(10));
  path.loss = LossSpec::scripted({100});
  const auto sample = simulate_message(path, message_of(1 << 20, "sr(nack)"), 1, 0);
  REQUIRE(sample.retransmitted_packets == 1);
  REQUIRE(sample.completion <
          sample.ideal + Duration::milliseconds(10) + Duration::milliseconds(10) / 64 * 2);
}

TEST_CASE("every control message of the receiver is lost for a while") {
  std::vector<uint64_t> first_hundred(100);
  for (uint64_t i = 0; i < first_hundred.size(); ++i) first_hundred[i] = i;
  for (const char* policy : kPolicies) {
    PathSpec path = path_of(Duration::milliseconds(1));
    path.reverse_loss = LossSpec::scripted({}, first_hundred);
    const auto sample = simulate_message(path, message_of(1 << 20, policy), 1, 0);
    INFO(policy << ": " << sample.failure);
    REQUIRE(sample.outcome == Outcome::delivered);
    REQUIRE(sample.lost_control_packets == 100);
  }
}

TEST_CASE("each single control message can be lost, in both directions") {
  for (const char* policy : kPolicies) {
    for (const uint64_t bytes : {0ull, 1ull, 100'000ull}) {
      for (uint64_t lost = 0; lost < 12; ++lost) {
        PathSpec path = path_of(Duration::milliseconds(1));
        path.loss = LossSpec::scripted({3}, {lost});
        path.reverse_loss = LossSpec::scripted({}, {lost});
        INFO(policy << " " << bytes << " bytes, control " << lost);
        REQUIRE(simulate_message(path, message_of(bytes, policy), 1, 0).outcome ==
                Outcome::delivered);
      }
    }
  }
}

TEST_CASE("a code falls back when it cannot decode, and repairs only what it must") {
  PathSpec path = path_of(Duration::milliseconds(5));
  path.loss = LossSpec::scripted({0, 1, 2, 3, 32, 33});  // ec(4,1), 8 stripes: two stripes lose two
  const auto sample = simulate_message(path, message_of(32 * 4096, "ec(4,1)"), 1, 0);
  REQUIRE(sample.outcome == Outcome::delivered);
  REQUIRE(sample.fallbacks == 1);
  REQUIRE(sample.retransmitted_packets == 2);
  REQUIRE(sample.decoded_packets == 2);
}

TEST_CASE("a code decodes with exactly as much loss as it has parity, and asks for nothing") {
  PathSpec path = path_of(Duration::milliseconds(5));
  path.loss = LossSpec::scripted({0, 5, 7, 11, 13, 20, 30, 31});
  const auto sample = simulate_message(path, message_of(32 * 4096 - 100, "ec(32,8)"), 1, 0);
  REQUIRE(sample.outcome == Outcome::delivered);
  REQUIRE(sample.fallbacks == 0);
  REQUIRE(sample.decoded_packets == 8);
  REQUIRE(sample.retransmitted_packets == 0);
}

TEST_CASE("sizes around 2^31 and 2^32 bytes") {
  PathSpec path = path_of(Duration::milliseconds(5));
  path.loss = LossSpec::bernoulli(1e-5);
  for (const uint64_t bytes :
       {(1ull << 31) - 1, 1ull << 31, (1ull << 32) - 1, 1ull << 32, (1ull << 32) + 1}) {
    const auto sample =
        simulate_message(path, message_of(bytes, "sr(nack)", Payload::virtual_64), 1, 0);
    REQUIRE(sample.outcome == Outcome::delivered);
    REQUIRE(sample.data_packets == (bytes + 4095) / 4096);
    REQUIRE(sample.completion > sample.ideal);
  }
}

TEST_CASE("a dead path ends as failed at the give-up time, with a reason") {
  PathSpec path = path_of(Duration::milliseconds(5));
  MessageSpec message = message_of(1 << 20, "sr(nack)");
  message.give_up = Duration::seconds(1);
  std::vector<uint64_t> all(100'000);
  for (uint64_t i = 0; i < all.size(); ++i) all[i] = i;
  path.reverse_loss = LossSpec::scripted({}, all);
  const auto unheard = simulate_message(path, message, 1, 0);
  REQUIRE(unheard.outcome == Outcome::failed);
  REQUIRE(unheard.failure == "no clear-to-send within the give-up time");
  path.reverse_loss = LossSpec::none();
  path.loss = LossSpec::scripted(all, {});
  const auto lost = simulate_message(path, message, 1, 0);
  REQUIRE(lost.outcome == Outcome::failed);
  REQUIRE_THAT(lost.failure, ContainsSubstring("gave up") || ContainsSubstring("give-up"));
}

TEST_CASE("a NIC faster than the link overflows a short queue and not a long one") {
  PathSpec path = path_of(Duration::milliseconds(5));
  path.rate_bps = 100'000'000'000;
  path.nic_rate_bps = 400'000'000'000;
  path.queue_bytes = 64u << 20;
  const MessageSpec message = message_of(16 << 20, "sr(nack)");
  const auto roomy = simulate_message(path, message, 1, 0);
  REQUIRE(roomy.queue_drops == 0);
  REQUIRE(roomy.retransmitted_packets == 0);
  // BEGIN takes longer on the link than in the NIC, by which the start is timed.
  REQUIRE(roomy.completion < roomy.ideal + Duration::nanoseconds(20));
  path.queue_bytes = 1u << 20;
  const auto tight = simulate_message(path, message, 1, 0);
  REQUIRE(tight.outcome == Outcome::delivered);
  REQUIRE(tight.queue_drops > 0);
}

TEST_CASE("every MTU carries every policy") {
  for (const uint32_t mtu_bytes : {1024u, 2048u, 4096u, 8192u}) {
    for (const char* policy : kPolicies) {
      PathSpec path = path_of(Duration::milliseconds(2));
      path.mtu_bytes = mtu_bytes;
      path.loss = LossSpec::bernoulli(0.02);
      for (const uint64_t bytes :
           {mtu_bytes - 1ull, mtu_bytes + 0ull, mtu_bytes + 1ull, 500'000ull}) {
        REQUIRE(simulate_message(path, message_of(bytes, policy), 3, 0).outcome ==
                Outcome::delivered);
      }
    }
  }
}

}  // namespace
}  // namespace longhaul::sim
