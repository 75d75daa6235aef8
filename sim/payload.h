#pragma once

/// Payload made from a seed, and compared with it again.

#include <cstddef>
#include <cstdint>
#include <span>

namespace longhaul::sim {

/// Stored bytes that stand for a packet of virtual payload.
inline constexpr uint32_t kVirtualPacketBytes = 8;

/// Fills memory with the byte stream of `seed`.
void fill_payload(std::span<std::byte> memory, uint64_t seed);
/// Whether memory holds exactly that stream.
bool payload_equals(std::span<const std::byte> memory, uint64_t seed);

}  // namespace longhaul::sim
