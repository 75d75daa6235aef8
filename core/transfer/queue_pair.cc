#include "core/transfer/queue_pair.h"

#include <algorithm>

namespace longhaul {

QueuePair::QueuePair(const QueuePairAttributes& attributes, Backend& backend)
    : attributes_(attributes),
      backend_(backend),
      round_trip_(attributes.round_trip),
      wire_(backend.capabilities(), attributes.ahead),
      slots_(attributes.generations) {}

uint32_t QueuePair::transfer_send(Instant now, MemoryHandle source, const MemoryRegion& region,
                                  uint64_t bytes, uint32_t user_immediate) {
  const auto id = static_cast<uint32_t>(sends_.size());
  sends_.push_back(std::make_unique<SendTransfer>(id, now, source, region, bytes, user_immediate,
                                                  attributes_, backend_, round_trip_));
  return id;
}

uint32_t QueuePair::transfer_recv(Instant now, MemoryHandle buffer, const MemoryRegion& region,
                                  uint64_t capacity_bytes) {
  const auto id = static_cast<uint32_t>(recvs_.size());
  recvs_.push_back(std::make_unique<ReceiveTransfer>(id, now, buffer, region, capacity_bytes,
                                                     attributes_, backend_, slots_, round_trip_));
  return id;
}

void QueuePair::turn(Instant now, const EventBatch& events, CommandBatch& out) {
  for (const Event& event : events.events) {
    if (const auto* packets = std::get_if<PacketsArrived>(&event)) {
      on_packets(now, *packets);
    } else if (const auto* control = std::get_if<ControlArrived>(&event)) {
      on_control(now, std::span(events.control_bytes).subspan(control->offset, control->bytes));
    } else if (const auto* completed = std::get_if<WritesCompleted>(&event)) {
      wire_.completed(completed->packet_count);
    }
  }
  for (auto& transfer : recvs_) transfer->turn(now, wire_, counters_, out);
  for (auto& transfer : sends_) transfer->turn(now, wire_, counters_, out);
}

void QueuePair::on_packets(Instant now, const PacketsArrived& event) {
  const ArmedMessage* message = slots_.find(event.generation, event.slot);
  if (message == nullptr) {
    counters_.late_packets += event.packet_count;
    return;
  }
  recvs_[message->transfer]->on_packets(*message, event, now, counters_);
}

void QueuePair::on_control(Instant now, std::span<const std::byte> bytes) {
  const auto parsed = parse_control(bytes);
  const auto* control = std::get_if<ParsedControl>(&parsed);
  if (control == nullptr || control->connection != attributes_.connection) {
    ++counters_.refused_controls;
    return;
  }
  std::visit([&](const auto& message) { on_message(now, message); }, control->message);
}

void QueuePair::on_message(Instant, const ClearToSend& message) {
  // A transfer that is not posted yet hears the next one: they are repeated.
  if (message.transfer < sends_.size()) sends_[message.transfer]->on_clear_to_send(message);
}

void QueuePair::on_message(Instant now, const Begin& message) {
  if (message.transfer < recvs_.size()) recvs_[message.transfer]->on_begin(message, now, counters_);
}

void QueuePair::on_message(Instant now, const Feedback& message) {
  if (message.transfer < sends_.size()) sends_[message.transfer]->on_feedback(message, now);
}

void QueuePair::on_message(Instant now, const Probe& message) {
  if (message.transfer < recvs_.size()) recvs_[message.transfer]->on_probe(now);
}

void QueuePair::on_message(Instant now, const Complete& message) {
  if (message.transfer < sends_.size()) sends_[message.transfer]->on_complete(message, now);
}

Wakeup QueuePair::next_wakeup() const {
  Wakeup wakeup;
  for (const auto& transfer : recvs_) {
    wakeup.deadline = std::min(wakeup.deadline, transfer->next_deadline());
    wakeup.arrivals = std::min(wakeup.arrivals, transfer->arrivals_wanted());
  }
  bool wants_wire = false;
  for (const auto& transfer : sends_) {
    wakeup.deadline = std::min(wakeup.deadline, transfer->next_deadline());
    wants_wire |= transfer->wants_wire();
  }
  if (wants_wire) wakeup.completions = wire_.refill_after();
  return wakeup;
}

void drive(Instant now, QueuePair& queue_pair, Backend& backend, EventBatch& events,
           CommandBatch& pending) {
  events.clear();
  backend.poll(now, events);
  queue_pair.turn(now, events, pending);
  const size_t taken = backend.submit(now, pending.commands, pending.control_bytes);
  if (taken == pending.commands.size()) {
    pending.clear();
  } else {
    pending.commands.erase(pending.commands.begin(),
                           pending.commands.begin() + static_cast<std::ptrdiff_t>(taken));
  }
}

}  // namespace longhaul
