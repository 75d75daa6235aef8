#pragma once

/// A port as the core's backend: completions become news in an ArrivalTable, and news becomes
/// events.

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

#include "backends/runtime/device.h"
#include "core/backend.h"
#include "core/sdr/arrival_table.h"
#include "core/sdr/packet_bitmap.h"

namespace longhaul {

/// Backend functions are for the turn thread; `serve_channel` and `next_arrival` for the thread of
/// the channel, at the same time.
class PortBackend final : public Backend {
 public:
  /// `device` and `port`, which is connected, outlive the backend. `served`: others call
  /// `serve_channel`; else `poll` does it.
  PortBackend(Device& device, Port& port, std::shared_ptr<Doorbells> doorbells,
              const PortAttributes& attributes, uint32_t chunk_packets, bool served);

  const Capabilities& capabilities() const override { return port_.capabilities(); }
  MemoryHandle register_memory(const MemoryRegion& region) override {
    return device_.register_memory(region);
  }
  void deregister_memory(MemoryHandle handle) override { device_.deregister_memory(handle); }

  /// Back-pressure: takes commands up to the first that the port has no room for. Slots that are
  /// released behind it are fenced all the same.
  size_t submit(Instant now, std::span<const Command> commands,
                std::span<const std::byte> control_bytes) override;
  void poll(Instant now, EventBatch& events) override;
  Instant next_event(const Wakeup& wakeup) override;

  /// Takes completions off a channel, merges them and posts their receives again. Returns how many
  /// there were.
  size_t serve_channel(uint8_t channel, Instant now);
  Instant next_arrival(uint8_t channel);

  // Turn thread -----------------------------------------------------------------------------------

  /// The bitmap of a slot that ArmReceive will come for can be read from now on. No ReleaseReceive
  /// is still to come for it.
  void arm_bitmap(SlotId slot, uint32_t packets) { arrivals_.arm(slot, packets); }
  /// Nothing lands any more, though ReleaseReceive is still to come. Ends the bitmap.
  void fence(SlotId slot);
  /// Nothing lands for slots whose buffer begins within `memory`, until `resume`.
  void suspend(std::span<const std::byte> memory);
  /// Lands again what was suspended, but for what `commands` release.
  void resume(std::span<const Command> commands);
  /// For a message that ends within the chunk: all that there is of it is in memory.
  void publish_chunk(SlotId slot, uint32_t chunk);
  /// The next poll tells of the packets of all chunks that are published, as far as `known` lacks
  /// them: their news may not have been told yet.
  void repeat_chunks(Instant now, SlotId slot, const PacketBitmap& known);
  std::span<const uint64_t> chunk_words(SlotId slot) const { return arrivals_.chunk_words(slot); }

  /// Packets of each channel that have left.
  uint64_t completed(uint8_t channel) const { return completed_[channel]; }
  ArrivalCounters arrival_counters() const { return arrivals_.counters(); }

 private:
  static constexpr size_t kBatch = 256;
  static constexpr uint32_t kNewsCapacity = 1024;

  /// Completions that there was no room for news of; the channel thread's own.
  struct Channel {
    std::array<ReceiveCompletion, kBatch> completions;
    size_t begin = 0;
    size_t end = 0;
    std::atomic<bool> stalled = false;  ///< until news has been drained
    uint64_t errors = 0;                ///< completions with an error so far; the channel thread's
  };

  bool submit_one(Instant now, const Command& command, std::span<const std::byte> control_bytes);
  void drain(Instant now, EventBatch& events);
  static size_t index_of(SlotId slot) {
    return size_t{slot.generation} * kSlotsPerGeneration + slot.slot;
  }

  Device& device_;
  Port& port_;
  std::shared_ptr<Doorbells> doorbells_;
  PortAttributes attributes_;
  uint32_t chunk_packets_;
  bool served_;
  ArrivalTable arrivals_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::multimap<const std::byte*, ArmReceive> buffers_;  ///< of armed slots, by their beginning
  std::vector<const std::byte*> buffer_of_;              ///< the same by slot; null: not armed
  std::vector<bool> fenced_;  ///< by slot: its next ArmReceive is void, its ReleaseReceive done
  std::array<uint64_t, kMaxChannels> completed_{};
  std::vector<ArmReceive> suspended_;
  std::vector<Event> repeated_;           ///< of repeat_chunks
  std::atomic<uint32_t> new_errors_ = 0;  ///< completions with an error, not raised yet
  /// When others serve the channels: completions merged so far; how many of them the last turn had
  /// seen; and the number at which the next turn is due.
  std::atomic<uint64_t> merged_ = 0;
  uint64_t merged_seen_ = 0;
  std::atomic<uint64_t> due_at_ = ~uint64_t{0};
};

}  // namespace longhaul
