#pragma once

/// The receiver's end of a plain SDR message: what has arrived is seen in a bitmap, and the user
/// decides when it is enough.

#include <optional>

#include "core/sdr/engine.h"
#include "core/sdr/receive_bitmap.h"

namespace longhaul {

class ReceiveMessage final : public Activity {
 public:
  /// Takes a slot, which must be free, and is armed from the next turn on. At most 2^18 packets.
  /// `engine` outlives the message.
  ReceiveMessage(uint64_t id, Instant now, const MemorySlice& buffer, Engine& engine);

  /// The user has enough, or no more patience. Packets that are still in flight will not land.
  void complete() { complete_wanted_ = true; }

  void on_begin(const Begin& message, const Turn& turn);
  /// The sender has given up: nothing more will come. The user still completes it.
  void on_retired() { abandoned_ = true; }
  void on_packets(const PacketsArrived& event, QueuePairCounters& counters);

  void turn(const Turn& turn) override;
  Instant next_deadline() const override;
  /// The bitmap is kept up to date: the user polls it.
  uint64_t arrivals_wanted() const override {
    return completed_ || bitmap_.packets().full() ? ~uint64_t{0} : 1;
  }

  bool completed() const { return completed_; }
  bool abandoned() const { return abandoned_; }
  SlotId slot() const { return slot_; }
  /// What the user polls; sized for the buffer. A shorter message fills its first chunks only.
  const ReceiveBitmap& bitmap() const { return bitmap_; }
  /// Length of the message, once the sender has said it.
  std::optional<uint64_t> bytes() const { return bytes_; }
  /// All chunks of the message are there; needs its length.
  bool all_arrived() const;
  /// The user's immediate: from BEGIN, or put together from the fragments on the packets.
  std::optional<uint32_t> user_immediate() const;

 private:
  uint64_t id_;
  MemorySlice buffer_;
  SlotId slot_;
  Engine& engine_;
  ReceiveBitmap bitmap_;
  std::optional<uint64_t> bytes_;
  uint32_t immediate_ = 0;
  uint32_t fragments_seen_ = 0;  ///< one bit for each of Immediate::kFragments
  bool armed_ = false;
  bool seen_ = false;  ///< anything of the sender has arrived
  bool answer_wanted_ = false;
  bool complete_wanted_ = false;
  bool completed_ = false;
  bool abandoned_ = false;
  Instant clear_to_send_deadline_;
  int clear_to_sends_ = 0;
};

}  // namespace longhaul
