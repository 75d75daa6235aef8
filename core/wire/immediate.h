#pragma once

/// The 32-bit immediate that rides on every data packet.

#include <cstdint>

namespace longhaul {

/// How the 32 bits are split, most significant first: slot, packet offset, user fragment. Both ends
/// compare the split at connect.
template <unsigned SlotBits, unsigned OffsetBits>
struct ImmediateSplit {
  static constexpr unsigned kSlotBits = SlotBits;
  static constexpr unsigned kOffsetBits = OffsetBits;
  static constexpr unsigned kFragmentBits = 32 - SlotBits - OffsetBits;
  static constexpr uint32_t kSlots = 1u << SlotBits;
  static constexpr uint32_t kPackets = 1u << OffsetBits;
  /// Packets after which every bit of the user's immediate has been carried once.
  static constexpr uint32_t kFragments = 32 / kFragmentBits;
  static_assert(SlotBits + OffsetBits < 32 && 32 % kFragmentBits == 0);

  uint32_t slot = 0;
  uint32_t offset = 0;    ///< packet within the message
  uint32_t fragment = 0;  ///< bits of the user's immediate, see `fragment_of`

  constexpr bool operator==(const ImmediateSplit&) const = default;

  /// Packet `offset` carries fragment `offset mod kFragments`, counted from the least significant.
  static constexpr uint32_t fragment_of(uint32_t user_immediate, uint32_t offset) {
    return user_immediate >> shift_of(offset) & ((1u << kFragmentBits) - 1);
  }
  static constexpr unsigned shift_of(uint32_t offset) {
    return offset % kFragments * kFragmentBits;
  }

  /// Host order; the backend converts to network order exactly once.
  constexpr uint32_t encode() const {
    return slot << (OffsetBits + kFragmentBits) | offset << kFragmentBits | fragment;
  }
  static constexpr ImmediateSplit decode(uint32_t immediate) {
    return {immediate >> (OffsetBits + kFragmentBits), immediate >> kFragmentBits & (kPackets - 1),
            immediate & ((1u << kFragmentBits) - 1)};
  }
};

/// 1024 slots, 2^18 packets a message (1 GiB at 4 KiB), a nibble of the user's immediate (SDR-RDMA
/// paper, section 3).
using Immediate = ImmediateSplit<10, 18>;

/// Most packets that one message can have.
inline constexpr uint32_t kMaxMessagePackets = Immediate::kPackets;
/// Messages that so many packets are cut into.
constexpr uint64_t messages_for(uint64_t packets) {
  return (packets + kMaxMessagePackets - 1) / kMaxMessagePackets;
}
inline constexpr uint32_t kSlotsPerGeneration = Immediate::kSlots;
/// Sets of internal queue pairs that take turns; each has its own 1024 slots and its own root key.
inline constexpr uint32_t kMaxGenerations = 16;
/// Internal queue pairs within a generation.
inline constexpr uint32_t kMaxChannels = 64;

}  // namespace longhaul
