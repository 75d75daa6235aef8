#pragma once

/// The receiver's end of one reliable transfer: arms messages, keeps the bitmaps, reports what is
/// missing, decodes, and says when all is there.

#include <optional>
#include <vector>

#include "core/backend.h"
#include "core/coding/transfer_code.h"
#include "core/reliability/erasure_code.h"
#include "core/reliability/round_trip.h"
#include "core/sdr/receive_bitmap.h"
#include "core/sdr/slot_table.h"
#include "core/transfer/queue_pair_attributes.h"
#include "core/transfer/wire_clock.h"

namespace longhaul {

class ReceiveTransfer {
 public:
  /// `capacity_bytes`: of the posted buffer; what arrives may be shorter. `backend`, `slots` and
  /// `round_trip` outlive the transfer.
  ReceiveTransfer(uint32_t id, Instant now, MemoryHandle buffer, const MemoryRegion& region,
                  uint64_t capacity_bytes, const QueuePairAttributes& attributes, Backend& backend,
                  SlotTable& slots, const RoundTrip& round_trip);
  ~ReceiveTransfer();
  ReceiveTransfer(const ReceiveTransfer&) = delete;
  ReceiveTransfer& operator=(const ReceiveTransfer&) = delete;

  void on_begin(const Begin& message, Instant now, QueuePairCounters& counters);
  void on_probe(Instant now);
  void on_packets(const ArmedMessage& message, const PacketsArrived& event, Instant now,
                  QueuePairCounters& counters);
  void turn(Instant now, WireClock& wire, QueuePairCounters& counters, CommandBatch& out);

  Instant next_deadline() const;
  /// Packets that must arrive before there is anything to decide; ~0: only time matters.
  uint64_t arrivals_wanted() const;

  const TransferStatus& status() const { return status_; }
  /// Bytes that the sender announced; 0 before that.
  uint64_t bytes() const { return begin_ ? begin_->bytes : 0; }
  uint32_t user_immediate() const { return begin_ ? begin_->user_immediate : 0; }
  /// What the user polls.
  const ReceiveBitmap& bitmap() const { return data_; }

 private:
  struct Message {
    ArmedMessage armed;
    SlotId slot;
    bool is_armed = false;
    bool seen = false;  ///< a packet of it has arrived: its clear-to-send got through
  };

  void plan_messages();
  void arm_messages(CommandBatch& out);
  void release_messages(CommandBatch& out);
  void clear_to_send(Instant now, WireClock& wire, QueuePairCounters& counters, CommandBatch& out);
  void observe(Instant now);
  void take(MessageRole role, uint64_t first, uint64_t count, QueuePairCounters& counters);
  bool wanted(uint64_t packet) const;
  uint64_t next_wanted(uint64_t from, uint64_t end) const;
  bool complete() const;
  void finish(Instant now, QueuePairCounters& counters, CommandBatch& out);
  void fail(const char* reason, Instant now, CommandBatch& out);
  void answer(Instant now, WireClock& wire, QueuePairCounters& counters, CommandBatch& out);
  bool feedback_needless() const;
  Feedback make_feedback(Instant now);
  FeedbackSection describe(uint64_t begin, uint64_t end, size_t& budget_bytes) const;
  bool has_code() const { return attributes_.policy.kind == PolicySpec::Kind::erasure_code; }
  uint64_t packets_of(uint64_t bytes) const;

  uint32_t id_;
  MemoryHandle buffer_;
  MemoryRegion region_;
  uint64_t capacity_bytes_;
  const QueuePairAttributes& attributes_;
  Backend& backend_;
  SlotTable& slots_;
  const RoundTrip& round_trip_;
  TransferStatus status_;

  std::vector<Message> messages_;  ///< data, then parity
  size_t parity_messages_from_ = 0;
  bool arming_ = true;  ///< messages_ has some that are not armed yet
  ReceiveBitmap data_;
  std::optional<Begin> begin_;

  StripeLayout layout_;
  PacketBitmap parity_arrived_;
  std::vector<std::byte> parity_memory_;
  MemoryHandle parity_handle_{};
  StripeTracker stripes_;
  Instant fallback_deadline_ = Instant::never();
  bool repair_requested_ = false;

  bool observed_ = false;  ///< anything of the sender has arrived
  Instant first_observed_{};
  Instant clear_to_send_deadline_{};
  Instant feedback_deadline_ = Instant::never();
  bool feedback_now_ = false;
  uint64_t received_at_last_tick_ = 0;
  uint64_t cumulative_ = 0;
  uint64_t highest_end_ = 0;
  uint64_t described_end_ = 0;    ///< FEEDBACK has described all below it at least once
  uint64_t rotation_cursor_ = 0;  ///< where the next look at older gaps begins
  bool has_echo_ = false;
  MessageRole echo_role_ = MessageRole::data;
  uint64_t echo_packet_ = 0;
  Instant echo_arrival_{};

  uint64_t checksum_ = 0;
  int completes_sent_ = 0;
  Instant complete_deadline_ = Instant::never();
};

}  // namespace longhaul
