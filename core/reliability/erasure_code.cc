#include "core/reliability/erasure_code.h"

#include <algorithm>

namespace longhaul {

ErasureCodeSender::ErasureCodeSender(const PolicySpec& spec, uint64_t data_packets,
                                     uint64_t parity_packets, const RoundTrip& round_trip,
                                     const ChannelMap& channels)
    : data_(spec, data_packets, round_trip, channels), parity_packets_(parity_packets) {}

std::optional<PacketRun> ErasureCodeSender::next(const SendWindow& window) {
  if (auto run = data_.next(window)) return run;
  if (!data_.all_sent_once() || falling_back_) return std::nullopt;
  const uint64_t end = std::min(window.parity_end, parity_packets_);
  if (next_parity_ >= end) return std::nullopt;
  return PacketRun{MessageRole::parity, next_parity_,
                   std::min(end - next_parity_, window.max_count), false};
}

void ErasureCodeSender::on_sent(const PacketRun& run, Instant start, Duration spacing) {
  if (run.role == MessageRole::data) return data_.on_sent(run, start, spacing);
  next_parity_ = run.first + run.count;
}

void ErasureCodeSender::on_feedback(const Feedback& feedback, Instant now) {
  falling_back_ |= feedback.repair_requested;
  if (feedback.repair_requested) data_.on_feedback(feedback, now);
}

void ErasureCodeSender::on_timer(Instant now) {
  if (falling_back_) data_.on_timer(now);
}

Instant ErasureCodeSender::next_deadline() const {
  return falling_back_ ? data_.next_deadline() : Instant::never();
}

StripeTracker::StripeTracker(const StripeLayout& layout)
    : deficit_(layout.stripes), needed_(layout.data_packets) {
  for (uint64_t s = 0; s < layout.stripes; ++s) {
    deficit_[s] = static_cast<uint8_t>(layout.data_in_stripe(s));
  }
}

void StripeTracker::arrived(uint64_t first, uint64_t count) {
  const uint64_t stripes = deficit_.size();
  for (uint64_t stripe = first % stripes; count > 0; stripe = 0) {
    const uint64_t end = std::min(stripes, stripe + count);
    count -= end - stripe;
    uint64_t useful = 0;
    for (; stripe < end; ++stripe) {
      const uint8_t wanted = deficit_[stripe] != 0;
      deficit_[stripe] = static_cast<uint8_t>(deficit_[stripe] - wanted);
      useful += wanted;
    }
    needed_ -= useful;
  }
}

std::unique_ptr<SenderPolicy> make_sender_policy(const PolicySpec& spec, uint64_t data_packets,
                                                 uint64_t parity_packets,
                                                 const RoundTrip& round_trip,
                                                 const ChannelMap& channels) {
  if (spec.kind == PolicySpec::Kind::erasure_code) {
    return std::make_unique<ErasureCodeSender>(spec, data_packets, parity_packets, round_trip,
                                               channels);
  }
  return std::make_unique<SelectiveRepeatSender>(spec, data_packets, round_trip, channels);
}

}  // namespace longhaul
