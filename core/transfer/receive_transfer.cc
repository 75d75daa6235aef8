#include "core/transfer/receive_transfer.h"

#include <algorithm>

namespace longhaul {
namespace {

/// Near the end, with nothing missing, COMPLETE says all that FEEDBACK would, and must not queue
/// behind it.
constexpr uint64_t kNeedlessFeedbackPackets = 64;

}  // namespace

ReceiveTransfer::ReceiveTransfer(uint64_t id, Instant now, const MemorySlice& buffer,
                                 Engine& engine)
    : id_(id),
      buffer_(buffer),
      engine_(engine),
      data_(engine.packets_in(buffer.bytes), engine.attributes.chunk_packets),
      echoes_(engine.attributes.channels) {
  status_.posted = now;
  if (has_code() && buffer.bytes > 0) {
    const PolicySpec& policy = engine.attributes.policy;
    const uint32_t mtu_bytes = engine.mtu_bytes;
    const uint32_t stored_bytes = buffer.stored_packet_bytes(mtu_bytes);
    layout_ =
        StripeLayout::make(engine.packets_in(buffer.bytes), policy.data_count, policy.parity_count);
    parity_arrived_.reset(layout_.parity_packets());
    parity_memory_.resize(layout_.parity_packets() * stored_bytes);
    parity_handle_ = engine.backend.register_memory(
        {parity_memory_.data(), layout_.parity_packets() * mtu_bytes, mtu_bytes, stored_bytes});
    stripes_ = StripeTracker(layout_);
  }
  plan_messages();
}

ReceiveTransfer::~ReceiveTransfer() {
  if (!parity_memory_.empty()) engine_.backend.deregister_memory(parity_handle_);
}

void ReceiveTransfer::plan_messages() {
  const auto plan = [&](MessageRole role, uint64_t packets) {
    for (uint64_t first = 0; first < packets; first += kMaxMessagePackets) {
      const auto segment = static_cast<uint32_t>(first / kMaxMessagePackets);
      const auto count =
          static_cast<uint32_t>(std::min<uint64_t>(kMaxMessagePackets, packets - first));
      messages_.push_back({{role, id_, segment, count, this}, {}, false, false});
    }
  };
  plan(MessageRole::data, std::max<uint64_t>(1, engine_.packets_in(buffer_.bytes)));
  parity_messages_from_ = messages_.size();
  plan(MessageRole::parity, layout_.parity_packets());
}

void ReceiveTransfer::arm_messages(const Turn& turn) {
  if (!engine_.slot_queue.may_arm(*this)) return engine_.slot_queue.wait(*this);
  const size_t armed_before = next_to_arm_;
  while (next_to_arm_ < messages_.size() && arm(messages_[next_to_arm_], turn)) ++next_to_arm_;
  if (next_to_arm_ > armed_before) {
    clear_to_send_deadline_ = turn.now;
    clear_to_sends_ = 0;
  }
  if (next_to_arm_ < messages_.size()) {
    ++turn.counters.slot_waits;
    return engine_.slot_queue.wait(*this);
  }
  engine_.slot_queue.leave(*this);
  if (!engine_.slot_queue.empty()) engine_.schedule.touch(engine_.slot_queue.front());
}

bool ReceiveTransfer::arm(Message& message, const Turn& turn) {
  const auto slot = engine_.slots.arm(turn.now, message.armed);
  if (!slot) return false;
  message.slot = *slot;
  message.is_armed = true;
  const bool is_data = message.armed.role == MessageRole::data;
  const uint64_t mtu_bytes = engine_.mtu_bytes;
  const uint64_t offset = uint64_t{message.armed.segment} * kMaxMessagePackets * mtu_bytes;
  const uint64_t bytes = uint64_t{message.armed.packets} * mtu_bytes;
  turn.out.commands.emplace_back(
      ArmReceive{slot->generation, slot->slot, is_data ? buffer_.handle : parity_handle_,
                 is_data ? buffer_.offset + offset : offset,
                 is_data ? std::min(bytes, buffer_.bytes - offset) : bytes, message.armed.packets});
  return true;
}

void ReceiveTransfer::clear_to_send(const Turn& turn) {
  bool waiting = false;
  for (const Message& message : messages_) {
    if (!message.is_armed || message.seen) continue;
    const uint64_t bytes = uint64_t{message.armed.packets} * engine_.mtu_bytes;
    const uint64_t begin = uint64_t{message.armed.segment} * kMaxMessagePackets * engine_.mtu_bytes;
    const bool is_data = message.armed.role == MessageRole::data;
    turn.send_control(ClearToSend{message.armed.role, id_, message.armed.segment,
                                  message.slot.generation, message.slot.slot,
                                  is_data ? std::min(bytes, buffer_.bytes - begin) : bytes, 0});
    waiting = true;
  }
  clear_to_send_deadline_ =
      waiting ? turn.now + engine_.clear_to_send_wait(clear_to_sends_++) : Instant::never();
}

void ReceiveTransfer::observe(Instant when) {
  if (observed_) return;
  observed_ = true;
  first_observed_ = when;
  feedback_deadline_ = engine_.tick;
}

void ReceiveTransfer::on_begin(const Begin& message, const Turn& turn) {
  if (status_.state != TransferState::active || begin_) return;
  if (message.bytes > buffer_.bytes) {
    ++turn.counters.refused_size;
    return fail("the sender's message is longer than the buffer", turn);
  }
  StripeLayout layout;
  if (has_code()) {
    layout =
        StripeLayout::make(engine_.packets_in(message.bytes), engine_.attributes.policy.data_count,
                           engine_.attributes.policy.parity_count);
  }
  if (message.data_count != layout.data_rows || message.parity_count != layout.parity_rows ||
      message.stripes != layout.stripes) {
    ++turn.counters.refused_code;
    return fail("the sender uses another erasure code", turn);
  }
  observe(turn.now);
  begin_ = message;
  if (engine_.packets_in(message.bytes) != data_.packets().packets()) shorten(message, layout);
  if (has_code() && message.bytes > 0) {
    const Capabilities& capabilities = engine_.capabilities;
    const uint64_t packets = data_.packets().packets() + layout_.parity_packets();
    fallback_deadline_ =
        first_observed_ +
        wire_time(capabilities.mtu_bytes + capabilities.header_bytes, capabilities.rate_bps) *
            static_cast<int64_t>(packets) +
        engine_.round_trip.multiple(engine_.attributes.policy.fallback_millirtt);
  }
}

/// Shorter than the buffer: what arrived already is counted again, for the true size.
void ReceiveTransfer::shorten(const Begin& begin, const StripeLayout& layout) {
  const uint64_t packets = engine_.packets_in(begin.bytes);
  const PacketBitmap early_data = data_.packets();
  PacketBitmap early_parity(layout.parity_packets());
  std::swap(early_parity, parity_arrived_);
  data_ = ReceiveBitmap(packets, engine_.attributes.chunk_packets);
  layout_ = layout;
  stripes_ = StripeTracker(layout);
  QueuePairCounters ignored;
  for (uint64_t p = early_data.next_set(0); p < packets; p = early_data.next_set(p + 1)) {
    take(MessageRole::data, p, 1, ignored);
  }
  for (uint64_t p = early_parity.next_set(0); p < layout.parity_packets();
       p = early_parity.next_set(p + 1)) {
    take(MessageRole::parity, p, 1, ignored);
  }
  highest_end_ = std::min(highest_end_, packets);
  described_end_ = std::min(described_end_, packets);
}

void ReceiveTransfer::on_probe(const Turn& turn) {
  observe(turn.now);
  feedback_now_ = true;
}

void ReceiveTransfer::on_packets(const ArmedMessage& message, const PacketsArrived& event,
                                 QueuePairCounters& counters) {
  observe(event.first_arrival);
  const uint64_t first = uint64_t{message.segment} * kMaxMessagePackets + event.first_packet;
  const bool is_data = message.role == MessageRole::data;
  const uint64_t limit = is_data ? data_.packets().packets() : parity_arrived_.packets();
  // Bits beyond the message are a peer's error, and count for nothing.
  if (first >= limit || event.packet_count > limit - first) {
    counters.beyond_packets += event.packet_count;
    return;
  }
  messages_[message.segment + (is_data ? 0 : parity_messages_from_)].seen = true;
  take(message.role, first, event.packet_count, counters);
  if (!is_data) return;
  highest_end_ = std::max(highest_end_, first + event.packet_count);
  Echo& echo = echoes_[event.channel];
  if (!echo.valid || event.last_arrival >= echo.arrival)
    echo = {true, first + event.packet_count - 1, event.last_arrival};
  if (event.last_arrival >= echoes_[latest_channel_].arrival) latest_channel_ = event.channel;
}

void ReceiveTransfer::take(MessageRole role, uint64_t first, uint64_t count,
                           QueuePairCounters& counters) {
  const auto fresh = [&](uint64_t at, uint64_t run) {
    if (has_code()) stripes_.arrived(at, run);
  };
  const uint64_t added = role == MessageRole::data ? data_.arrived(first, count, fresh)
                                                   : parity_arrived_.set(first, count, fresh);
  counters.received_packets += added;
  counters.duplicate_packets += count - added;
}

bool ReceiveTransfer::complete() const {
  if (!begin_) return false;
  return has_code() ? stripes_.needed() == 0 : data_.packets().full();
}

uint64_t ReceiveTransfer::arrivals_wanted() const {
  // Before BEGIN is in nothing can complete, and control messages wake by themselves.
  if (status_.state != TransferState::active || !begin_) return ~uint64_t{0};
  const PacketBitmap& packets = data_.packets();
  return std::max<uint64_t>(1,
                            has_code() ? stripes_.needed() : packets.packets() - packets.count());
}

void ReceiveTransfer::turn(const Turn& turn) {
  if (status_.state != TransferState::active) return;
  if (complete()) return finish(turn);
  if (turn.now >= status_.posted + engine_.attributes.give_up) {
    ++turn.counters.given_up;
    return fail("not complete within the give-up time", turn);
  }
  if (next_to_arm_ < messages_.size()) arm_messages(turn);
  if (turn.now >= clear_to_send_deadline_) clear_to_send(turn);
  if (turn.now >= fallback_deadline_) {
    fallback_deadline_ = Instant::never();
    repair_requested_ = true;
    feedback_now_ = true;
    ++turn.counters.fallbacks;
  }
  if (!observed_) return;
  const bool tick = turn.now >= feedback_deadline_;
  if (feedback_now_ || (tick && !feedback_needless())) turn.send_control(make_feedback(turn.now));
  feedback_now_ = false;
  if (tick) {
    received_at_last_tick_ = data_.packets().count();
    feedback_deadline_ = engine_.tick;
  }
}

bool ReceiveTransfer::feedback_needless() const {
  const PacketBitmap& packets = data_.packets();
  return begin_ && packets.count() == highest_end_ && packets.count() > received_at_last_tick_ &&
         packets.packets() - packets.count() <= kNeedlessFeedbackPackets;
}

void ReceiveTransfer::finish(const Turn& turn) {
  if (has_code() && !data_.packets().full()) {
    const TransferCode code(layout_, buffer_.stored_packet_bytes(engine_.mtu_bytes));
    turn.counters.decoded_packets +=
        engine_.coder.decode(code, buffer_, begin_->bytes, data_.packets(),
                             {parity_memory_.data(), code.parity_stored_bytes()}, parity_arrived_);
    data_.publish_all();
  }
  checksum_ = engine_.coder.checksum(buffer_, begin_->bytes);
  status_.state = TransferState::delivered;
  end(CompletionStatus::delivered, turn);
}

void ReceiveTransfer::fail(const char* reason, const Turn& turn) {
  if (status_.state != TransferState::active) return;
  status_.state = TransferState::failed;
  status_.reason = reason;
  end(CompletionStatus::failed, turn);
}

void ReceiveTransfer::end(CompletionStatus status, const Turn& turn) {
  status_.finished = turn.now;
  Ending ending{MessageRole::data,         id_,           status, checksum_, {},
                std::move(parity_memory_), parity_handle_};
  parity_memory_.clear();
  for (Message& message : messages_) {
    if (!message.is_armed) continue;
    engine_.slots.release(message.slot, turn.now);
    turn.out.commands.emplace_back(ReleaseReceive{message.slot.generation, message.slot.slot});
    ending.slots.push_back(message.slot);
    message.is_armed = false;
  }
  engine_.endings.push_back(std::move(ending));
  engine_.slot_queue.leave(*this);
  if (!engine_.slot_queue.empty()) engine_.schedule.touch(engine_.slot_queue.front());
}

Instant ReceiveTransfer::next_deadline() const {
  if (status_.state != TransferState::active) return Instant::never();
  return std::min({status_.posted + engine_.attributes.give_up, clear_to_send_deadline_,
                   fallback_deadline_, feedback_deadline_});
}

}  // namespace longhaul
