#pragma once

/// The receiver's end of one reliable transfer: arms messages, keeps the bitmaps, reports what is
/// missing, decodes, and says when all is there.

#include <optional>
#include <vector>

#include "core/coding/transfer_code.h"
#include "core/reliability/erasure_code.h"
#include "core/sdr/engine.h"
#include "core/sdr/receive_bitmap.h"
#include "core/transfer/send_transfer.h"

namespace longhaul {

class ReceiveTransfer final : public Activity {
 public:
  /// `buffer`: what arrives may be shorter. `engine` outlives the transfer.
  ReceiveTransfer(uint64_t id, Instant now, const MemorySlice& buffer, Engine& engine);
  ~ReceiveTransfer() override;

  void on_begin(const Begin& message, const Turn& turn);
  void on_probe(const Turn& turn);
  /// The sender has given up.
  void on_retired(const Turn& turn) { fail("the sender gave up", turn); }
  /// Ends a transfer that cannot go on. Nothing happens when it has ended already.
  void fail(const char* reason, const Turn& turn);
  void on_packets(const ArmedMessage& message, const PacketsArrived& event,
                  QueuePairCounters& counters);

  void turn(const Turn& turn) override;
  Instant next_deadline() const override;
  uint64_t arrivals_wanted() const override;

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
  struct Echo {
    bool valid = false;
    uint64_t packet = 0;
    Instant arrival{};
  };

  void plan_messages();
  void arm_messages(const Turn& turn);
  bool arm(Message& message, const Turn& turn);
  void clear_to_send(const Turn& turn);
  void observe(Instant when);
  void shorten(const Begin& begin, const StripeLayout& layout);
  void take(MessageRole role, uint64_t first, uint64_t count, QueuePairCounters& counters);
  bool wanted(uint64_t packet) const;
  uint64_t next_wanted(uint64_t from, uint64_t end) const;
  bool complete() const;
  void finish(const Turn& turn);
  void end(CompletionStatus status, const Turn& turn);
  bool feedback_needless() const;
  Feedback make_feedback(Instant now);
  FeedbackSection describe(uint64_t begin, uint64_t end, size_t& budget_bytes) const;
  bool has_code() const { return engine_.attributes.policy.kind == PolicySpec::Kind::erasure_code; }

  uint64_t id_;
  MemorySlice buffer_;
  Engine& engine_;
  TransferStatus status_;

  std::vector<Message> messages_;  ///< data, then parity
  size_t parity_messages_from_ = 0;
  size_t next_to_arm_ = 0;
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
  Instant clear_to_send_deadline_ = Instant::never();
  int clear_to_sends_ = 0;  ///< rounds of them since the last message was armed
  Instant feedback_deadline_ = Instant::never();
  bool feedback_now_ = false;
  uint64_t received_at_last_tick_ = 0;
  uint64_t cumulative_ = 0;
  uint64_t highest_end_ = 0;
  uint64_t described_end_ = 0;    ///< FEEDBACK has described all below it at least once
  uint64_t rotation_cursor_ = 0;  ///< where the next look at older gaps begins
  std::vector<Echo> echoes_;      ///< by channel
  uint8_t latest_channel_ = 0;
  uint64_t checksum_ = 0;
};

}  // namespace longhaul
