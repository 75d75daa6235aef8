#pragma once

/// What both ends of a connection agree on, and what one end counts.

#include <cstdint>
#include <optional>

#include "core/base/time.h"
#include "core/reliability/policy_spec.h"

namespace longhaul {

struct QueuePairAttributes {
  uint64_t connection = 0;      ///< random; packets of another connection are refused
  PolicySpec policy;            ///< the same at both ends
  uint32_t chunk_packets = 16;  ///< packets that one bit of the user's bitmap stands for
  uint8_t generations = 4;      ///< 1..16
  uint8_t channels = 8;         ///< 1..64; chunks are dealt to them in turn
  uint32_t max_messages = ~0u;  ///< armed at once; never more than live_message_limit(generations)
  Duration round_trip{};        ///< expected; refined by measurement
  /// How much later than its successors a packet may arrive.
  Duration reordering = Duration::milliseconds(1);
  /// How long a released slot is not armed again; absent: round_trip + reordering. Shorter lets
  /// packets of an old message pass for a new one's, and is for experiments only.
  std::optional<Duration> quarantine;
  /// A transfer always ends: as failed this long after it was posted.
  Duration give_up = Duration::seconds(60);
  /// Data handed to the backend ahead of the wire.
  Duration ahead = Duration::microseconds(64);

  Duration effective_quarantine() const { return quarantine.value_or(round_trip + reordering); }
};

}  // namespace longhaul
