#pragma once

/// One message over one simulated path: what goes in, what comes out.
///
/// The whole of it is a pure function of its arguments: same specification, same seed, same sample,
/// whatever the machine, the compiler and the number of threads around it.

#include <cstdint>
#include <string>

#include "core/base/time.h"
#include "core/reliability/policy_spec.h"
#include "core/sdr/counters.h"
#include "sim/path.h"

namespace longhaul::sim {

enum class Payload {
  real,       ///< every byte is generated, moved, coded and compared
  virtual_64  ///< every packet is represented by a 64-bit tag, which is moved, coded and compared
};

struct MessageSpec {
  uint64_t bytes = 0;
  PolicySpec policy;
  Payload payload = Payload::real;
  uint32_t chunk_packets = 16;
  uint8_t generations = 4;
  /// One, unless the paths of several differ: dealing chunks to channels costs the simulator time,
  /// and changes nothing where all packets take the same way.
  uint8_t channels = 1;
  /// The transfer ends as failed when it has not completed this long after it was posted.
  Duration give_up = Duration::seconds(60);
  /// Longest run of packets handed to the link as one. Only speed depends on it.
  uint32_t max_run_packets = 1024;
};

enum class Outcome {
  delivered,  ///< complete, and equal to what was sent
  failed,     ///< gave up; `MessageSample::failure` says why
  corrupt     ///< complete, but payload or checksum differ: a bug in Longhaul
};

/// One sample. Times as in the docstring of `simulate_message`.
struct MessageSample {
  Outcome outcome = Outcome::failed;
  std::string failure;
  Duration completion{};  ///< first data bit on the wire to the end of COMPLETE at the sender
  Duration ideal{};       ///< the same without any loss: wire times + RTT + COMPLETE's wire time
  Duration oracle{};      ///< the same for a sender that knows every loss in advance
  Duration setup{};       ///< post to clear-to-send in hand

  uint64_t payload_bytes = 0;
  uint64_t wire_bytes = 0;         ///< all bytes on the wire, both directions, headers included
  uint64_t oracle_wire_bytes = 0;  ///< the same for the oracle
  uint64_t data_packets = 0;       ///< first transmissions of data
  uint64_t retransmitted_packets = 0;
  uint64_t parity_packets = 0;
  uint64_t control_packets = 0;       ///< both directions
  uint64_t lost_packets = 0;          ///< data and parity packets lost on the link
  uint64_t lost_control_packets = 0;  ///< both directions
  uint64_t queue_drops = 0;           ///< packets dropped at the full queue (not in lost_packets)
  uint64_t duplicate_packets = 0;     ///< arrivals that the receiver already had
  uint64_t decoded_packets = 0;       ///< data packets rebuilt from parity
  uint64_t fallbacks = 0;             ///< 1 when a code gave up decoding and asked for repair
  QueuePairCounters sender;           ///< everything that the sending end counted
  QueuePairCounters receiver;         ///< and the receiving end
  uint64_t digest = 0;  ///< hash over every event of the run: equal runs have equal digests
};

/// Runs message number `message_index` of `seed`. Loss draws are forked from (seed, message_index)
/// and belong to transmission slots, so that other policies meet the same losses.
///
/// `completion` runs from the first data bit on the wire, clear-to-send already in hand, to the end
/// of COMPLETE at the sender.
MessageSample simulate_message(const PathSpec& path, const MessageSpec& message, uint64_t seed,
                               uint64_t message_index);

}  // namespace longhaul::sim
