#pragma once

/// Which message is armed in which (generation, slot), and when a slot may be armed again.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/check.h"
#include "core/base/time.h"
#include "core/wire/control.h"
#include "core/wire/immediate.h"

namespace longhaul {

/// Live messages are named by generation and slot; see core/sdr/README.md.
struct SlotId {
  uint8_t generation = 0;
  uint16_t slot = 0;
  bool operator==(const SlotId&) const = default;
};

class Activity;

/// What is armed in a slot: message `segment` of transfer (or plain message) `id`.
struct ArmedMessage {
  MessageRole role = MessageRole::data;
  uint64_t id = 0;
  uint32_t segment = 0;
  uint32_t packets = 0;
  Activity* owner = nullptr;  ///< outlives the arming
};

/// Messages that can be armed at once: one generation is always draining (SDR-RDMA paper,
/// section 3). A single generation has nothing to alternate with, and is used as a whole.
constexpr uint32_t live_message_limit(uint32_t generations) {
  return kSlotsPerGeneration * std::max(1u, generations - 1);
}

/// Hands out slots generation by generation, each as late as possible after its last use, and finds
/// what an arrival belongs to. An arrival whose slot is not armed is not an error: it is late, and
/// is dropped.
///
/// A released slot is *quarantined*: packets of the old message may still be in flight, and would
/// pass for the next one's. It is armed again when both hold: the quarantine since its release is
/// over, and so is the reordering bound since the sender said that it will send nothing more.
class SlotTable {
 public:
  /// `max_armed` <= generations * kSlotsPerGeneration.
  SlotTable(uint8_t generations, uint32_t max_armed, Duration quarantine, Duration reordering)
      : generations_(generations),
        max_armed_(max_armed),
        quarantine_(quarantine),
        reordering_(reordering),
        slots_(size_t{generations} * kSlotsPerGeneration) {
    LONGHAUL_CHECK(generations >= 1 && generations <= kMaxGenerations);
    LONGHAUL_CHECK(max_armed >= 1 && max_armed <= slots_.size());
    for (size_t index = 0; index < slots_.size(); ++index)
      free_.push_back({Instant{}, static_cast<uint16_t>(index)});
  }

  /// Null when no slot can be armed at `now`.
  std::optional<SlotId> arm(Instant now, const ArmedMessage& message) {
    if (next_free() > now) return std::nullopt;
    const size_t index = free_.front().index;
    free_.pop_front();
    slots_[index].message = message;
    slots_[index].state = State::armed;
    ++armed_;
    return SlotId{static_cast<uint8_t>(index / kSlotsPerGeneration),
                  static_cast<uint16_t>(index % kSlotsPerGeneration)};
  }

  /// When `arm` will succeed; Instant::never() while that depends on a release, or on the peer.
  Instant next_free() const {
    return free_.empty() || armed_ >= max_armed_ ? Instant::never() : free_.front().when;
  }

  /// Nothing is accepted for the slot from now on.
  void release(SlotId id, Instant now) {
    Slot& slot = slots_[index_of(id)];
    LONGHAUL_CHECK(slot.state == State::armed);
    slot.state = State::draining;
    slot.rests_until = now + quarantine_;
    --armed_;
  }

  /// The sender will send nothing more for the released slot.
  void retire(SlotId id, Instant now) {
    Slot& slot = slots_[index_of(id)];
    LONGHAUL_CHECK(slot.state == State::draining);
    slot.state = State::free;
    slot.rests_until = std::max(slot.rests_until, now + reordering_);
    free_.push_back({slot.rests_until, static_cast<uint16_t>(index_of(id))});
  }

  /// Null when nothing is armed there, or when such a slot cannot exist.
  const ArmedMessage* find(uint8_t generation, uint16_t slot) const {
    if (generation >= generations_ || slot >= kSlotsPerGeneration) return nullptr;
    const Slot& found = slots_[index_of({generation, slot})];
    return found.state == State::armed ? &found.message : nullptr;
  }

  /// A packet that arrives for the slot, which is not armed, at `arrival` is late, but no later
  /// than what the slot rests for. False also when such a slot cannot exist or was never armed.
  bool resting(uint8_t generation, uint16_t slot, Instant arrival) const {
    if (generation >= generations_ || slot >= kSlotsPerGeneration) return false;
    const Slot& found = slots_[index_of({generation, slot})];
    return found.state == State::draining ||
           (found.state == State::free && arrival < found.rests_until);
  }

  uint32_t armed() const { return armed_; }
  uint32_t max_armed() const { return max_armed_; }

 private:
  enum class State : uint8_t { free, armed, draining };
  struct Slot {
    ArmedMessage message;
    Instant rests_until{};
    State state = State::free;
  };
  struct Free {
    Instant when;
    uint16_t index;
  };

  static size_t index_of(SlotId id) {
    return size_t{id.generation} * kSlotsPerGeneration + id.slot;
  }

  uint8_t generations_;
  uint32_t max_armed_;
  Duration quarantine_;
  Duration reordering_;
  std::vector<Slot> slots_;
  std::deque<Free> free_;  ///< in order of retirement; the next one to be armed is in front
  uint32_t armed_ = 0;
};

}  // namespace longhaul
