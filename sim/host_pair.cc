#include "sim/host_pair.h"

#include <algorithm>

#include "core/base/hash.h"

namespace longhaul::sim {
namespace {

/// Labels of forked generators; a changed value changes every result.
enum ForkLabel : uint64_t {
  kForwardLink = 1,
  kReverseLink = 2,
  kPayload = 3,
  kConnection = 4,
  kSenderKeys = 5,
  kReceiverKeys = 6
};

LinkSpec forward_spec(const PathSpec& path) {
  return {path.rate_bps,      path.effective_nic_rate_bps(),
          path.propagation,   path.queue_bytes,
          path.header_bytes,  path.mtu_bytes,
          path.loss,          path.disorder,
          path.channel_delays};
}

LinkSpec reverse_spec(const PathSpec& path) {
  LinkSpec spec = forward_spec(path);
  spec.loss = path.reverse_loss;
  spec.disorder = {};
  return spec;
}

}  // namespace

HostPair::HostPair(const PathSpec& path, const QueuePairAttributes& attributes,
                   const Capabilities& capabilities, const Rng& rng)
    : forward(forward_spec(path), rng.fork(kForwardLink)),
      reverse(reverse_spec(path), rng.fork(kReverseLink)),
      sender(capabilities, forward, reverse, attributes, rng.fork(kSenderKeys).seed()),
      receiver(capabilities, reverse, forward, attributes, rng.fork(kReceiverKeys).seed()) {
  sender.backend.connect(receiver.backend);
  receiver.backend.connect(sender.backend);
}

bool HostPair::step() {
  // Each turn can make something due at the other host, at the same instant at the earliest.
  const Instant sender_turn = sender.next_turn();
  const Instant receiver_turn = receiver.next_turn();
  const Instant next = std::min(sender_turn, receiver_turn);
  if (next == Instant::never()) return false;
  now_ = std::max(now_, next);
  (sender_turn <= receiver_turn ? sender : receiver).turn(now_);
  return true;
}

void HostPair::run_until(Instant when) {
  while (std::min(sender.next_turn(), receiver.next_turn()) <= when) step();
  now_ = std::max(now_, when);
  sender.turn(now_);
  receiver.turn(now_);
}

uint64_t HostPair::digest() const {
  return mix64(sender.backend.digest(), receiver.backend.digest());
}

Rng forward_rng(const Rng& rng) { return rng.fork(kForwardLink); }

Rng payload_rng(const Rng& rng) { return rng.fork(kPayload); }

QueuePairAttributes attributes_on(const PathSpec& path, const Rng& rng) {
  QueuePairAttributes attributes;
  attributes.connection = rng.fork(kConnection).next();
  attributes.round_trip = path.propagation * 2;
  attributes.reordering = path.reordering();
  return attributes;
}

Capabilities capabilities_of(const PathSpec& path, uint32_t max_run_packets) {
  return {path.mtu_bytes,    max_run_packets, path.effective_nic_rate_bps(),
          path.header_bytes, path.mtu_bytes,  true};
}

}  // namespace longhaul::sim
