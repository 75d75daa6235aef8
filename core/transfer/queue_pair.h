#pragma once

/// One end of a connection: reliable transfers, and plain SDR messages, over unreliable packets.
/// Sans-IO.
///
/// A driver gives it a *turn* whenever something is due (see `turn`, and `drive` for the usual loop
/// body): events go in, commands come out. It holds no clock, socket, thread or log. Everything
/// that is posted takes effect in the next turn.

#include <map>
#include <memory>
#include <optional>

#include "core/sdr/receive_message.h"
#include "core/sdr/send_message.h"
#include "core/sdr/tombstone.h"
#include "core/transfer/receive_transfer.h"
#include "core/transfer/send_transfer.h"

namespace longhaul {

class QueuePair {
 public:
  /// `backend` and `coder` outlive the queue pair.
  QueuePair(const QueuePairAttributes& attributes, Backend& backend, Coder& coder = host_coder());

  // Reliable transfers, of any length that the slots can hold -------------------------------------

  /// Posts a transfer of `source`. Transfers match the peer's `transfer_recv` by posting order. The
  /// memory must stay unchanged until `send_released`. Returns its id; ids count from 0.
  uint64_t transfer_send(Instant now, const MemorySlice& source, uint32_t user_immediate);
  /// Posts a buffer. The memory must stay, and is written to, until the transfer has ended.
  uint64_t transfer_recv(Instant now, const MemorySlice& buffer);
  /// Message slots that a transfer of `bytes` takes at the receiver; more than
  /// `slots().max_armed()` can never all be armed, and such a transfer would wait for ever.
  uint64_t slots_needed(uint64_t bytes) const;

  const TransferStatus& send_status(uint64_t id) const { return sends_.at(id)->status(); }
  bool send_released(uint64_t id) const { return sends_.at(id)->released(wire_); }
  const TransferStatus& recv_status(uint64_t id) const { return recvs_.at(id)->status(); }
  const ReceiveTransfer& recv(uint64_t id) const { return *recvs_.at(id); }
  /// Forgets an ended transfer; its id is invalid from then on. Until then it takes memory.
  void forget_send(uint64_t id);
  void forget_recv(uint64_t id);

  // Plain SDR messages, of at most 2^18 packets ---------------------------------------------------

  /// Opens a message; nothing is sent until `send_continue`. Matches the peer's `recv_post` by
  /// posting order.
  uint64_t send_start(Instant now, const MemorySlice& source, uint32_t user_immediate);
  /// Sends packets [first, first + count), again if they were sent before.
  void send_continue(Instant now, uint64_t id, uint64_t first, uint64_t count);
  /// Nothing more will be sent.
  void send_end(Instant now, uint64_t id);
  SendStatus send_message_status(uint64_t id) const { return messages_out_.at(id)->status(wire_); }
  const SendMessage& send_message(uint64_t id) const { return *messages_out_.at(id); }
  /// Forgets a message that is completed or failed, or that has ended and been injected.
  void forget_send_message(uint64_t id);

  /// Takes a slot for a message into `buffer`; nothing when none is free now.
  std::optional<uint64_t> recv_post(Instant now, const MemorySlice& buffer);
  const ReceiveMessage& recv_message(uint64_t id) const { return *messages_in_.at(id); }
  /// Once for each message, maybe early, with chunks missing. The buffer belongs to the user after
  /// the next turn; the id is then invalid.
  void recv_complete(Instant now, uint64_t id);

  // Driving ---------------------------------------------------------------------------------------

  /// Takes in what happened and appends what to do.
  void turn(Instant now, const EventBatch& events, CommandBatch& out);
  Wakeup next_wakeup() const;

  const QueuePairCounters& counters() const { return counters_; }
  const RoundTrip& round_trip() const { return engine_.round_trip; }
  const SlotTable& slots() const { return engine_.slots; }
  const QueuePairAttributes& attributes() const { return engine_.attributes; }

 private:
  template <class T>
  using Live = std::map<uint64_t, std::unique_ptr<T>>;

  void on_packets(const PacketsArrived& event);
  void on_control(std::span<const std::byte> bytes, const Turn& turn);
  void on_fault(const FaultRaised& fault, const Turn& turn);
  void on_message(const ClearToSend& message, const Turn& turn);
  void on_message(const Begin& message, const Turn& turn);
  void on_message(const Feedback& message, const Turn& turn);
  void on_message(const Probe& message, const Turn& turn);
  void on_message(const Complete& message, const Turn& turn);
  void on_message(const Retired& message, const Turn& turn);
  /// Touches what an id names and hands it over; false when it names nothing that lives.
  void keep_clear_to_send(const ClearToSend& message);
  /// Hands over what came before the send was posted.
  void take_early(MessageRole role, uint64_t id);
  template <class T, class Use>
  bool use(Live<T>& live, uint64_t id, Use&& use);
  bool probe_tombstone(MessageRole role, uint64_t id);
  void run(const Turn& turn);
  void bury(Instant now);

  Engine engine_;
  WireClock wire_;
  Instant latest_{};  ///< time of the last post or turn
  QueuePairCounters counters_;
  uint64_t next_send_ = 0;
  uint64_t next_recv_ = 0;
  uint64_t next_message_out_ = 0;
  uint64_t next_message_in_ = 0;
  Live<SendTransfer> sends_;
  Live<ReceiveTransfer> recvs_;
  Live<SendMessage> messages_out_;
  Live<ReceiveMessage> messages_in_;
  std::map<std::pair<MessageRole, uint64_t>, std::unique_ptr<Tombstone>> tombstones_;
  uint64_t receiving_ = 0;  ///< transfers that report at ticks
  /// Clear-to-sends for what is not posted yet, by what they are for. The receiver is often ahead,
  /// and repeats them too seldom to wait for.
  std::map<std::pair<MessageRole, uint64_t>, std::vector<ClearToSend>> early_;
  size_t early_count_ = 0;
  std::vector<ClearToSend> due_early_;
};

/// One turn against a backend: poll, decide, submit. What the backend does not take stays at the
/// front of `pending` for the next turn. `events` and `pending` are scratch that the caller keeps.
/// Returns how many commands the backend took.
size_t drive(Instant now, QueuePair& queue_pair, Backend& backend, EventBatch& events,
             CommandBatch& pending);

}  // namespace longhaul
