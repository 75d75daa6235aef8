#pragma once

/// What one end of a connection counts, and what its counts mean.

#include <cstdint>
#include <span>

namespace longhaul {

struct QueuePairCounters {
  // Sent.
  uint64_t data_packets = 0;           ///< first transmissions
  uint64_t retransmitted_packets = 0;  ///< of data, again
  uint64_t parity_packets = 0;
  uint64_t control_packets = 0;

  // Arrived.
  uint64_t received_packets = 0;   ///< new ones, of armed messages
  uint64_t duplicate_packets = 0;  ///< there already
  uint64_t late_packets = 0;       ///< for a slot that is not armed
  uint64_t beyond_packets = 0;     ///< for an armed slot, but beyond its message
  uint64_t decoded_packets = 0;    ///< never arrived: rebuilt from parity

  // Transfers and messages.
  uint64_t fallbacks = 0;            ///< transfers whose code gave up decoding
  uint64_t given_up = 0;             ///< transfers that failed at their give-up time
  uint64_t checksum_mismatches = 0;  ///< transfers whose two ends differ
  uint64_t slot_waits = 0;           ///< posts that found no slot free to arm
  uint64_t partial_completions = 0;  ///< plain messages completed with chunks missing

  // Control messages refused.
  uint64_t refused_malformed = 0;   ///< cut short, or a field out of range
  uint64_t refused_version = 0;     ///< another version of the protocol
  uint64_t refused_connection = 0;  ///< of another connection, or of one before a restart
  uint64_t refused_unknown = 0;     ///< about what was never posted or armed
  uint64_t refused_size = 0;        ///< a length that does not fit what is posted at this end
  uint64_t refused_code = 0;        ///< another erasure code than this end's

  // Faults that the backend raised.
  uint64_t receive_queue_empty = 0;  ///< packets lost because no receive was posted
  uint64_t queue_pair_errors = 0;
  uint64_t peer_gone = 0;

  QueuePairCounters& operator+=(const QueuePairCounters& other);

  uint64_t refused_controls() const {
    return refused_malformed + refused_version + refused_connection + refused_unknown +
           refused_size + refused_code;
  }
};

/// A counter by name, for reports and metrics. Names are stable.
struct CounterField {
  const char* name;
  const char* meaning;
  uint64_t QueuePairCounters::*value;
};

/// All of them, in the order of the struct.
std::span<const CounterField> counter_fields();

}  // namespace longhaul
