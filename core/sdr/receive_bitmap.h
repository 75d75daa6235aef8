#pragma once

/// The receive bitmap: packets that arrived (private) feed chunks that are complete (what users
/// poll).

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sdr/packet_bitmap.h"

namespace longhaul {

class ReceiveBitmap {
 public:
  /// `chunk_packets` >= 1: packets that one chunk bit stands for; the last chunk may be shorter.
  ReceiveBitmap(uint64_t packets, uint32_t chunk_packets)
      : packets_(packets),
        chunk_packets_(chunk_packets),
        chunks_((packets + chunk_packets - 1) / chunk_packets) {
    LONGHAUL_CHECK(chunk_packets >= 1);
    published_.assign((chunks_ + 63) / 64, 0);
  }

  const PacketBitmap& packets() const { return packets_; }
  uint64_t chunks() const { return chunks_; }
  uint64_t chunks_complete() const { return chunks_complete_; }

  /// One bit a chunk, packed, least significant first: set when every packet of the chunk is in
  /// memory, arrived or decoded. Stays valid as long as this object.
  std::span<const uint64_t> chunk_words() const { return published_; }
  bool chunk_complete(uint64_t chunk) const { return published_[chunk / 64] >> (chunk % 64) & 1; }

  /// Packets [first, first + count) arrived. Returns how many are new; `fresh` hears of those.
  template <class Fresh>
  uint64_t arrived(uint64_t first, uint64_t count, Fresh&& fresh) {
    const uint64_t added = packets_.set(first, count, fresh);
    if (added != 0) publish(first, count);
    return added;
  }

  /// Everything is in memory, the packets that never arrived having been decoded. Packet bits,
  /// which say what arrived, stay as they are.
  void publish_all() {
    for (uint64_t chunk = 0; chunk < chunks_; ++chunk) set_chunk(chunk);
  }

 private:
  void publish(uint64_t first, uint64_t count) {
    for (uint64_t chunk = first / chunk_packets_; chunk * chunk_packets_ < first + count; ++chunk) {
      const uint64_t begin = chunk * chunk_packets_;
      const uint64_t length = std::min<uint64_t>(chunk_packets_, packets_.packets() - begin);
      if (packets_.all_set(begin, length)) set_chunk(chunk);
    }
  }

  void set_chunk(uint64_t chunk) {
    uint64_t& word = published_[chunk / 64];
    const uint64_t bit = uint64_t{1} << (chunk % 64);
    chunks_complete_ += (word & bit) == 0;
    word |= bit;
  }

  PacketBitmap packets_;
  uint32_t chunk_packets_;
  uint64_t chunks_;
  uint64_t chunks_complete_ = 0;
  std::vector<uint64_t> published_;
};

}  // namespace longhaul
