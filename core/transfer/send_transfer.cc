#include "core/transfer/send_transfer.h"

#include <algorithm>

namespace longhaul {
namespace {

/// Feedback periods without a word from the receiver, beyond a round trip, before a PROBE.
constexpr int kSilentPeriods = 4;

}  // namespace

SendTransfer::SendTransfer(uint64_t id, Instant now, const MemorySlice& source,
                           uint32_t user_immediate, Engine& engine)
    : id_(id),
      bytes_(source.bytes),
      user_immediate_(user_immediate),
      engine_(engine),
      checksum_(engine.coder.checksum(source, source.bytes)) {
  data_.memory = source.handle;
  data_.offset = source.offset;
  data_.bytes = source.bytes;
  data_.packets = engine.packets_in(source.bytes);
  status_.posted = now;
  if (engine.attributes.policy.kind == PolicySpec::Kind::erasure_code && bytes_ > 0)
    encode_parity(source);
  policy_ = make_sender_policy(engine.attributes.policy, data_.packets, parity_.packets,
                               engine.round_trip, engine.channels_of(id));
  for (Stream* stream : {&data_, &parity_}) {
    stream->slots.resize(messages_for(stream->packets));
    stream->cleared.resize(stream->slots.size());
  }
}

SendTransfer::~SendTransfer() {
  if (parity_.packets > 0) engine_.backend.deregister_memory(parity_.memory);
}

void SendTransfer::encode_parity(const MemorySlice& source) {
  const PolicySpec& policy = engine_.attributes.policy;
  layout_ = StripeLayout::make(data_.packets, policy.data_count, policy.parity_count);
  const uint32_t mtu_bytes = engine_.mtu_bytes;
  const uint32_t stored_bytes = source.stored_packet_bytes(mtu_bytes);
  const TransferCode code(layout_, stored_bytes);
  parity_memory_.resize(code.parity_stored_bytes());
  engine_.coder.encode(code, source, bytes_, parity_memory_);
  parity_.packets = layout_.parity_packets();
  parity_.bytes = parity_.packets * mtu_bytes;
  parity_.memory = engine_.backend.register_memory(
      {parity_memory_.data(), parity_.bytes, mtu_bytes, stored_bytes});
}

void SendTransfer::on_clear_to_send(const ClearToSend& message, const Turn& turn) {
  if (status_.state != TransferState::active) return;
  Stream& stream = stream_of(message.role);
  const uint64_t first = uint64_t{message.segment} * kMaxMessagePackets;
  const uint64_t begin = std::min(first * engine_.mtu_bytes, stream.bytes);
  const uint64_t wanted =
      std::min<uint64_t>(stream.bytes - begin, uint64_t{kMaxMessagePackets} * engine_.mtu_bytes);
  // A message of no bytes has no packets, and one message all the same.
  const bool exists =
      message.segment < std::max<size_t>(stream.slots.size(), message.role == MessageRole::data);
  // A longer buffer than the transfer may have more segments: those stay unused.
  if (message.role == MessageRole::data && exists && message.armed_bytes < wanted) {
    ++turn.counters.refused_size;
    return fail("the receiver posted a smaller buffer", turn);
  }
  if (message.generation >= engine_.attributes.generations) {
    ++turn.counters.refused_unknown;
    return;
  }
  if (message.role == MessageRole::data && message.segment == 0) cleared_ = true;
  if (message.segment >= stream.slots.size()) return;
  stream.slots[message.segment] = {message.generation, message.slot};
  stream.cleared[message.segment] = true;
  for (size_t s = stream.armed_packets / kMaxMessagePackets;
       s < stream.slots.size() && stream.cleared[s]; ++s) {
    stream.armed_packets =
        std::min<uint64_t>(stream.packets, (s + 1) * uint64_t{kMaxMessagePackets});
  }
}

void SendTransfer::on_feedback(const Feedback& message, Instant now) {
  if (status_.state != TransferState::active || !started_) return;
  silent_since_ = std::max(silent_since_, now);
  begin_confirmed_ |= message.has_begin;
  begin_wanted_ |= !begin_confirmed_;
  const Instant departure = policy_->echoed_departure(message);
  if (departure != Instant::never() && departure < now - message.echo_hold) {
    engine_.round_trip.sample(now - message.echo_hold - departure);
  }
  policy_->on_feedback(message, now);
}

void SendTransfer::on_complete(const Complete& message, const Turn& turn) {
  if (status_.state != TransferState::active) return;
  if (message.status != CompletionStatus::delivered) {
    return finish(TransferState::failed, "the receiver gave up", turn);
  }
  if (message.checksum != checksum_) {
    ++turn.counters.checksum_mismatches;
    return finish(TransferState::failed, "the end-to-end checksum differs", turn);
  }
  finish(TransferState::delivered, "", turn);
}

void SendTransfer::fail(const char* reason, const Turn& turn) {
  if (status_.state != TransferState::active) return;
  turn.send_control(Retired{MessageRole::data, id_});
  finish(TransferState::failed, reason, turn);
}

void SendTransfer::finish(TransferState state, const char* reason, const Turn& turn) {
  status_.state = state;
  status_.reason = reason;
  status_.finished = turn.now;
  wants_wire_ = false;
  last_handed_over_ = turn.wire.mark();
}

void SendTransfer::turn(const Turn& turn) {
  if (status_.state != TransferState::active) return;
  if (turn.now >= status_.posted + engine_.attributes.give_up) {
    ++turn.counters.given_up;
    return fail(started_ ? "not complete within the give-up time"
                         : "no clear-to-send within the give-up time",
                turn);
  }
  if (!cleared_) return;
  if (!started_) {
    // Its BEGIN goes out right before its data, not when its turn on the wire is far away.
    wants_wire_ = turn.wire.room() == 0;
    if (wants_wire_) return;
    start(turn);
  }
  if (!begin_confirmed_ && (begin_wanted_ || turn.now >= begin_deadline_)) send_begin(turn);
  policy_->on_timer(turn.now);
  send_data(turn);
  probe_if_silent(turn);
}

void SendTransfer::start(const Turn& turn) {
  started_ = true;
  send_begin(turn);
  status_.started = turn.wire.free_at();
  silent_since_ = turn.now;
  sent_by_ = turn.wire.free_at();
}

void SendTransfer::send_begin(const Turn& turn) {
  Begin begin{MessageRole::data, id_, bytes_, user_immediate_, 0, 0, 0};
  if (parity_.packets > 0) {
    begin.data_count = static_cast<uint8_t>(layout_.data_rows);
    begin.parity_count = static_cast<uint8_t>(layout_.parity_rows);
    begin.stripes = static_cast<uint32_t>(layout_.stripes);
  }
  turn.send_control(begin);
  begin_wanted_ = false;
  begin_deadline_ = turn.now + engine_.round_trip.overdue();
}

void SendTransfer::send_data(const Turn& turn) {
  wants_wire_ = false;
  WireClock& wire = turn.wire;
  while (true) {
    if (wire.room() == 0) {
      wants_wire_ = true;
      return;
    }
    const auto run = policy_->next({data_.armed_packets, parity_.armed_packets, wire.room()});
    if (!run) break;
    const uint32_t last_bytes =
        engine_.bytes_of_packet(run->first + run->count - 1, stream_of(run->role).bytes);
    const Instant start = wire.send_data(turn.now, run->count, last_bytes);
    policy_->on_sent(*run, start, wire.packet_time());
    send_run(*run, turn);
    sent_by_ = wire.free_at();
    (run->role == MessageRole::parity ? turn.counters.parity_packets
     : run->repair                    ? turn.counters.retransmitted_packets
                                      : turn.counters.data_packets) += run->count;
  }
  // A second BEGIN right behind the data of a short transfer: losing the first one then costs no
  // round trip.
  if (!begin_confirmed_ && !begin_repeated_ && data_.armed_packets == data_.packets && bytes_ > 0) {
    begin_repeated_ = true;
    send_begin(turn);
  }
}

void SendTransfer::send_run(const PacketRun& run, const Turn& turn) {
  const Stream& stream = stream_of(run.role);
  for (uint64_t at = run.first, end = run.first + run.count; at < end;) {
    const uint64_t segment = at / kMaxMessagePackets;
    const uint64_t begin = segment * kMaxMessagePackets;
    const auto count =
        static_cast<uint32_t>(std::min(end, begin + uint64_t{kMaxMessagePackets}) - at);
    WriteRun write;
    write.generation = stream.slots[segment].generation;
    write.slot = stream.slots[segment].slot;
    write.source = stream.memory;
    write.source_offset = stream.offset + begin * engine_.mtu_bytes;
    write.user_immediate = user_immediate_;
    append_writes(engine_, turn, write, engine_.channels_of(id_),
                  stream.bytes - begin * engine_.mtu_bytes, static_cast<uint32_t>(at - begin),
                  count);
    at += count;
  }
}

void SendTransfer::probe_if_silent(const Turn& turn) {
  probe_deadline_ = Instant::never();
  if (wants_wire_) return;
  // What left last can be answered a round trip later at the earliest.
  const Instant answerable = std::max(silent_since_, sent_by_ + engine_.round_trip.smoothed());
  const Duration patience = engine_.round_trip.feedback_period() * kSilentPeriods;
  probe_deadline_ = answerable + patience;
  if (turn.now < probe_deadline_) return;
  turn.send_control(Probe{id_, probe_sequence_++});
  silent_since_ = turn.now;
  probe_deadline_ = turn.now + patience;
}

Instant SendTransfer::next_deadline() const {
  if (status_.state != TransferState::active) return Instant::never();
  Instant deadline = status_.posted + engine_.attributes.give_up;
  if (!started_) return deadline;
  deadline = std::min({deadline, policy_->next_deadline(), probe_deadline_});
  return begin_confirmed_ ? deadline : std::min(deadline, begin_deadline_);
}

}  // namespace longhaul
