#pragma once

/// What the user chooses: the C++ side of the attribute structs in core/sdr/sdr.h.

#include <cstdint>
#include <string>

#include "backends/runtime/device.h"
#include "core/sdr/connect.h"
#include "core/sdr/queue_pair_attributes.h"

namespace longhaul {

struct ContextOptions {
  uint32_t channels = 8;        ///< internal queue pairs of each generation, 1..64
  uint32_t workers = 0;         ///< threads that take completions off channels, at most one each
  bool progress_thread = true;  ///< else: Context::progress
  /// Outlives the context; null: the steady clock. Another one needs 0 workers and no progress
  /// thread, which could not wait by it.
  const Clock* clock = nullptr;
};

enum class Direction : uint8_t { both, send, receive };

struct QueuePairOptions {
  std::string policy = "sr(nack)";        ///< of transfers; the same at both ends
  uint32_t mtu_bytes = 0;                 ///< at most; 0: the device's
  uint32_t chunk_packets = 16;            ///< packets of a bit of the receive bitmap
  uint32_t generations = 4;               ///< 1..16
  uint32_t max_messages = 0;              ///< armed at once; 0: live_message_limit(generations)
  uint64_t max_bytes = 0;                 ///< posted for receiving at once; 0: no limit
  Direction direction = Direction::both;  ///< what may be posted
  uint64_t rate_bps = 0;                  ///< injected at most; 0: the device's
  uint64_t message_bytes = 0;  ///< expected, for the note on what slots can carry; 0: unknown
  Duration round_trip = Duration::milliseconds(1);
  Duration reordering = Duration::milliseconds(1);
  Duration give_up = Duration::seconds(60);
  /// File to write a recording into, which `longhaul replay` repeats; empty: none.
  std::string recording;
};

/// Throws SetupError when an option is out of range.
void check_options(const ContextOptions& options);

/// This end's description, checked, with root keys and backend bytes still to come from the port.
/// Throws SetupError.
ConnectInfo describe_end(const QueuePairOptions& options, uint8_t channels, const Device& device);

/// What the core runs with, once both ends have agreed.
QueuePairAttributes core_attributes(const QueuePairOptions& options, const ConnectInfo& local,
                                    const ConnectAgreement& agreement);

/// Lines for people about a connected queue pair; ends with a note when slots cannot fill the path.
std::string describe_connection(const QueuePairOptions& options,
                                const QueuePairAttributes& attributes,
                                const Capabilities& capabilities);

}  // namespace longhaul
