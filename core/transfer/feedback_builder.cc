/// What ReceiveTransfer reports: new gaps first, older ones in rotation, within one packet.

#include <algorithm>
#include <bit>

#include "core/transfer/receive_transfer.h"

namespace longhaul {
namespace {

size_t varint_bytes(uint64_t value) {
  return static_cast<size_t>(std::bit_width(value | 1) + 6) / 7;
}

}  // namespace

bool ReceiveTransfer::wanted(uint64_t packet) const {
  return !data_.packets().test(packet) &&
         !(has_code() && stripes_.decodable(layout_.stripe_of(packet)));
}

uint64_t ReceiveTransfer::next_wanted(uint64_t from, uint64_t end) const {
  uint64_t packet = data_.packets().next_clear(from);
  while (packet < end && !wanted(packet)) packet = data_.packets().next_clear(packet + 1);
  return std::min(packet, end);
}

FeedbackSection ReceiveTransfer::describe(uint64_t begin, uint64_t end,
                                          size_t& budget_bytes) const {
  FeedbackSection section{begin, begin, {}};
  while (section.end < end) {
    const uint64_t first = next_wanted(section.end, end);
    uint64_t last = std::min(first, end);
    if (has_code()) {
      while (last < end && wanted(last)) ++last;
    } else if (first < highest_end_) {
      last = std::min(data_.packets().next_set(first), end);
    } else {
      last = end;  // nothing has arrived up there: a long transfer is not searched for it
    }
    if (first < end) {
      const size_t bytes = varint_bytes(first - section.end) + varint_bytes(last - first);
      if (bytes > budget_bytes) break;
      budget_bytes -= bytes;
      section.missing.push_back({first, last});
    }
    section.end = last;
  }
  return section;
}

Feedback ReceiveTransfer::make_feedback(Instant now) {
  Feedback feedback;
  feedback.id = id_;
  feedback.has_begin = begin_.has_value();
  feedback.repair_requested = repair_requested_;
  feedback.highest_end = highest_end_;
  feedback.received_packets = data_.packets().count() + parity_arrived_.count();
  if (const Echo& latest = echoes_[latest_channel_]; latest.valid) {
    feedback.echoes.push_back({latest_channel_, latest.packet});
    feedback.echo_hold = now - latest.arrival;
  }
  for (size_t channel = 0; channel < echoes_.size(); ++channel) {
    if (channel != latest_channel_ && echoes_[channel].valid)
      feedback.echoes.push_back({static_cast<uint8_t>(channel), echoes_[channel].packet});
  }
  // A code's receiver asks for nothing until it has given up decoding.
  if (has_code() && !repair_requested_) return feedback;

  const uint64_t end = begin_ ? data_.packets().packets() : highest_end_;
  cumulative_ = next_wanted(cumulative_, end);
  feedback.cumulative = cumulative_;
  size_t budget_bytes =
      engine_.capabilities.max_control_bytes - max_feedback_fixed_bytes(echoes_.size());
  const uint64_t older_end = std::max(described_end_, cumulative_);
  if (older_end < end) {
    FeedbackSection section = describe(older_end, end, budget_bytes);
    described_end_ = std::min(section.end, highest_end_);
    if (section.end > section.begin) feedback.sections.push_back(std::move(section));
  }
  if (cumulative_ < older_end) {
    if (rotation_cursor_ >= older_end) rotation_cursor_ = 0;
    FeedbackSection section =
        describe(std::max(rotation_cursor_, cumulative_), older_end, budget_bytes);
    rotation_cursor_ = section.end;
    if (section.end > section.begin) feedback.sections.push_back(std::move(section));
  }
  return feedback;
}

}  // namespace longhaul
