#pragma once

/// One end of a connection: reliable transfers over unreliable packets. Sans-IO.
///
/// A driver gives it a *turn* whenever something is due (see `turn`, and `drive` for the usual loop
/// body): events go in, commands come out. It holds no clock, socket, thread or log.

#include <deque>
#include <map>
#include <memory>

#include "core/backend.h"
#include "core/transfer/receive_transfer.h"
#include "core/transfer/send_transfer.h"

namespace longhaul {

class QueuePair {
 public:
  /// `backend` outlives the queue pair.
  QueuePair(const QueuePairAttributes& attributes, Backend& backend);

  /// Posts a transfer of the first `bytes` of `region`, which the backend has registered as
  /// `source`. Transfers match the peer's `transfer_recv` by posting order. The memory must stay
  /// unchanged until the transfer has ended. Returns its id.
  uint32_t transfer_send(Instant now, MemoryHandle source, const MemoryRegion& region,
                         uint64_t bytes, uint32_t user_immediate);
  /// Posts a buffer of `capacity_bytes`. The memory must stay, and is written to, until the
  /// transfer has ended.
  uint32_t transfer_recv(Instant now, MemoryHandle buffer, const MemoryRegion& region,
                         uint64_t capacity_bytes);

  /// Takes in what happened and appends what to do.
  void turn(Instant now, const EventBatch& events, CommandBatch& out);
  Wakeup next_wakeup() const;

  const TransferStatus& send_status(uint32_t id) const { return sends_.at(id)->status(); }
  const TransferStatus& recv_status(uint32_t id) const { return recvs_.at(id)->status(); }
  const ReceiveTransfer& recv(uint32_t id) const { return *recvs_.at(id); }
  const QueuePairCounters& counters() const { return counters_; }
  const RoundTrip& round_trip() const { return round_trip_; }

 private:
  void on_packets(Instant now, const PacketsArrived& event);
  void on_control(Instant now, std::span<const std::byte> bytes);
  void on_message(Instant now, const ClearToSend& message);
  void on_message(Instant now, const Begin& message);
  void on_message(Instant now, const Feedback& message);
  void on_message(Instant now, const Probe& message);
  void on_message(Instant now, const Complete& message);

  QueuePairAttributes attributes_;
  Backend& backend_;
  RoundTrip round_trip_;
  WireClock wire_;
  SlotTable slots_;
  QueuePairCounters counters_;
  // Ended receives stay as tombstones that answer a late PROBE.
  std::deque<std::unique_ptr<SendTransfer>> sends_;
  std::deque<std::unique_ptr<ReceiveTransfer>> recvs_;
};

/// One turn against a backend: poll, decide, submit. What the backend does not take stays at the
/// front of `pending` for the next turn. `events` and `pending` are scratch that the caller keeps.
void drive(Instant now, QueuePair& queue_pair, Backend& backend, EventBatch& events,
           CommandBatch& pending);

}  // namespace longhaul
