#include "core/transfer/queue_pair.h"

#include <algorithm>

namespace longhaul {

QueuePair::QueuePair(const QueuePairAttributes& attributes, Backend& backend, Coder& coder)
    : engine_(attributes, backend, coder), wire_(backend.capabilities(), attributes.ahead) {
  LONGHAUL_CHECK(attributes.channels >= 1 && attributes.channels <= kMaxChannels);
  LONGHAUL_CHECK(attributes.chunk_packets >= 1);
  LONGHAUL_CHECK(backend.capabilities().max_control_bytes >
                 max_feedback_fixed_bytes(attributes.channels));
}

// Posting ----------------------------------------------------------------------------------------

uint64_t QueuePair::transfer_send(Instant now, const MemorySlice& source, uint32_t user_immediate) {
  latest_ = now;
  const uint64_t id = next_send_++;
  auto transfer = std::make_unique<SendTransfer>(id, now, source, user_immediate, engine_);
  engine_.schedule.add(*transfer);
  sends_.emplace(id, std::move(transfer));
  take_early(MessageRole::data, id);
  return id;
}

uint64_t QueuePair::transfer_recv(Instant now, const MemorySlice& buffer) {
  latest_ = now;
  const uint64_t id = next_recv_++;
  auto transfer = std::make_unique<ReceiveTransfer>(id, now, buffer, engine_);
  engine_.schedule.add(*transfer);
  recvs_.emplace(id, std::move(transfer));
  if (receiving_++ == 0) engine_.tick = now + engine_.round_trip.feedback_period();
  return id;
}

uint64_t QueuePair::slots_needed(uint64_t bytes) const {
  const PolicySpec& policy = engine_.attributes.policy;
  const uint64_t packets = engine_.packets_in(bytes);
  uint64_t slots = std::max<uint64_t>(1, messages_for(packets));
  if (policy.kind == PolicySpec::Kind::erasure_code) {
    const auto layout = StripeLayout::make(packets, policy.data_count, policy.parity_count);
    slots += messages_for(layout.parity_packets());
  }
  return slots;
}

void QueuePair::forget_send(uint64_t id) {
  const auto found = sends_.find(id);
  LONGHAUL_CHECK(found != sends_.end() && found->second->released(wire_));
  engine_.schedule.remove(*found->second);
  sends_.erase(found);
}

void QueuePair::forget_recv(uint64_t id) {
  const auto found = recvs_.find(id);
  LONGHAUL_CHECK(found != recvs_.end());
  LONGHAUL_CHECK(found->second->status().state != TransferState::active);
  engine_.schedule.remove(*found->second);
  recvs_.erase(found);
}

uint64_t QueuePair::send_start(Instant now, const MemorySlice& source, uint32_t user_immediate) {
  latest_ = now;
  const uint64_t id = next_message_out_++;
  auto message = std::make_unique<SendMessage>(id, now, source, user_immediate, engine_);
  engine_.schedule.add(*message);
  messages_out_.emplace(id, std::move(message));
  take_early(MessageRole::plain, id);
  return id;
}

void QueuePair::send_continue(Instant now, uint64_t id, uint64_t first, uint64_t count) {
  latest_ = now;
  SendMessage& message = *messages_out_.at(id);
  message.send(first, count);
  engine_.schedule.touch(message);
}

void QueuePair::send_end(Instant now, uint64_t id) {
  latest_ = now;
  SendMessage& message = *messages_out_.at(id);
  message.end_stream();
  engine_.schedule.touch(message);
}

void QueuePair::forget_send_message(uint64_t id) {
  const auto found = messages_out_.find(id);
  LONGHAUL_CHECK(found != messages_out_.end());
  engine_.schedule.remove(*found->second);
  messages_out_.erase(found);
}

std::optional<uint64_t> QueuePair::recv_post(Instant now, const MemorySlice& buffer) {
  const uint64_t packets = engine_.packets_in(buffer.bytes);
  LONGHAUL_CHECK(packets <= kMaxMessagePackets);
  // Transfers that wait for slots were here first.
  if (!engine_.slot_queue.empty()) return std::nullopt;
  if (engine_.slots.next_free() > now) {
    ++counters_.slot_waits;
    return std::nullopt;
  }
  latest_ = now;
  const uint64_t id = next_message_in_++;
  auto message = std::make_unique<ReceiveMessage>(id, now, buffer, engine_);
  engine_.schedule.add(*message);
  messages_in_.emplace(id, std::move(message));
  return id;
}

void QueuePair::recv_complete(Instant now, uint64_t id) {
  latest_ = now;
  ReceiveMessage& message = *messages_in_.at(id);
  message.complete();
  engine_.schedule.touch(message);
}

// Turns ------------------------------------------------------------------------------------------

void QueuePair::turn(Instant now, const EventBatch& events, CommandBatch& out) {
  latest_ = now;
  const Turn turn{now, engine_.attributes.connection, wire_, counters_, out};
  for (const ClearToSend& message : due_early_) on_message(message, turn);
  due_early_.clear();
  for (const Event& event : events.events) {
    if (const auto* packets = std::get_if<PacketsArrived>(&event)) {
      on_packets(*packets);
    } else if (const auto* control = std::get_if<ControlArrived>(&event)) {
      on_control(std::span(events.control_bytes).subspan(control->offset, control->bytes), turn);
    } else if (const auto* completed = std::get_if<WritesCompleted>(&event)) {
      wire_.completed(completed->channel, completed->packet_count);
    } else if (const auto* fault = std::get_if<FaultRaised>(&event)) {
      on_fault(*fault, turn);
    }
  }
  // After the events: what arrived before the tick is part of its report.
  if (engine_.tick <= now) engine_.tick = now + engine_.round_trip.feedback_period();
  run(turn);
}

void QueuePair::run(const Turn& turn) {
  do {
    if (engine_.next_slot() <= turn.now) engine_.schedule.touch(engine_.slot_queue.front());
    engine_.schedule.run(turn);
    bury(turn.now);
  } while (engine_.schedule.has_touched());
}

/// Ended receives become tombstones; tombstones that have been heard go.
void QueuePair::bury(Instant now) {
  for (Ending& ending : engine_.endings) {
    if (ending.role == MessageRole::plain) {
      const auto found = messages_in_.find(ending.id);
      engine_.schedule.remove(*found->second);
      messages_in_.erase(found);
    } else if (--receiving_ == 0) {
      engine_.tick = Instant::never();
    }
    const std::pair key{ending.role, ending.id};
    auto tombstone = std::make_unique<Tombstone>(engine_, now, std::move(ending));
    engine_.schedule.add(*tombstone);
    tombstones_.emplace(key, std::move(tombstone));
  }
  engine_.endings.clear();
  for (const auto& key : engine_.retired) {
    const auto found = tombstones_.find(key);
    engine_.schedule.remove(*found->second);
    tombstones_.erase(found);
  }
  engine_.retired.clear();
}

Wakeup QueuePair::next_wakeup() const {
  Wakeup wakeup;
  wakeup.deadline = std::min({engine_.schedule.next_deadline(), engine_.tick, engine_.next_slot()});
  if (engine_.schedule.has_touched()) wakeup.deadline = latest_;
  wakeup.arrivals = engine_.schedule.arrivals_wanted();
  if (engine_.schedule.wants_wire()) wakeup.completions = wire_.refill_after();
  return wakeup;
}

// Events -----------------------------------------------------------------------------------------

void QueuePair::on_packets(const PacketsArrived& event) {
  const ArmedMessage* message = engine_.slots.find(event.generation, event.slot);
  if (message == nullptr || event.channel >= engine_.attributes.channels) {
    const bool late = engine_.slots.resting(event.generation, event.slot, event.last_arrival);
    (late ? counters_.late_packets : counters_.stale_packets) += event.packet_count;
    return;
  }
  if (message->role == MessageRole::plain) {
    auto& receive = static_cast<ReceiveMessage&>(*message->owner);
    receive.on_packets(event, counters_);
    engine_.schedule.touch(receive);
  } else {
    auto& receive = static_cast<ReceiveTransfer&>(*message->owner);
    receive.on_packets(*message, event, counters_);
    engine_.schedule.touch(receive);
  }
}

void QueuePair::on_fault(const FaultRaised& fault, const Turn& turn) {
  if (fault.kind == FaultRaised::Kind::receive_queue_empty) {
    counters_.receive_queue_empty += fault.count;
    return;
  }
  const bool gone = fault.kind == FaultRaised::Kind::peer_gone;
  ++(gone ? counters_.peer_gone : counters_.queue_pair_errors);
  const char* reason = gone ? "the peer is gone" : "the queue pair is in the error state";
  for (auto& [id, transfer] : sends_) {
    transfer->fail(reason, turn);
    engine_.schedule.touch(*transfer);
  }
  for (auto& [id, message] : messages_out_) {
    message->fail(reason);
    engine_.schedule.touch(*message);
  }
  for (auto& [id, message] : messages_in_) message->on_retired();
  for (auto& [id, transfer] : recvs_) {
    transfer->fail(reason, turn);
    engine_.schedule.touch(*transfer);
  }
}

void QueuePair::on_control(std::span<const std::byte> bytes, const Turn& turn) {
  const auto parsed = parse_control(bytes);
  if (const auto* error = std::get_if<ControlError>(&parsed)) {
    ++(*error == ControlError::version ? counters_.refused_version : counters_.refused_malformed);
    return;
  }
  const auto& control = std::get<ParsedControl>(parsed);
  if (control.connection != engine_.attributes.connection) {
    ++counters_.refused_connection;
    return;
  }
  std::visit([&](const auto& message) { on_message(message, turn); }, control.message);
}

template <class T, class Use>
bool QueuePair::use(Live<T>& live, uint64_t id, Use&& use) {
  const auto found = live.find(id);
  if (found == live.end()) return false;
  use(*found->second);
  engine_.schedule.touch(*found->second);
  return true;
}

void QueuePair::on_message(const ClearToSend& message, const Turn& turn) {
  const bool plain = message.role == MessageRole::plain;
  if (message.id >= (plain ? next_message_out_ : next_send_)) return keep_clear_to_send(message);
  const auto hand_over = [&](auto& send) { send.on_clear_to_send(message, turn); };
  if (plain) {
    use(messages_out_, message.id, hand_over);
  } else {
    use(sends_, message.id, hand_over);
  }
}

void QueuePair::keep_clear_to_send(const ClearToSend& message) {
  // An honest receiver has no more than this armed at once.
  const size_t limit = size_t{engine_.attributes.generations} * kSlotsPerGeneration;
  const bool plain = message.role == MessageRole::plain;
  const std::pair key{plain ? MessageRole::plain : MessageRole::data, message.id};
  auto& kept = early_[key];
  const bool repeated = std::ranges::any_of(kept, [&](const ClearToSend& k) {
    return k.role == message.role && k.segment == message.segment;
  });
  if (repeated) return;
  if (early_count_ >= limit) {
    ++counters_.refused_unknown;
    if (kept.empty()) early_.erase(key);
    return;
  }
  kept.push_back(message);
  ++early_count_;
}

void QueuePair::take_early(MessageRole role, uint64_t id) {
  const auto found = early_.find({role, id});
  if (found == early_.end()) return;
  early_count_ -= found->second.size();
  due_early_.insert(due_early_.end(), found->second.begin(), found->second.end());
  early_.erase(found);
}

void QueuePair::on_message(const Begin& message, const Turn& turn) {
  const bool plain = message.role == MessageRole::plain;
  const auto hand_over = [&](auto& receive) { receive.on_begin(message, turn); };
  // A sender begins once it is cleared to send: it cannot know of what is not posted.
  if (message.id >= (plain ? next_message_in_ : next_recv_)) {
    ++counters_.refused_unknown;
  } else if (!(plain ? use(messages_in_, message.id, hand_over)
                     : use(recvs_, message.id, hand_over))) {
    probe_tombstone(message.role, message.id);
  }
}

void QueuePair::on_message(const Feedback& message, const Turn& turn) {
  const bool plain = message.role == MessageRole::plain;
  if (message.id >= (plain ? next_message_out_ : next_send_)) {
    ++counters_.refused_unknown;
  } else if (plain) {
    use(messages_out_, message.id, [&](SendMessage& send) { send.on_feedback(message); });
  } else {
    use(sends_, message.id, [&](SendTransfer& send) { send.on_feedback(message, turn.now); });
  }
}

void QueuePair::on_message(const Probe& message, const Turn& turn) {
  if (message.id >= next_recv_) {
    ++counters_.refused_unknown;
  } else if (!probe_tombstone(MessageRole::data, message.id)) {
    use(recvs_, message.id, [&](ReceiveTransfer& receive) { receive.on_probe(turn); });
  }
}

bool QueuePair::probe_tombstone(MessageRole role, uint64_t id) {
  const auto found = tombstones_.find({role, id});
  if (found == tombstones_.end()) return false;
  found->second->on_probe();
  engine_.schedule.touch(*found->second);
  return true;
}

void QueuePair::on_message(const Complete& message, const Turn& turn) {
  const bool plain = message.role == MessageRole::plain;
  if (message.id >= (plain ? next_message_out_ : next_send_)) {
    ++counters_.refused_unknown;
    return;
  }
  if (plain) {
    use(messages_out_, message.id, [&](SendMessage& send) { send.on_complete(message); });
  } else {
    use(sends_, message.id, [&](SendTransfer& send) { send.on_complete(message, turn); });
  }
  // Also for what is long forgotten: the receiver asks until it has heard this.
  turn.send_control(Retired{message.role, message.id});
}

void QueuePair::on_message(const Retired& message, const Turn& turn) {
  const bool plain = message.role == MessageRole::plain;
  if (message.id >= (plain ? next_message_in_ : next_recv_)) {
    ++counters_.refused_unknown;
    return;
  }
  const auto found = tombstones_.find({message.role, message.id});
  if (found != tombstones_.end()) {
    found->second->on_retired(turn.now);
  } else if (plain) {
    use(messages_in_, message.id, [](ReceiveMessage& receive) { receive.on_retired(); });
  } else {
    use(recvs_, message.id, [&](ReceiveTransfer& receive) { receive.on_retired(turn); });
  }
}

// Driving ----------------------------------------------------------------------------------------

size_t drive(Instant now, QueuePair& queue_pair, Backend& backend, EventBatch& events,
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
  return taken;
}

}  // namespace longhaul
