#pragma once

/// How the packets of a transfer are dealt to the stripes of a code; both ends derive it from
/// BEGIN.

#include <algorithm>
#include <cstdint>

namespace longhaul {

/// Packets are interleaved over all stripes, so that a burst of B lost packets takes at most
/// ceil(B / stripes) of any one stripe: packet j is row j / stripes of stripe j mod stripes, for
/// data as for parity. A row is contiguous in memory.
///
/// A short transfer has fewer than k rows; its parity shrinks in proportion, at least one row, so
/// that the code rate stays what was asked for.
struct StripeLayout {
  uint64_t data_packets = 0;
  uint64_t stripes = 0;
  uint32_t data_rows = 0;    ///< k in effect
  uint32_t parity_rows = 0;  ///< m in effect

  static StripeLayout make(uint64_t data_packets, uint32_t data_count, uint32_t parity_count) {
    StripeLayout layout;
    layout.data_packets = data_packets;
    if (data_packets == 0 || data_count == 0) return layout;
    layout.stripes = (data_packets + data_count - 1) / data_count;
    layout.data_rows = static_cast<uint32_t>((data_packets + layout.stripes - 1) / layout.stripes);
    layout.parity_rows =
        std::max(1u, (parity_count * layout.data_rows + data_count - 1) / data_count);
    return layout;
  }

  uint64_t parity_packets() const { return stripes * parity_rows; }
  uint64_t stripe_of(uint64_t packet) const { return packet % stripes; }
  /// Data packets of a stripe: the last row may not reach every stripe.
  uint32_t data_in_stripe(uint64_t stripe) const {
    const uint64_t last_row_packets = data_packets - uint64_t{data_rows - 1} * stripes;
    return stripe < last_row_packets ? data_rows : data_rows - 1;
  }
};

}  // namespace longhaul
