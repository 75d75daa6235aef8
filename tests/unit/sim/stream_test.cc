/// Many messages in flight.

#include "sim/stream.h"

#include "core/sdr/ceiling.h"
#include "tests/catch.h"

namespace longhaul::sim {
namespace {

constexpr uint64_t kMiB = 1 << 20;

PathSpec long_path() {
  PathSpec path;
  path.rate_bps = 400'000'000'000;
  path.propagation = Duration::milliseconds(25);
  return path;
}

StreamSpec many(uint64_t messages, uint8_t generations) {
  StreamSpec spec;
  spec.messages = messages;
  spec.message_bytes = kMiB;
  spec.in_flight = 6000;
  spec.policy = parse_policy("sr(nack)").policy;
  spec.generations = generations;
  return spec;
}

/// Payload per time when data is all that is on the wire, each message with its BEGINs.
uint64_t line_rate_bps(const PathSpec& path) {
  const uint64_t begins = 2 * (28 + 8 + path.header_bytes);
  const uint64_t wire = 256 * (path.mtu_bytes + path.header_bytes) + begins;
  return path.rate_bps / wire * kMiB;
}

void require_all_delivered(const StreamSample& sample, const StreamSpec& spec) {
  REQUIRE(sample.delivered == spec.messages);
  REQUIRE(sample.failed == 0);
  REQUIRE(sample.corrupt == 0);
  REQUIRE(sample.sender.checksum_mismatches == 0);
  REQUIRE(sample.memory.late_landed_packets == 0);
  REQUIRE(sample.memory.out_of_bounds_packets == 0);
}

TEST_CASE("a million messages of 1 MiB keep 400 Gb/s over 50 ms full, none false, none corrupt") {
  const PathSpec path = long_path();
  const StreamSpec spec = many(1'000'000, 5);
  const StreamSample sample = simulate_stream(path, spec, 1);
  require_all_delivered(sample, spec);
  REQUIRE(sample.sender.retransmitted_packets == 0);
  REQUIRE(sample.receiver.duplicate_packets + sample.receiver.late_packets == 0);
  REQUIRE(sample.peak_armed >= 2385);
  // The last message's round trip is all that is not line rate.
  REQUIRE(sample.goodput_bps(kMiB) >= line_rate_bps(path) / 1000 * 997);
}

TEST_CASE("too few generations carry what the note at connect says, not more") {
  const PathSpec path = long_path();
  for (const uint8_t generations : {uint8_t{1}, uint8_t{4}}) {
    StreamSpec spec = many(60'000, generations);
    spec.reordering = Duration::milliseconds(1);
    const StreamSample sample = simulate_stream(path, spec, 1);
    require_all_delivered(sample, spec);
    const Duration round_trip = Duration::milliseconds(50);
    const auto note = ceiling_note(generations, kMiB, path.rate_bps, round_trip,
                                   round_trip + Duration::milliseconds(1));
    REQUIRE(note);
    INFO(*note);
    const double ceiling_bps = generations * 1024.0 * kMiB * 8 / 0.101;
    const auto goodput_bps = static_cast<double>(sample.goodput_bps(kMiB));
    REQUIRE(goodput_bps < ceiling_bps * 1.02);
    REQUIRE(goodput_bps > ceiling_bps * 0.9);
  }
}

TEST_CASE("loss, lateness and duplicates on the path corrupt nothing among thousands of messages") {
  PathSpec path = long_path();
  path.loss = LossSpec::bernoulli(1e-3);
  path.reverse_loss = LossSpec::bernoulli(1e-2);
  path.disorder.late_rate = 1e-3;
  path.disorder.duplicate_rate = 1e-3;
  path.disorder.late_up_to = Duration::milliseconds(10);
  for (const char* policy : {"sr(nack)", "sr(rto=3rtt)", "ec(32,8)"}) {
    StreamSpec spec = many(8000, 6);
    spec.policy = parse_policy(policy).policy;
    spec.payload = Payload::virtual_64;
    const StreamSample sample = simulate_stream(path, spec, 1);
    INFO(policy);
    require_all_delivered(sample, spec);
    REQUIRE(sample.lost_packets > 0);
    REQUIRE(sample.receiver.duplicate_packets + sample.receiver.late_packets > 0);
  }
}

TEST_CASE("without quarantine late packets pass for those of later messages, and are found out") {
  PathSpec path = long_path();
  path.rate_bps = 100'000'000'000;
  path.propagation = Duration::microseconds(100);
  path.disorder.late_rate = 1e-2;
  path.disorder.late_up_to = Duration::milliseconds(20);
  path.loss = LossSpec::bernoulli(1e-2);
  StreamSpec spec = many(20'000, 1);
  spec.message_bytes = 16 * 4096;
  spec.in_flight = 1024;
  spec.payload = Payload::real;
  SECTION("with it nothing happens") {
    const StreamSample sample = simulate_stream(path, spec, 1);
    require_all_delivered(sample, spec);
  }
  SECTION("without it the end-to-end checksum is the last defence") {
    spec.quarantine = Duration{};
    spec.reordering = Duration{};
    const StreamSample sample = simulate_stream(path, spec, 1);
    REQUIRE(sample.corrupt > 0);
    REQUIRE(sample.sender.checksum_mismatches == sample.failed);
    REQUIRE(sample.failed >= sample.corrupt);
  }
}

TEST_CASE("a stream's digest depends on its seed, and not on how runs are cut") {
  PathSpec path = long_path();
  path.loss = LossSpec::bernoulli(1e-3);
  StreamSpec spec = many(300, 2);
  spec.in_flight = 100;
  const uint64_t digest = simulate_stream(path, spec, 1).digest;
  REQUIRE(simulate_stream(path, spec, 1).digest == digest);
  REQUIRE(simulate_stream(path, spec, 2).digest != digest);
  for (const uint32_t run : {1u, 16u}) {
    spec.max_run_packets = run;
    REQUIRE(simulate_stream(path, spec, 1).digest == digest);
  }
}

TEST_CASE("2^40 bytes go as one transfer of 1024 messages") {
  PathSpec path = long_path();
  path.loss = LossSpec::bernoulli(1e-6);
  path.reverse_loss = path.loss;
  MessageSpec message;
  message.bytes = uint64_t{1} << 40;
  message.payload = Payload::virtual_64;
  message.policy = parse_policy("sr(nack)").policy;
  const MessageSample sample = simulate_message(path, message, 1, 0);
  INFO(sample.failure);
  REQUIRE(sample.outcome == Outcome::delivered);
  REQUIRE(sample.data_packets == uint64_t{1} << 28);
  REQUIRE(sample.lost_packets > 100);
  REQUIRE(sample.completion < sample.ideal + Duration::milliseconds(200));
}

}  // namespace
}  // namespace longhaul::sim
