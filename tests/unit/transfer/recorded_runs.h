#pragma once

/// Runs of two queue pairs that the tests of recording and replay share.

#include <array>
#include <vector>

#include "tests/catch.h"
#include "tests/unit/transfer/recorded_pair.h"

namespace longhaul::test {

struct Recordings {
  std::vector<std::byte> sender;
  std::vector<std::byte> receiver;
  QueuePairCounters sent;
  QueuePairCounters received;
};

inline PolicySpec policy_of(uint64_t seed) {
  constexpr std::array kPolicies = {"sr(nack)", "sr(rto=1.5rtt)", "ec(4,2)",
                                    "ec(8,1,fallback=0.1rtt)"};
  PolicySpec policy = parse_policy(kPolicies[seed % kPolicies.size()]).policy;
  // What the name of a code does not say is recorded all the same.
  if (seed % 8 == 3) policy.detection = PolicySpec::Detection::rto;
  return policy;
}

inline WildSpec wild_spec(Rng& rng, Instant start) {
  WildSpec spec;
  spec.mtu_bytes = 1024;
  spec.propagation = Duration::microseconds(static_cast<int64_t>(rng.between(10, 5000)));
  spec.data_loss = 0.2 * rng.open_unit();
  spec.control_loss = 0.2 * rng.open_unit();
  spec.duplication = 0.1 * rng.open_unit();
  spec.jitter = Duration{spec.propagation.ps / 2};
  spec.calm_from = start + spec.propagation * 60;
  return spec;
}

inline QueuePairAttributes attributes_of(uint64_t seed, const WildSpec& spec) {
  QueuePairAttributes attributes;
  attributes.connection = mix64(seed);
  attributes.policy = policy_of(seed);
  attributes.round_trip = spec.propagation * 2;
  attributes.channels = static_cast<uint8_t>(1 + seed % 3);
  attributes.generations = 2;
  if (seed % 2 == 0) attributes.quarantine = Duration::microseconds(50);
  if (seed % 5 == 0) attributes.max_messages = 3;  // some receives find no slot
  return attributes;
}

/// A plain message a round: opened, sent in two parts, completed by the receiver, forgotten.
inline void exchange_message(RecordedPair& pair, Rng& rng, Instant limit) {
  RecordedHost& sender = pair.sender;
  RecordedHost& receiver = pair.receiver;
  const size_t bytes = rng.between(1, 60'000);
  const auto slice = receiver.memory(bytes, 0);
  const auto in = receiver.queue_pair.recv_post(pair.now, slice);
  if (!in) return;
  const uint64_t out = sender.queue_pair.send_start(pair.now, sender.memory(bytes, 7), 0xabcd1234);
  const uint64_t packets = sender.queue_pair.queue_pair().send_message(out).packets();
  sender.queue_pair.send_continue(pair.now, out, 0, packets);
  const auto injected = [&] {
    return sender.queue_pair.queue_pair().send_message_status(out).state != SendState::waiting;
  };
  pair.run(limit, injected);
  sender.queue_pair.send_continue(pair.now, out, packets / 2, packets - packets / 2);
  sender.queue_pair.send_end(pair.now, out);
  pair.run(limit, injected);
  pair.run(pair.now + Duration::milliseconds(20),
           [&] { return receiver.queue_pair.queue_pair().recv_message(*in).all_arrived(); });
  receiver.queue_pair.recv_complete(pair.now, *in);
  pair.run(limit, [&] {
    return sender.queue_pair.queue_pair().send_message_status(out).state == SendState::completed;
  });
  sender.queue_pair.forget_send_message(out);
}

/// Transfers and plain messages, until all have ended and are forgotten.
inline Recordings wild_run(uint64_t seed, size_t most_commands = ~size_t{0}) {
  Rng rng = Rng(seed).fork(0);
  const Instant start = Instant{} + Duration::seconds(static_cast<int64_t>(rng.below(1000)));
  const WildSpec spec = wild_spec(rng, start);
  RecordedPair pair(spec, attributes_of(seed, spec), seed, most_commands);
  pair.now = start;
  auto& sender = pair.sender.queue_pair;
  auto& receiver = pair.receiver.queue_pair;
  const Instant limit = pair.now + Duration::seconds(50);
  const size_t transfers = rng.between(1, 3);
  for (size_t i = 0; i < transfers; ++i) {
    const size_t bytes = rng.below(200) * 1024 + rng.below(2);
    sender.transfer_send(pair.now, pair.sender.memory(bytes, seed + i),
                         static_cast<uint32_t>(seed));
    receiver.transfer_recv(pair.now, pair.receiver.memory(bytes + rng.below(2000), 0));
  }
  if (seed % 2 == 1) exchange_message(pair, rng, limit);
  pair.run(limit, [&] {
    for (uint64_t id = 0; id < transfers; ++id) {
      if (!sender.queue_pair().send_released(id)) return false;
    }
    return true;
  });
  for (uint64_t id = 0; id < transfers; ++id) {
    REQUIRE(sender.queue_pair().send_status(id).state == TransferState::delivered);
    sender.forget_send(id);
    receiver.forget_recv(id);
  }
  exchange_message(pair, rng, limit);
  sender.finish();
  receiver.finish();
  return {pair.sender.recording, pair.receiver.recording, sender.queue_pair().counters(),
          receiver.queue_pair().counters()};
}

}  // namespace longhaul::test
