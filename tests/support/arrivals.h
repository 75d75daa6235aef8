#pragma once

/// Completions as a NIC would report them, and what an arrival table has published.

#include <bit>
#include <cstdint>

#include "core/sdr/arrival_table.h"

namespace longhaul::test {

/// Of a packet that has landed.
inline ReceiveCompletion arrival(SlotId id, uint32_t packet, uint32_t user_immediate = 0) {
  ReceiveCompletion completion;
  completion.wr_id = id.generation;
  completion.opcode = kReceiveWithImmediate;
  completion.imm_data = swap_network_order(
      Immediate{id.slot, packet, Immediate::fragment_of(user_immediate, packet)}.encode());
  return completion;
}

inline bool chunk_published(const ArrivalTable& table, SlotId id, uint32_t chunk) {
  return load_chunk_word(table.chunk_words(id)[chunk / 64]) >> chunk % 64 & 1;
}

inline uint64_t published(const ArrivalTable& table, SlotId id) {
  uint64_t count = 0;
  for (const uint64_t& word : table.chunk_words(id))
    count += static_cast<uint64_t>(std::popcount(load_chunk_word(word)));
  return count;
}

}  // namespace longhaul::test
