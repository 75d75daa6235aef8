#pragma once

/// A Reed-Solomon code over a whole transfer: parity for all its stripes, and back.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/coding/reed_solomon.h"
#include "core/coding/stripe_layout.h"
#include "core/memory/memory.h"
#include "core/sdr/packet_bitmap.h"

namespace longhaul {

class TransferCode {
 public:
  /// `layout` of a transfer of at least one packet. `stored_packet_bytes`: of a full packet in
  /// memory (see MemoryRegion).
  TransferCode(const StripeLayout& layout, uint32_t stored_packet_bytes);

  const StripeLayout& layout() const { return layout_; }
  uint64_t parity_stored_bytes() const { return layout_.parity_packets() * packet_bytes_; }

  /// `data`: the transfer as stored, its last packet maybe short. `parity`: parity_stored_bytes().
  void encode(std::span<const std::byte> data, std::span<std::byte> parity) const;

  /// Rebuilds every data packet missing in `arrived` into `data` and returns how many. Each stripe
  /// must have as many parity packets as it lacks data packets; CHECKed.
  uint64_t decode(std::span<std::byte> data, const PacketBitmap& arrived,
                  std::span<const std::byte> parity, const PacketBitmap& parity_arrived) const;

 private:
  void decode_stripe(uint64_t stripe, std::span<const uint32_t> erased, std::span<std::byte> data,
                     std::span<const std::byte> parity, const PacketBitmap& parity_arrived) const;

  StripeLayout layout_;
  size_t packet_bytes_;
  ReedSolomon code_;
};

}  // namespace longhaul
