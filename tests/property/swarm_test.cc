/// The swarm: thousands of seeds, each with its own sizes, policy and faults, some faults switched
/// off entirely, some extreme. Safety: what is delivered equals what was sent, and is counted once.
/// Then the faults stop, and everything must end within a bound.
///
/// One seed again: LONGHAUL_SWARM_FIRST=<seed> LONGHAUL_SWARM_SEEDS=1 build/release/test_swarm

#include <cstdlib>
#include <string>

#include "sim/experiment.h"
#include "sim/payload.h"
#include "tests/catch.h"
#include "tests/support/wild_network.h"

namespace longhaul {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

PolicySpec random_policy(Rng& rng) {
  PolicySpec policy;
  switch (rng.below(4)) {
    case 0:
      policy.detection = PolicySpec::Detection::rto;
      policy.rto_millirtt = static_cast<uint32_t>(rng.between(1000, 4000));
      break;
    case 1:
      break;
    default:
      policy.kind = PolicySpec::Kind::erasure_code;
      policy.data_count = static_cast<uint32_t>(rng.between(1, 40));
      policy.parity_count = static_cast<uint32_t>(rng.between(1, 12));
      policy.fallback_millirtt = static_cast<uint32_t>(rng.between(0, 1500));
  }
  return policy;
}

/// A fault is off in a third of the cases, extreme in a sixth.
double random_fault(Rng& rng, double usual, double extreme) {
  switch (rng.below(6)) {
    case 0:
    case 1:
      return 0;
    case 2:
      return extreme * rng.open_unit();
    default:
      return usual * rng.open_unit();
  }
}

uint64_t random_bytes(Rng& rng, uint64_t mtu_bytes) {
  switch (rng.below(5)) {
    case 0:
      return rng.below(3) * mtu_bytes + rng.below(2);
    case 1:
      return rng.between(1, 3) * mtu_bytes - 1;
    case 2:
      return rng.below(40 * mtu_bytes);
    default:
      return rng.below(400 * mtu_bytes);
  }
}

void wild_case(uint64_t seed) {
  Rng rng = Rng(seed).fork(0);
  test::WildSpec spec;
  spec.mtu_bytes = 1024u << rng.below(3);
  spec.propagation = Duration::microseconds(static_cast<int64_t>(rng.between(10, 20'000)));
  spec.rate_bps = rng.between(1, 400) * 1'000'000'000;
  spec.data_loss = random_fault(rng, 0.1, 1);
  spec.control_loss = random_fault(rng, 0.1, 1);
  spec.duplication = random_fault(rng, 0.1, 1);
  spec.jitter = rng.below(2) == 0
                    ? Duration{}
                    : Duration{spec.propagation.ps * static_cast<int64_t>(rng.between(0, 20)) / 10};
  spec.calm_from = Instant{} + spec.propagation * static_cast<int64_t>(rng.between(0, 60));
  QueuePairAttributes attributes;
  attributes.connection = rng.next();
  attributes.policy = random_policy(rng);
  attributes.chunk_packets = static_cast<uint32_t>(rng.between(1, 64));
  attributes.round_trip = spec.propagation * 2;
  attributes.give_up = Duration::seconds(3600);

  test::WildPair pair(spec, attributes, seed);
  const size_t transfers = rng.between(1, 3);
  struct Memory {
    std::vector<std::byte> source, buffer;
    uint64_t bytes;
  };
  std::vector<Memory> memories(transfers);
  for (size_t t = 0; t < transfers; ++t) {
    Memory& memory = memories[t];
    memory.bytes = random_bytes(rng, spec.mtu_bytes);
    const uint64_t capacity =
        memory.bytes + (rng.below(3) == 0 ? rng.below(50 * spec.mtu_bytes) : 0);
    memory.source.resize(memory.bytes + 1);
    memory.buffer.resize(capacity + 1);
    sim::fill_payload({memory.source.data(), memory.bytes}, seed + t);
    const MemoryRegion source{memory.source.data(), memory.bytes, spec.mtu_bytes, spec.mtu_bytes};
    const MemoryRegion buffer{memory.buffer.data(), capacity, spec.mtu_bytes, spec.mtu_bytes};
    pair.sender.transfer_send(
        {}, {pair.sender_host.register_memory(source), source, 0, memory.bytes},
        static_cast<uint32_t>(seed));
    pair.receiver.transfer_recv(
        {}, {pair.receiver_host.register_memory(buffer), buffer, 0, capacity});
  }
  const auto all_ended = [&] {
    for (uint32_t t = 0; t < transfers; ++t) {
      if (pair.sender.send_status(t).state == TransferState::active) return false;
    }
    return true;
  };
  // After the calm: a time-out armed at the last moment, then a few round trips and all data again.
  Duration data_time{};
  for (const Memory& memory : memories)
    data_time += wire_time(memory.bytes * 3 + 100'000, spec.rate_bps);
  const Instant bound = spec.calm_from + attributes.round_trip * 60 + spec.jitter * 60 +
                        data_time * 4 + Duration::milliseconds(5);
  pair.run(bound, all_ended);
  for (uint32_t t = 0; t < transfers; ++t) {
    REQUIRE(pair.sender.send_status(t).state == TransferState::delivered);
    const ReceiveTransfer& received = pair.receiver.recv(t);
    REQUIRE(received.bytes() == memories[t].bytes);
    REQUIRE(received.user_immediate() == static_cast<uint32_t>(seed));
    REQUIRE(sim::payload_equals({memories[t].buffer.data(), memories[t].bytes}, seed + t));
    REQUIRE(received.bitmap().chunks_complete() == received.bitmap().chunks());
    const auto beyond = memories[t].buffer.begin() + static_cast<std::ptrdiff_t>(memories[t].bytes);
    REQUIRE(std::all_of(beyond, memories[t].buffer.end(),
                        [](std::byte b) { return b == std::byte{0}; }));
  }
}

void simulator_case(uint64_t seed) {
  Rng rng = Rng(seed).fork(1);
  sim::PathSpec path;
  path.mtu_bytes = 1024u << rng.below(4);
  path.rate_bps = rng.between(1, 800) * 1'000'000'000;
  if (rng.below(3) == 0) path.nic_rate_bps = path.rate_bps * rng.between(1, 8) / 2;
  path.queue_bytes = rng.between(8, 2000) * path.mtu_bytes;
  path.propagation = Duration::microseconds(static_cast<int64_t>(rng.between(0, 30'000)));
  path.header_bytes = rng.below(4) == 0 ? 0 : 102;
  const auto random_loss = [&] {
    const double rate = random_fault(rng, 0.05, 0.5);
    return rng.below(2) == 0 ? LossSpec::bernoulli(rate)
                             : LossSpec::bursts(rate, 1 / (1 - rate) + 20 * rng.open_unit());
  };
  path.loss = random_loss();
  path.reverse_loss = random_loss();
  sim::MessageSpec message;
  message.bytes = random_bytes(rng, path.mtu_bytes);
  message.policy = random_policy(rng);
  message.chunk_packets = static_cast<uint32_t>(rng.between(1, 64));
  message.payload = rng.below(2) == 0 ? sim::Payload::real : sim::Payload::virtual_64;
  message.max_run_packets = static_cast<uint32_t>(rng.between(1, 100));
  message.give_up = Duration::seconds(1000);
  const auto sample = sim::simulate_message(path, message, seed, 0);
  INFO(sample.failure);
  REQUIRE(sample.outcome == sim::Outcome::delivered);
  REQUIRE(sample.completion >= sample.ideal);
  if (path.nic_rate_bps <= path.rate_bps) REQUIRE(sample.completion >= sample.oracle);
  REQUIRE(sample.data_packets == (message.bytes + path.mtu_bytes - 1) / path.mtu_bytes);
}

TEST_CASE("the swarm delivers everything, exactly, and always ends") {
  const uint64_t first = from_environment("LONGHAUL_SWARM_FIRST", 1);
  const uint64_t seeds = from_environment("LONGHAUL_SWARM_SEEDS", 2000);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    INFO("LONGHAUL_SWARM_FIRST=" << seed << " LONGHAUL_SWARM_SEEDS=1 build/release/test_swarm");
    wild_case(seed);
    simulator_case(seed);
  }
}

}  // namespace
}  // namespace longhaul
