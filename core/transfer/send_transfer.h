#pragma once

/// The sender's end of one reliable transfer: clear-to-sends in, BEGIN, data and parity out, until
/// COMPLETE.

#include <memory>
#include <vector>

#include "core/backend.h"
#include "core/coding/transfer_code.h"
#include "core/reliability/sender_policy.h"
#include "core/sdr/slot_table.h"
#include "core/transfer/queue_pair_attributes.h"
#include "core/transfer/wire_clock.h"

namespace longhaul {

/// Appends a control message to a batch and counts it.
void send_control(Instant now, uint64_t connection, const ControlMessage& message, WireClock& wire,
                  QueuePairCounters& counters, CommandBatch& out);

class SendTransfer {
 public:
  /// Encodes parity, if the policy has any, at once. `backend` registers the parity; it and
  /// `round_trip` outlive the transfer.
  SendTransfer(uint32_t id, Instant now, MemoryHandle source, const MemoryRegion& region,
               uint64_t bytes, uint32_t user_immediate, const QueuePairAttributes& attributes,
               Backend& backend, RoundTrip& round_trip);
  ~SendTransfer();
  SendTransfer(const SendTransfer&) = delete;
  SendTransfer& operator=(const SendTransfer&) = delete;

  void on_clear_to_send(const ClearToSend& message);
  void on_feedback(const Feedback& message, Instant now);
  void on_complete(const Complete& message, Instant now);
  /// Sends what is due and what the wire has room for.
  void turn(Instant now, WireClock& wire, QueuePairCounters& counters, CommandBatch& out);

  Instant next_deadline() const;
  /// Whether it would send more if the wire had room.
  bool wants_wire() const { return wants_wire_; }
  const TransferStatus& status() const { return status_; }

 private:
  struct Stream {
    MemoryHandle memory{};
    uint64_t bytes = 0;
    uint64_t packets = 0;
    std::vector<SlotId> slots;  ///< of each message that is cleared to send
    std::vector<bool> cleared;
    uint64_t armed_packets = 0;  ///< all packets below it may be sent
  };

  void encode_parity(const MemoryRegion& region);
  void start(Instant now, WireClock& wire, QueuePairCounters& counters, CommandBatch& out);
  void send_data(Instant now, WireClock& wire, QueuePairCounters& counters, CommandBatch& out);
  void send_run(const PacketRun& run, CommandBatch& out) const;
  void send_begin(Instant now, WireClock& wire, QueuePairCounters& counters, CommandBatch& out);
  void probe_if_silent(Instant now, WireClock& wire, QueuePairCounters& counters,
                       CommandBatch& out);
  void finish(TransferState state, const char* reason, Instant now);
  uint32_t bytes_of(const Stream& stream, uint64_t packet) const;
  Stream& stream_of(MessageRole role) { return role == MessageRole::data ? data_ : parity_; }
  const Stream& stream_of(MessageRole role) const {
    return role == MessageRole::data ? data_ : parity_;
  }

  uint32_t id_;
  uint64_t bytes_;
  uint32_t user_immediate_;
  const QueuePairAttributes& attributes_;
  Backend& backend_;
  RoundTrip& round_trip_;
  Stream data_;
  Stream parity_;
  StripeLayout layout_;
  std::vector<std::byte> parity_memory_;
  uint64_t checksum_;
  std::unique_ptr<SenderPolicy> policy_;

  TransferStatus status_;
  bool cleared_ = false;  ///< the first clear-to-send is in
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
