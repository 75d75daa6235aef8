#include "core/sdr/receive_message.h"

#include <algorithm>

namespace longhaul {
namespace {

constexpr uint32_t kAllFragments = (uint32_t{1} << Immediate::kFragments) - 1;

}  // namespace

ReceiveMessage::ReceiveMessage(uint64_t id, Instant now, const MemorySlice& buffer, Engine& engine)
    : id_(id),
      buffer_(buffer),
      engine_(engine),
      bitmap_(engine.packets_in(buffer.bytes), engine.attributes.chunk_packets),
      clear_to_send_deadline_(now) {
  const auto packets = static_cast<uint32_t>(bitmap_.packets().packets());
  const auto slot = engine.slots.arm(now, {MessageRole::plain, id, 0, packets, this});
  LONGHAUL_CHECK(slot.has_value());
  slot_ = *slot;
}

void ReceiveMessage::on_begin(const Begin& message, const Turn& turn) {
  if (completed_) return;
  if (message.bytes > buffer_.bytes) {
    ++turn.counters.refused_size;
    return;
  }
  seen_ = true;
  answer_wanted_ = true;
  if (bytes_) return;
  bytes_ = message.bytes;
  immediate_ = message.user_immediate;
  fragments_seen_ = kAllFragments;
}

void ReceiveMessage::on_packets(const PacketsArrived& event, QueuePairCounters& counters) {
  const uint64_t packets = bitmap_.packets().packets();
  if (event.first_packet >= packets || event.packet_count > packets - event.first_packet) {
    counters.beyond_packets += event.packet_count;
    return;
  }
  seen_ = true;
  const uint64_t added =
      bitmap_.arrived(event.first_packet, event.packet_count, [](uint64_t, uint64_t) {});
  counters.received_packets += added;
  counters.duplicate_packets += event.packet_count - added;
  const uint32_t fragments = std::min(event.packet_count, Immediate::kFragments);
  for (uint32_t i = 0; i < fragments && fragments_seen_ != kAllFragments; ++i) {
    const uint32_t packet = event.first_packet + i;
    const uint32_t bit = uint32_t{1} << (packet % Immediate::kFragments);
    if (fragments_seen_ & bit) continue;
    fragments_seen_ |= bit;
    immediate_ |= Immediate::fragment_of(event.user_immediate, packet)
                  << Immediate::shift_of(packet);
  }
}

bool ReceiveMessage::all_arrived() const {
  if (!bytes_) return false;
  const uint64_t packets = engine_.packets_in(*bytes_);
  return bitmap_.packets().next_clear(0) >= packets;
}

std::optional<uint32_t> ReceiveMessage::user_immediate() const {
  if (fragments_seen_ != kAllFragments) return std::nullopt;
  return immediate_;
}

void ReceiveMessage::turn(const Turn& turn) {
  if (completed_) return;
  if (!armed_) {
    armed_ = true;
    turn.out.commands.emplace_back(ArmReceive{slot_.generation, slot_.slot, buffer_.handle,
                                              buffer_.offset, buffer_.bytes,
                                              static_cast<uint32_t>(bitmap_.packets().packets())});
  }
  if (complete_wanted_) {
    completed_ = true;
    engine_.slots.release(slot_, turn.now);
    turn.out.commands.emplace_back(ReleaseReceive{slot_.generation, slot_.slot});
    const auto status = all_arrived() ? CompletionStatus::delivered : CompletionStatus::partial;
    turn.counters.partial_completions += status == CompletionStatus::partial;
    engine_.endings.push_back({MessageRole::plain, id_, status, 0, {slot_}, {}, {}});
    return;
  }
  if (seen_) {
    clear_to_send_deadline_ = Instant::never();
  } else if (turn.now >= clear_to_send_deadline_) {
    turn.send_control(
        ClearToSend{MessageRole::plain, id_, 0, slot_.generation, slot_.slot, buffer_.bytes, 0});
    clear_to_send_deadline_ = turn.now + engine_.clear_to_send_wait(clear_to_sends_++);
  }
  if (!answer_wanted_) return;
  answer_wanted_ = false;
  Feedback feedback;
  feedback.role = MessageRole::plain;
  feedback.id = id_;
  feedback.has_begin = true;
  feedback.received_packets = bitmap_.packets().count();
  turn.send_control(feedback);
}

Instant ReceiveMessage::next_deadline() const {
  return completed_ ? Instant::never() : clear_to_send_deadline_;
}

}  // namespace longhaul
