#include "core/sdr/send_message.h"

#include <algorithm>

namespace longhaul {

SendMessage::SendMessage(uint64_t id, Instant now, const MemorySlice& source,
                         uint32_t user_immediate, Engine& engine)
    : id_(id),
      source_(source),
      user_immediate_(user_immediate),
      engine_(engine),
      packets_(engine.packets_in(source.bytes)),
      posted_(now) {
  LONGHAUL_CHECK(packets_ <= kMaxMessagePackets);
}

void SendMessage::send(uint64_t first, uint64_t count) {
  LONGHAUL_CHECK(first <= packets_ && count <= packets_ - first);
  if (count > 0) wanted_.push_back({first, first + count});
}

void SendMessage::on_clear_to_send(const ClearToSend& message, const Turn& turn) {
  if (over() || cleared_) return;
  if (message.generation >= engine_.attributes.generations || message.segment != 0) {
    ++turn.counters.refused_unknown;
    return;
  }
  if (message.armed_bytes < source_.bytes) {
    ++turn.counters.refused_size;
    turn.send_control(Retired{MessageRole::plain, id_});
    return fail("the receiver posted a smaller buffer");
  }
  slot_ = {message.generation, message.slot};
  cleared_ = true;
}

void SendMessage::on_complete(const Complete& message) {
  if (over()) return;
  completed_ = true;
  completion_ = message.status;
  wanted_.clear();
  wants_wire_ = false;
}

void SendMessage::fail(const char* reason) {
  if (over()) return;
  failed_ = true;
  reason_ = reason;
  wanted_.clear();
  wants_wire_ = false;
}

void SendMessage::turn(const Turn& turn) {
  if (over()) return;
  // The receiver may take its time with recv_complete, but not with a first sign of life.
  if (!begin_confirmed_ && turn.now >= posted_ + engine_.attributes.give_up) {
    ++turn.counters.given_up;
    turn.send_control(Retired{MessageRole::plain, id_});
    return fail(cleared_ ? "no answer within the give-up time"
                         : "no clear-to-send within the give-up time");
  }
  if (!cleared_) return;
  // The first BEGIN goes out right before the data.
  wants_wire_ = !begun_ && turn.wire.room() == 0;
  if (wants_wire_) return;
  if (!begun_ || (!begin_confirmed_ && turn.now >= begin_deadline_)) send_begin(turn);
  while (!wanted_.empty() && turn.wire.room() > 0) {
    PacketRange& range = wanted_.front();
    const uint64_t count = std::min(range.end - range.begin, turn.wire.room());
    const uint64_t last = range.begin + count - 1;
    turn.wire.send_data(turn.now, count, engine_.bytes_of_packet(last, source_.bytes));
    WriteRun write;
    write.generation = slot_.generation;
    write.slot = slot_.slot;
    write.source = source_.handle;
    write.source_offset = source_.offset;
    write.user_immediate = user_immediate_;
    append_writes(engine_, turn, write, engine_.channels_of(id_), source_.bytes,
                  static_cast<uint32_t>(range.begin), static_cast<uint32_t>(count));
    turn.counters.data_packets += count;
    range.begin += count;
    if (range.begin == range.end) wanted_.pop_front();
  }
  wants_wire_ = !wanted_.empty();
  handed_over_ = turn.wire.mark();
}

void SendMessage::send_begin(const Turn& turn) {
  begun_ = true;
  turn.send_control(Begin{MessageRole::plain, id_, source_.bytes, user_immediate_, 0, 0, 0});
  begin_deadline_ = turn.now + engine_.round_trip.overdue();
}

Instant SendMessage::next_deadline() const {
  if (over() || begin_confirmed_) return Instant::never();
  const Instant give_up = posted_ + engine_.attributes.give_up;
  return begun_ ? std::min(give_up, begin_deadline_) : give_up;
}

SendStatus SendMessage::status(const WireClock& wire) const {
  SendStatus status{SendState::waiting, reason_, stream_ended_, completion_};
  if (failed_) {
    status.state = SendState::failed;
  } else if (completed_) {
    status.state = SendState::completed;
  } else if (begun_ && wanted_.empty() && wire.drained(handed_over_)) {
    status.state = SendState::injected;
  }
  return status;
}

}  // namespace longhaul
