#pragma once

/// Whatever reads or writes payload on behalf of the core: checksums and erasure coding.
///
/// The engine itself never touches payload. That keeps payload in memory that only a device can
/// reach, and makes a run replayable without the payload: a recording holds what the coder
/// answered.

#include <cstddef>
#include <span>

#include "core/coding/transfer_code.h"
#include "core/memory/memory.h"

namespace longhaul {

class Coder {
 public:
  virtual ~Coder() = default;

  /// Over the slice's first `bytes`.
  virtual uint64_t checksum(const MemorySlice& slice, uint64_t bytes) = 0;
  virtual void encode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
                      std::span<std::byte> parity) = 0;
  /// Rebuilds what is missing in `arrived`; returns how many packets that were.
  virtual uint64_t decode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
                          const PacketBitmap& arrived, std::span<const std::byte> parity,
                          const PacketBitmap& parity_arrived) = 0;
};

/// On the calling thread, in host memory.
class HostCoder final : public Coder {
 public:
  uint64_t checksum(const MemorySlice& slice, uint64_t bytes) override {
    return memory_checksum(slice.stored(bytes));
  }
  void encode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
              std::span<std::byte> parity) override {
    code.encode(data.stored(bytes), parity);
  }
  uint64_t decode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
                  const PacketBitmap& arrived, std::span<const std::byte> parity,
                  const PacketBitmap& parity_arrived) override {
    return code.decode(data.stored(bytes), arrived, parity, parity_arrived);
  }
};

/// The one that is used unless another is named. It has no state.
HostCoder& host_coder();

}  // namespace longhaul
