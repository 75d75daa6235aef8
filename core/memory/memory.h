#pragma once

/// Registered memory as the core sees it, and the end-to-end checksum over it.

#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul {

/// Names memory that a backend has registered; valid until it is deregistered there.
enum class MemoryHandle : uint32_t {};

/// Host memory to register. The bytes belong to the caller and must stay until deregistration.
///
/// *Virtual payload*: a region may represent each packet by fewer stored bytes than the packet has
/// on the wire (an 8-byte tag, say). Landing, coding and checksums then work on the stored bytes;
/// sizes, offsets and wire times stay those of the real payload. For real payload both sizes are
/// the MTU.
struct MemoryRegion {
  std::byte* address = nullptr;
  uint64_t bytes = 0;                ///< payload bytes that the region stands for
  uint32_t packet_bytes = 0;         ///< payload bytes of a full packet (the MTU)
  uint32_t stored_packet_bytes = 0;  ///< stored bytes of a full packet

  bool is_virtual() const { return stored_packet_bytes != packet_bytes; }

  /// Stored bytes that stand for `payload_bytes` from a packet boundary on. A partial packet of a
  /// virtual region still has a whole tag.
  uint64_t stored_bytes(uint64_t payload_bytes) const {
    if (!is_virtual()) return payload_bytes;
    return (payload_bytes + packet_bytes - 1) / packet_bytes * stored_packet_bytes;
  }
  /// Where the packet at payload offset `offset` (a multiple of packet_bytes) is stored.
  std::byte* at(uint64_t offset) const { return address + stored_bytes(offset); }
};

/// A stretch of registered memory: what a post names.
struct MemorySlice {
  MemoryHandle handle{};
  MemoryRegion region;  ///< the whole of what `handle` names
  uint64_t offset = 0;  ///< payload bytes; of a virtual region: a multiple of packet_bytes
  uint64_t bytes = 0;   ///< offset + bytes <= region.bytes

  /// The stored bytes of the slice's first `payload_bytes`.
  std::span<std::byte> stored(uint64_t payload_bytes) const {
    return {region.at(offset), region.stored_bytes(payload_bytes)};
  }
  /// Stored bytes of a full packet when packets have `mtu_bytes`.
  uint32_t stored_packet_bytes(uint32_t mtu_bytes) const {
    return region.is_virtual() ? region.stored_packet_bytes : mtu_bytes;
  }
};

/// Order-sensitive 64-bit checksum over memory: eight multiply-xor lanes, several GB/s on one core.
/// Finds loss, misplacement and corruption; it is no defence against an adversary.
uint64_t memory_checksum(std::span<const std::byte> bytes);

}  // namespace longhaul
