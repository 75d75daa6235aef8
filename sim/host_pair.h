#pragma once

/// Two simulated hosts with a queue pair each, and the link between them.

#include "core/transfer/queue_pair.h"
#include "sim/link.h"
#include "sim/path.h"
#include "sim/sim_backend.h"

namespace longhaul::sim {

struct Host {
  Host(const Capabilities& capabilities, Link& outgoing, Link& incoming,
       const QueuePairAttributes& attributes, uint64_t key_seed)
      : backend(capabilities, outgoing, incoming, key_seed), queue_pair(attributes, backend) {}

  void turn(Instant now) { drive(now, queue_pair, backend, events, commands); }
  Instant next_turn() { return backend.next_event(queue_pair.next_wakeup()); }

  SimBackend backend;
  QueuePair queue_pair;
  EventBatch events;
  CommandBatch commands;
};

class HostPair {
 public:
  /// `rng`: everything that happens by chance is forked from it.
  HostPair(const PathSpec& path, const QueuePairAttributes& attributes,
           const Capabilities& capabilities, const Rng& rng);

  /// Gives the host whose turn is next its turn; false when nothing is due any more.
  bool step();
  /// Gives both their turns up to `when`, and at `when`, whether something is due then or not.
  void run_until(Instant when);
  /// Time of the last turn.
  Instant now() const { return now_; }
  /// Over everything that happened to both.
  uint64_t digest() const;

  Link forward;  ///< from sender to receiver
  Link reverse;
  Host sender;
  Host receiver;

 private:
  Instant now_{};
};

/// The random streams that decide losses in the data direction, and payload; see HostPair's `rng`.
Rng forward_rng(const Rng& rng);
Rng payload_rng(const Rng& rng);
/// A connection over the path: its id and timers; the rest are defaults.
QueuePairAttributes attributes_on(const PathSpec& path, const Rng& rng);
Capabilities capabilities_of(const PathSpec& path, uint32_t max_run_packets);

}  // namespace longhaul::sim
