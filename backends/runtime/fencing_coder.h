#pragma once

/// The coder of a queue pair on real memory: late copies must not land while it works.

#include "backends/runtime/port_backend.h"
#include "core/coding/coder.h"

namespace longhaul {

/// A transfer is complete before all that was sent for it has arrived: copies of packets, and
/// packets that a code has made needless. They would land in the middle of decoding and summing, so
/// the slots of what is decoded or summed in a turn are suspended first; the core releases them in
/// the same turn.
class FencingCoder final : public Coder {
 public:
  /// Both outlive the coder.
  FencingCoder(PortBackend& backend, Coder& coder) : backend_(backend), coder_(coder) {}

  /// In a turn what is received is worked on; outside, what is to be sent.
  void set_in_turn(bool in_turn) { in_turn_ = in_turn; }

  uint64_t checksum(const MemorySlice& slice, uint64_t bytes) override {
    suspend(slice.stored(slice.bytes));
    return coder_.checksum(slice, bytes);
  }
  void encode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
              std::span<std::byte> parity) override {
    coder_.encode(code, data, bytes, parity);
  }
  uint64_t decode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
                  const PacketBitmap& arrived, std::span<const std::byte> parity,
                  const PacketBitmap& parity_arrived) override {
    suspend(data.stored(data.bytes));
    suspend(parity);
    return coder_.decode(code, data, bytes, arrived, parity, parity_arrived);
  }

 private:
  void suspend(std::span<const std::byte> memory) {
    if (in_turn_) backend_.suspend(memory);
  }

  PortBackend& backend_;
  Coder& coder_;
  bool in_turn_ = false;
};

}  // namespace longhaul
