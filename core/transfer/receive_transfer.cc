#include "core/transfer/receive_transfer.h"

#include <algorithm>

#include "core/transfer/send_transfer.h"

namespace longhaul {
namespace {

/// COMPLETE is sent again after 1, 2, 4, ... feedback periods, so that losing one costs little; a
/// PROBE gets another at any later time.
constexpr int kCompleteRepeats = 4;
/// Near the end, with nothing missing, COMPLETE says all that FEEDBACK would, and must not queue
/// behind it.
constexpr uint64_t kNeedlessFeedbackPackets = 64;
/// Feedback periods between two clear-to-sends for the same message.
constexpr int kClearToSendPeriods = 16;

}  // namespace

ReceiveTransfer::ReceiveTransfer(uint32_t id, Instant now, MemoryHandle buffer,
                                 const MemoryRegion& region, uint64_t capacity_bytes,
                                 const QueuePairAttributes& attributes, Backend& backend,
                                 SlotTable& slots, const RoundTrip& round_trip)
    : id_(id),
      buffer_(buffer),
      region_(region),
      capacity_bytes_(capacity_bytes),
      attributes_(attributes),
      backend_(backend),
      slots_(slots),
      round_trip_(round_trip),
      data_(packets_of(capacity_bytes), attributes.chunk_packets) {
  status_.posted = now;
  clear_to_send_deadline_ = now;
  if (has_code() && capacity_bytes > 0) {
    layout_ = StripeLayout::make(packets_of(capacity_bytes), attributes.policy.data_count,
                                 attributes.policy.parity_count);
    parity_arrived_.reset(layout_.parity_packets());
    parity_memory_.resize(layout_.parity_packets() * region.stored_packet_bytes);
    parity_handle_ = backend_.register_memory({parity_memory_.data(),
                                               layout_.parity_packets() * region.packet_bytes,
                                               region.packet_bytes, region.stored_packet_bytes});
    stripes_ = StripeTracker(layout_);
  }
  plan_messages();
}

ReceiveTransfer::~ReceiveTransfer() {
  if (!parity_memory_.empty()) backend_.deregister_memory(parity_handle_);
}

uint64_t ReceiveTransfer::packets_of(uint64_t bytes) const {
  return (bytes + region_.packet_bytes - 1) / region_.packet_bytes;
}

void ReceiveTransfer::plan_messages() {
  const auto plan = [&](MessageRole role, uint64_t packets) {
    for (uint64_t first = 0; first < packets; first += kMaxMessagePackets) {
      const auto segment = static_cast<uint32_t>(first / kMaxMessagePackets);
      const auto count =
          static_cast<uint32_t>(std::min<uint64_t>(kMaxMessagePackets, packets - first));
      messages_.push_back({{id_, role, segment, count}, {}, false, false});
    }
  };
  plan(MessageRole::data, std::max<uint64_t>(1, packets_of(capacity_bytes_)));
  parity_messages_from_ = messages_.size();
  plan(MessageRole::parity, layout_.parity_packets());
}

void ReceiveTransfer::arm_messages(CommandBatch& out) {
  arming_ = false;
  for (Message& message : messages_) {
    if (message.is_armed) continue;
    const auto slot = slots_.arm(message.armed);
    if (!slot) {
      arming_ = true;
      return;
    }
    message.slot = *slot;
    message.is_armed = true;
    const bool is_data = message.armed.role == MessageRole::data;
    const uint64_t offset =
        uint64_t{message.armed.segment} * kMaxMessagePackets * region_.packet_bytes;
    const uint64_t bytes = uint64_t{message.armed.packets} * region_.packet_bytes;
    out.commands.emplace_back(
        ArmReceive{slot->generation, slot->slot, is_data ? buffer_ : parity_handle_, offset,
                   is_data ? std::min(bytes, capacity_bytes_ - offset) : bytes});
  }
}

void ReceiveTransfer::release_messages(CommandBatch& out) {
  for (Message& message : messages_) {
    if (!message.is_armed) continue;
    slots_.release(message.slot);
    message.is_armed = false;
    out.commands.emplace_back(ReleaseReceive{message.slot.generation, message.slot.slot});
  }
}

void ReceiveTransfer::clear_to_send(Instant now, WireClock& wire, QueuePairCounters& counters,
                                    CommandBatch& out) {
  bool waiting = arming_;
  for (const Message& message : messages_) {
    if (!message.is_armed || message.seen) continue;
    const uint64_t armed_bytes =
        capacity_bytes_ == 0 ? 0 : uint64_t{message.armed.packets} * region_.packet_bytes;
    send_control(now, attributes_.connection,
                 ClearToSend{id_, message.armed.role, message.armed.segment,
                             message.slot.generation, message.slot.slot, armed_bytes, 0},
                 wire, counters, out);
    waiting = true;
  }
  clear_to_send_deadline_ =
      waiting ? now + round_trip_.feedback_period() * kClearToSendPeriods : Instant::never();
}

void ReceiveTransfer::observe(Instant now) {
  if (observed_) return;
  observed_ = true;
  first_observed_ = now;
  feedback_deadline_ = now + round_trip_.feedback_period();
}

void ReceiveTransfer::on_begin(const Begin& message, Instant now, QueuePairCounters& counters) {
  if (status_.state != TransferState::active || begin_) return;
  StripeLayout layout;
  if (has_code()) {
    layout = StripeLayout::make(packets_of(message.bytes), attributes_.policy.data_count,
                                attributes_.policy.parity_count);
  }
  const bool same_code = message.data_count == layout.data_rows &&
                         message.parity_count == layout.parity_rows &&
                         message.stripes == layout.stripes;
  if (message.bytes > capacity_bytes_ || !same_code) {
    ++counters.refused_controls;
    return;
  }
  observe(now);
  begin_ = message;
  if (const uint64_t packets = packets_of(message.bytes); packets != data_.packets().packets()) {
    // Shorter than the buffer: what arrived already is counted again, for the true size.
    const PacketBitmap early_data = data_.packets();
    PacketBitmap early_parity(layout.parity_packets());
    std::swap(early_parity, parity_arrived_);
    data_ = ReceiveBitmap(packets, attributes_.chunk_packets);
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
  if (has_code() && message.bytes > 0) {
    const uint64_t packets = data_.packets().packets() + layout_.parity_packets();
    fallback_deadline_ =
        first_observed_ +
        wire_time(backend_.capabilities().mtu_bytes + backend_.capabilities().header_bytes,
                  backend_.capabilities().rate_bps) *
            static_cast<int64_t>(packets) +
        round_trip_.smoothed() * attributes_.policy.fallback_millirtt / 1000;
  }
}

void ReceiveTransfer::on_probe(Instant now) {
  observe(now);
  feedback_now_ = true;
}

void ReceiveTransfer::on_packets(const ArmedMessage& message, const PacketsArrived& event,
                                 Instant now, QueuePairCounters& counters) {
  observe(now);
  const uint64_t first = uint64_t{message.segment} * kMaxMessagePackets + event.first_packet;
  const bool is_data = message.role == MessageRole::data;
  const uint64_t limit = is_data ? data_.packets().packets() : parity_arrived_.packets();
  // Bits beyond the message are a peer's error, and count for nothing.
  if (first >= limit || event.packet_count > limit - first) return;
  Message& mine = messages_[message.segment + (is_data ? 0 : parity_messages_from_)];
  mine.seen = true;
  take(message.role, first, event.packet_count, counters);
  if (is_data) highest_end_ = std::max(highest_end_, first + event.packet_count);
  if (!has_echo_ || event.last_arrival >= echo_arrival_) {
    has_echo_ = true;
    echo_role_ = message.role;
    echo_packet_ = first + event.packet_count - 1;
    echo_arrival_ = event.last_arrival;
  }
}

void ReceiveTransfer::take(MessageRole role, uint64_t first, uint64_t count,
                           QueuePairCounters& counters) {
  const auto fresh = [&](uint64_t at, uint64_t run) {
    if (has_code()) stripes_.arrived(at, run);
  };
  const uint64_t added = role == MessageRole::data ? data_.arrived(first, count, fresh)
                                                   : parity_arrived_.set(first, count, fresh);
  counters.duplicate_packets += count - added;
}

bool ReceiveTransfer::complete() const {
  if (!begin_) return false;
  return has_code() ? stripes_.needed() == 0 : data_.packets().full();
}

uint64_t ReceiveTransfer::arrivals_wanted() const {
  if (status_.state != TransferState::active) return ~uint64_t{0};
  if (!observed_) return 1;
  if (!begin_) return ~uint64_t{0};
  const PacketBitmap& packets = data_.packets();
  return std::max<uint64_t>(1,
                            has_code() ? stripes_.needed() : packets.packets() - packets.count());
}

void ReceiveTransfer::turn(Instant now, WireClock& wire, QueuePairCounters& counters,
                           CommandBatch& out) {
  if (status_.state == TransferState::active) {
    if (complete()) {
      finish(now, counters, out);
    } else if (now >= status_.posted + attributes_.give_up) {
      fail("not complete within the give-up time", now, out);
    }
  }
  if (status_.state != TransferState::active) return answer(now, wire, counters, out);
  if (arming_) arm_messages(out);
  if (now >= clear_to_send_deadline_) clear_to_send(now, wire, counters, out);
  if (now >= fallback_deadline_) {
    fallback_deadline_ = Instant::never();
    repair_requested_ = true;
    feedback_now_ = true;
    ++counters.fallbacks;
  }
  if (!observed_) return;
  const bool tick = now >= feedback_deadline_;
  if (feedback_now_ || (tick && !feedback_needless())) {
    send_control(now, attributes_.connection, make_feedback(now), wire, counters, out);
  }
  feedback_now_ = false;
  if (tick) {
    received_at_last_tick_ = data_.packets().count();
    feedback_deadline_ = now + round_trip_.feedback_period();
  }
}

bool ReceiveTransfer::feedback_needless() const {
  const PacketBitmap& packets = data_.packets();
  return begin_ && packets.count() == highest_end_ && packets.count() > received_at_last_tick_ &&
         packets.packets() - packets.count() <= kNeedlessFeedbackPackets;
}

void ReceiveTransfer::finish(Instant now, QueuePairCounters& counters, CommandBatch& out) {
  const uint64_t stored = region_.stored_bytes(begin_->bytes);
  if (has_code() && !data_.packets().full()) {
    const TransferCode code(layout_, region_.stored_packet_bytes);
    counters.decoded_packets +=
        code.decode({region_.address, stored}, data_.packets(),
                    {parity_memory_.data(), code.parity_stored_bytes()}, parity_arrived_);
    data_.publish_all();
  }
  checksum_ = memory_checksum({region_.address, stored});
  status_.state = TransferState::delivered;
  status_.finished = now;
  complete_deadline_ = now;
  release_messages(out);
}

void ReceiveTransfer::fail(const char* reason, Instant now, CommandBatch& out) {
  status_.state = TransferState::failed;
  status_.reason = reason;
  status_.finished = now;
  complete_deadline_ = now;
  release_messages(out);
}

void ReceiveTransfer::answer(Instant now, WireClock& wire, QueuePairCounters& counters,
                             CommandBatch& out) {
  if (!feedback_now_ && now < complete_deadline_) return;
  feedback_now_ = false;
  const auto status = status_.state == TransferState::delivered ? CompletionStatus::delivered
                                                                : CompletionStatus::failed;
  send_control(now, attributes_.connection, Complete{id_, status, checksum_}, wire, counters, out);
  if (now < complete_deadline_) return;
  complete_deadline_ = completes_sent_ < kCompleteRepeats
                           ? now + round_trip_.feedback_period() * (int64_t{1} << completes_sent_)
                           : Instant::never();
  ++completes_sent_;
}

Instant ReceiveTransfer::next_deadline() const {
  if (status_.state != TransferState::active) return complete_deadline_;
  return std::min({status_.posted + attributes_.give_up, clear_to_send_deadline_,
                   fallback_deadline_, feedback_deadline_});
}

}  // namespace longhaul
