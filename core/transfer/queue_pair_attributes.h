#pragma once

/// What both ends of a connection agree on, and what one end counts.

#include <cstdint>

#include "core/base/time.h"
#include "core/reliability/policy_spec.h"

namespace longhaul {

struct QueuePairAttributes {
  uint64_t connection = 0;      ///< random; packets of another connection are refused
  PolicySpec policy;            ///< the same at both ends
  uint32_t chunk_packets = 16;  ///< packets that one bit of the user's bitmap stands for
  uint8_t generations = 1;
  Duration round_trip{};  ///< expected; refined by measurement
  /// A transfer always ends: as failed this long after it was posted.
  Duration give_up = Duration::seconds(60);
  /// Data handed to the backend ahead of the wire.
  Duration ahead = Duration::microseconds(64);
};

struct QueuePairCounters {
  uint64_t data_packets = 0;           ///< sent, first transmissions
  uint64_t retransmitted_packets = 0;  ///< sent
  uint64_t parity_packets = 0;         ///< sent
  uint64_t control_packets = 0;        ///< sent
  uint64_t duplicate_packets = 0;      ///< arrived though already there
  uint64_t late_packets = 0;           ///< arrived for a slot that is not armed
  uint64_t decoded_packets = 0;        ///< rebuilt from parity
  uint64_t fallbacks = 0;              ///< transfers whose code gave up decoding
  uint64_t refused_controls = 0;       ///< malformed, foreign or contradictory control messages
};

enum class TransferState : uint8_t { active, delivered, failed };

/// Where a transfer stands.
struct TransferStatus {
  TransferState state = TransferState::active;
  const char* reason = "";  ///< why it failed; static storage
  Instant posted{};
  Instant started{};   ///< sender: the first data bit is on the wire
  Instant finished{};  ///< sender: COMPLETE is in; receiver: all data is in memory
};

}  // namespace longhaul
