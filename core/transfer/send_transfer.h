#pragma once

/// The sender's end of one reliable transfer: clear-to-sends in, BEGIN, data and parity out, until
/// COMPLETE.

#include <memory>
#include <vector>

#include "core/coding/transfer_code.h"
#include "core/reliability/sender_policy.h"
#include "core/sdr/engine.h"

namespace longhaul {

enum class TransferState : uint8_t { active, delivered, failed };

/// Where a transfer stands.
struct TransferStatus {
  TransferState state = TransferState::active;
  const char* reason = "";  ///< why it failed; static storage
  Instant posted{};
  Instant started{};   ///< sender: the first data bit is on the wire
  Instant finished{};  ///< sender: COMPLETE is in; receiver: all data is in memory
};

class SendTransfer final : public Activity {
 public:
  /// Encodes parity, if the policy has any, at once. `engine` outlives the transfer.
  SendTransfer(uint64_t id, Instant now, const MemorySlice& source, uint32_t user_immediate,
               Engine& engine);
  ~SendTransfer() override;

  void on_clear_to_send(const ClearToSend& message, const Turn& turn);
  void on_feedback(const Feedback& message, Instant now);
  void on_complete(const Complete& message, const Turn& turn);
  /// Ends a transfer that cannot go on, and lets the receiver know.
  void fail(const char* reason, const Turn& turn);

  /// Sends what is due and what the wire has room for.
  void turn(const Turn& turn) override;
  Instant next_deadline() const override;
  bool wants_wire() const override { return wants_wire_; }
  const TransferStatus& status() const { return status_; }
  /// The source belongs to the user again: the transfer has ended, and nothing of it waits in the
  /// NIC.
  bool released(const WireClock& wire) const {
    return status_.state != TransferState::active && wire.drained(last_handed_over_);
  }

 private:
  struct Stream {
    MemoryHandle memory{};
    uint64_t offset = 0;  ///< payload bytes within `memory`
    uint64_t bytes = 0;
    uint64_t packets = 0;
    std::vector<SlotId> slots;  ///< of each message that is cleared to send
    std::vector<bool> cleared;
    uint64_t armed_packets = 0;  ///< all packets below it may be sent
  };

  void encode_parity(const MemorySlice& source);
  void start(const Turn& turn);
  void send_data(const Turn& turn);
  void send_run(const PacketRun& run, const Turn& turn);
  void send_begin(const Turn& turn);
  void probe_if_silent(const Turn& turn);
  void finish(TransferState state, const char* reason, const Turn& turn);
  Stream& stream_of(MessageRole role) { return role == MessageRole::data ? data_ : parity_; }

  uint64_t id_;
  uint64_t bytes_;
  uint32_t user_immediate_;
  Engine& engine_;
  Stream data_;
  Stream parity_;
  StripeLayout layout_;
  std::vector<std::byte> parity_memory_;
  uint64_t checksum_;
  std::unique_ptr<SenderPolicy> policy_;

  TransferStatus status_;
  WireClock::Mark last_handed_over_{};  ///< when it ended
  bool cleared_ = false;                ///< the first clear-to-send is in
  bool started_ = false;
  bool wants_wire_ = false;
  bool begin_confirmed_ = false;
  bool begin_wanted_ = false;
  bool begin_repeated_ = false;
  Instant begin_deadline_ = Instant::never();
  Instant sent_by_{};       ///< when the last data or parity packet has left
  Instant silent_since_{};  ///< when the receiver was last heard, or asked
  Instant probe_deadline_ = Instant::never();
  uint32_t probe_sequence_ = 0;
};

}  // namespace longhaul
