#pragma once

/// The path between two simulated hosts.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/time.h"
#include "core/path/loss.h"
#include "sim/link.h"

namespace longhaul::sim {

/// A long-haul link between two hosts, full duplex.
struct PathSpec {
  uint64_t rate_bps = 400'000'000'000;
  /// Rate at which a host's NIC injects; 0 means `rate_bps`. Above it, the queue can overflow.
  uint64_t nic_rate_bps = 0;
  /// One way.
  Duration propagation{};
  /// Bytes that the queue in front of the link holds beyond the packet on the wire.
  uint64_t queue_bytes = 64u << 20;
  /// Wire bytes of a packet beyond its payload: Ethernet with preamble and gap, IPv4, UDP, BTH,
  /// RETH, immediate, ICRC, FCS.
  uint32_t header_bytes = 102;
  /// Payload bytes of a full packet: 1024, 2048, 4096 or 8192.
  uint32_t mtu_bytes = 4096;
  LossSpec loss;                         ///< data direction
  LossSpec reverse_loss;                 ///< the receiver's control messages
  DisorderSpec disorder;                 ///< data direction
  std::vector<Duration> channel_delays;  ///< both directions; see LinkSpec

  /// How much later than its successors a packet may arrive.
  Duration reordering() const {
    Duration bound = disorder.late_up_to;
    if (!channel_delays.empty()) bound += *std::ranges::max_element(channel_delays);
    return bound;
  }
  uint64_t effective_nic_rate_bps() const { return nic_rate_bps == 0 ? rate_bps : nic_rate_bps; }
};

}  // namespace longhaul::sim
