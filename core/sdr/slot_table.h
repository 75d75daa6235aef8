#pragma once

/// Which message is armed in which (generation, slot).

#include <cstdint>
#include <optional>
#include <vector>

#include "core/wire/control.h"
#include "core/wire/immediate.h"

namespace longhaul {

/// Live messages are named by generation and slot; see core/README.md.
struct SlotId {
  uint8_t generation = 0;
  uint16_t slot = 0;
  bool operator==(const SlotId&) const = default;
};

/// What is armed in a slot: message `segment` of a transfer.
struct ArmedMessage {
  uint32_t transfer = 0;
  MessageRole role = MessageRole::data;
  uint32_t segment = 0;
  uint32_t packets = 0;
};

/// Hands out slots in turn, so that one is re-used as late as possible, and finds what an arrival
/// belongs to. An arrival whose slot is not armed is not an error: it is late, and is dropped.
class SlotTable {
 public:
  explicit SlotTable(uint8_t generations) : slots_(size_t{generations} * kSlotsPerGeneration) {}

  std::optional<SlotId> arm(const ArmedMessage& message) {
    for (size_t tried = 0; tried < slots_.size(); ++tried) {
      const size_t index = next_;
      next_ = (next_ + 1) % slots_.size();
      if (slots_[index].packets != 0) continue;
      slots_[index] = message;
      return SlotId{static_cast<uint8_t>(index / kSlotsPerGeneration),
                    static_cast<uint16_t>(index % kSlotsPerGeneration)};
    }
    return std::nullopt;
  }

  void release(SlotId id) { slots_[index_of(id)] = {}; }

  /// Null when nothing is armed there, or when such a slot cannot exist.
  const ArmedMessage* find(uint8_t generation, uint16_t slot) const {
    const size_t index = index_of({generation, slot});
    if (slot >= kSlotsPerGeneration || index >= slots_.size()) return nullptr;
    return slots_[index].packets == 0 ? nullptr : &slots_[index];
  }

 private:
  static size_t index_of(SlotId id) {
    return size_t{id.generation} * kSlotsPerGeneration + id.slot;
  }

  std::vector<ArmedMessage> slots_;  ///< packets == 0: free
  size_t next_ = 0;
};

}  // namespace longhaul
