#pragma once

/// Many messages in flight over one simulated path: what a queue pair sustains.

#include <cstdint>
#include <optional>

#include "core/sdr/counters.h"
#include "sim/experiment.h"
#include "sim/sim_backend.h"

namespace longhaul::sim {

struct StreamSpec {
  uint64_t messages = 0;
  uint64_t message_bytes = 0;
  /// Transfers posted at a time, at each end.
  uint64_t in_flight = 1;
  PolicySpec policy;
  Payload payload = Payload::virtual_64;
  uint32_t chunk_packets = 16;
  uint8_t generations = 4;
  uint8_t channels = 1;
  std::optional<Duration> reordering;  ///< bound that is assumed; absent: that of the path
  std::optional<Duration> quarantine;  ///< see QueuePairAttributes
  bool late_write_fence = true;
  Duration give_up = Duration::seconds(60);
  uint32_t max_run_packets = 1024;
};

struct StreamSample {
  uint64_t delivered = 0;
  uint64_t failed = 0;
  uint64_t corrupt = 0;       ///< delivered, but memory, length or immediate differ
  Duration elapsed{};         ///< first data bit on the wire to the last end at the sender
  uint64_t peak_armed = 0;    ///< messages live at once, at most
  uint64_t lost_packets = 0;  ///< data direction
  QueuePairCounters sender;
  QueuePairCounters receiver;
  MemoryCounters memory;  ///< of the receiver
  uint64_t digest = 0;

  /// Payload delivered per time.
  uint64_t goodput_bps(uint64_t message_bytes) const;
};

/// Sends `messages` messages, posting the next one when one has ended, each with its own payload,
/// length and immediate checked on arrival.
StreamSample simulate_stream(const PathSpec& path, const StreamSpec& spec, uint64_t seed);

}  // namespace longhaul::sim
