#include "core/reliability/selective_repeat.h"

#include <algorithm>

namespace longhaul {

SelectiveRepeatSender::SelectiveRepeatSender(const PolicySpec& spec, uint64_t packets,
                                             const RoundTrip& round_trip,
                                             const ChannelMap& channels)
    : spec_(spec),
      packets_(packets),
      round_trip_(round_trip),
      channels_(channels),
      judged_(channels.channels),
      acknowledged_(packets) {}

Duration SelectiveRepeatSender::rto() const {
  // Never below the measured RTT, whatever was asked for: everything would be sent several times.
  return std::max(round_trip_.multiple(spec_.rto_millirtt), round_trip_.acknowledged_within());
}

std::optional<PacketRun> SelectiveRepeatSender::next(const SendWindow& window) {
  if (auto repair = next_repair(window)) return repair;
  const uint64_t end = std::min(window.data_end, packets_);
  if (next_new_ >= end) return std::nullopt;
  return PacketRun{MessageRole::data, next_new_, std::min(end - next_new_, window.max_count),
                   false};
}

std::optional<PacketRun> SelectiveRepeatSender::next_repair(const SendWindow& window) {
  PacketRun run{MessageRole::data, 0, 0, true};
  while (!repair_queue_.empty() && run.count < window.max_count) {
    const uint64_t packet = repair_queue_.front();
    const auto repair = repairs_.find(packet);
    if (repair == repairs_.end() || !repair->second.queued) {
      repair_queue_.pop_front();
      continue;
    }
    if (run.count != 0 && packet != run.first + run.count) break;
    if (run.count == 0) run.first = packet;
    ++run.count;
    repair_queue_.pop_front();
  }
  if (run.count == 0) return std::nullopt;
  return run;
}

void SelectiveRepeatSender::on_sent(const PacketRun& run, Instant start, Duration spacing) {
  if (!run.repair) {
    log_.record(run.first, run.count, start, spacing);
    next_new_ = run.first + run.count;
    return;
  }
  for (uint64_t i = 0; i < run.count; ++i) {
    const Instant departure = start + spacing * static_cast<int64_t>(i + 1);
    repairs_[run.first + i] = {false, departure};
    if (spec_.detection == PolicySpec::Detection::rto)
      repair_timers_.emplace_back(departure, run.first + i);
  }
}

void SelectiveRepeatSender::queue_repair(uint64_t packet) {
  repairs_[packet] = Repair{};
  repair_queue_.push_back(packet);
}

void SelectiveRepeatSender::on_feedback(const Feedback& feedback, Instant now) {
  acknowledge(feedback);
  if (spec_.detection == PolicySpec::Detection::nack) detect_by_nack(feedback, now);
}

void SelectiveRepeatSender::acknowledge(const Feedback& feedback) {
  // The peer may lie; only what was sent can have arrived.
  const uint64_t cumulative = std::min(feedback.cumulative, next_new_);
  if (cumulative > cumulative_) {
    acknowledge(cumulative_, cumulative);
    cumulative_ = cumulative;
    timed_out_ = std::max(timed_out_, cumulative);
    log_.forget_below(cumulative);
  }
  for (const FeedbackSection& section : feedback.sections) {
    uint64_t at = section.begin;
    for (const PacketRange& range : section.missing) {
      acknowledge(at, range.begin);
      at = range.end;
    }
    acknowledge(at, section.end);
  }
}

void SelectiveRepeatSender::acknowledge(uint64_t begin, uint64_t end) {
  begin = std::max(begin, cumulative_);
  end = std::min(end, next_new_);
  if (begin >= end) return;
  if (acknowledged_.set(begin, end - begin) == 0) return;
  repairs_.erase(repairs_.lower_bound(begin), repairs_.lower_bound(end));
}

Instant SelectiveRepeatSender::first_departure(uint64_t packet) const {
  // Which transmission of a repaired packet arrived is ambiguous (Karn's algorithm).
  if (repairs_.contains(packet)) return Instant::never();
  return log_.departure(packet);
}

Instant SelectiveRepeatSender::echoed_departure(const Feedback& feedback) const {
  if (feedback.echoes.empty()) return Instant::never();
  const uint64_t packet = feedback.echoes.front().packet;
  const bool known = packet < next_new_ && acknowledged_.test(packet);
  return known ? Instant::never() : first_departure(packet);
}

void SelectiveRepeatSender::judge(const Feedback& feedback, Instant now) {
  const Instant overdue = now - round_trip_.overdue();
  for (Judgement& judgement : judged_) judgement.time = overdue;
  for (const FeedbackEcho& echo : feedback.echoes) {
    // The channel of a packet is the sender's own doing; what the peer says of it does not matter.
    if (echo.packet >= next_new_) continue;
    const Instant departure = first_departure(echo.packet);
    Judgement& judgement = judged_[channels_.channel_of(echo.packet)];
    if (departure != Instant::never()) judgement.time = std::max(judgement.time, departure);
  }
  for (Judgement& judgement : judged_)
    judgement.first_end = std::min(log_.departed_by(judgement.time, cumulative_), next_new_);
}

void SelectiveRepeatSender::detect_by_nack(const Feedback& feedback, Instant now) {
  judge(feedback, now);
  uint64_t judged_end = 0;
  for (const Judgement& judgement : judged_) judged_end = std::max(judged_end, judgement.first_end);
  for (const FeedbackSection& section : feedback.sections) {
    for (const PacketRange& range : section.missing) {
      const uint64_t end = std::min(range.end, judged_end);
      auto repair = repairs_.lower_bound(range.begin);
      for (uint64_t packet = std::max(range.begin, cumulative_); packet < end; ++packet) {
        // A lie, or an older FEEDBACK that was overtaken: it did arrive.
        if (acknowledged_.test(packet)) continue;
        const Judgement& judgement = judged_[channels_.channel_of(packet)];
        if (packet >= judgement.first_end) continue;
        while (repair != repairs_.end() && repair->first < packet) ++repair;
        const bool known = repair != repairs_.end() && repair->first == packet;
        if (!known || (!repair->second.queued && repair->second.departure <= judgement.time))
          queue_repair(packet);
      }
    }
  }
}

void SelectiveRepeatSender::on_timer(Instant now) {
  if (spec_.detection != PolicySpec::Detection::rto) return;
  const Instant expired = now - rto();
  while (!repair_timers_.empty() && repair_timers_.front().first <= expired) {
    const auto [departure, packet] = repair_timers_.front();
    repair_timers_.pop_front();
    const auto repair = repairs_.find(packet);
    if (repair != repairs_.end() && repair->second.departure == departure) queue_repair(packet);
  }
  const uint64_t end = std::min(log_.departed_by(expired, timed_out_), next_new_);
  for (uint64_t p = acknowledged_.next_clear(timed_out_); p < end;
       p = acknowledged_.next_clear(p + 1)) {
    queue_repair(p);
  }
  timed_out_ = std::max(timed_out_, end);
}

Instant SelectiveRepeatSender::next_deadline() const {
  if (spec_.detection != PolicySpec::Detection::rto) return Instant::never();
  Instant deadline = Instant::never();
  if (!repair_timers_.empty()) deadline = repair_timers_.front().first + rto();
  const uint64_t waiting = acknowledged_.next_clear(timed_out_);
  if (waiting < next_new_) deadline = std::min(deadline, log_.departure(waiting) + rto());
  return deadline;
}

}  // namespace longhaul
