#include "sim/link.h"

#include <algorithm>

namespace longhaul::sim {
namespace {

/// Labels of forked generators; a changed value changes results with disorder.
enum ForkLabel : uint64_t { kDisorder = 101, kLate = 102, kDuplicate = 103 };

}  // namespace

Link::Link(const LinkSpec& spec, Rng rng)
    : spec_(spec),
      wire_rate_bps_(std::min(spec.rate_bps, spec.nic_rate_bps)),
      packet_time_(wire_time(spec.mtu_bytes + spec.header_bytes, wire_rate_bps_)),
      nic_packet_time_(wire_time(spec.mtu_bytes + spec.header_bytes, spec.nic_rate_bps)),
      loss_(make_loss_process(spec.loss, rng)),
      disorder_rng_(rng.fork(kDisorder)) {
  if (spec.loss.model == LossModel::scripted)
    control_loss_ = make_scripted_control_process(spec.loss);
  if (spec.disorder.late_rate > 0)
    late_ = make_loss_process(LossSpec::bernoulli(spec.disorder.late_rate), rng.fork(kLate));
  if (spec.disorder.duplicate_rate > 0)
    duplicates_ =
        make_loss_process(LossSpec::bernoulli(spec.disorder.duplicate_rate), rng.fork(kDuplicate));
}

Duration Link::time_on_wire(uint64_t payload_bytes) const {
  return wire_time(payload_bytes + spec_.header_bytes, wire_rate_bps_);
}

void Link::send_data(Instant now, const WriteRun& run, uint64_t key) {
  const Instant start = std::max(now, nic_free_);
  const Duration last = wire_time(run.last_packet_bytes + spec_.header_bytes, spec_.nic_rate_bps);
  nic_free_ = start + nic_packet_time_ * (run.packet_count - 1) + last;
  const Instant first_left = run.packet_count == 1 ? nic_free_ : start + nic_packet_time_;
  departures_.push_back({run.channel, run.packet_count, first_left, nic_packet_time_, nic_free_});
  if (run.channel >= flows_.size()) flows_.resize(run.channel + size_t{1});
  const InFlightRun flight{run, key, {}, packet_time_, {}};
  if (spec_.nic_rate_bps > spec_.rate_bps) {
    send_queued(flight, start);
  } else {
    send_uncongested(flight, start);
  }
}

void Link::send_uncongested(const InFlightRun& flight, Instant start) {
  const WriteRun& run = flight.run;
  wire_free_ = nic_free_;
  counters_.wire_bytes += uint64_t{run.packet_count - 1} * (spec_.mtu_bytes + spec_.header_bytes) +
                          run.last_packet_bytes + spec_.header_bytes;
  const uint64_t base = control_loss_ ? data_sent_ : static_cast<uint64_t>(slot_of(start));
  uint32_t done = 0;
  while (done < run.packet_count) {
    const uint64_t lost = loss_->next_lost(base + done);
    const auto survivors =
        static_cast<uint32_t>(std::min<uint64_t>(run.packet_count - done, lost - base - done));
    if (survivors > 0) deliver(flight, done, survivors, start + packet_time_ * done);
    done += survivors;
    if (done == run.packet_count) break;
    ++counters_.lost_packets;
    ++done;
  }
  data_sent_ += run.packet_count;
}

void Link::send_queued(const InFlightRun& flight, Instant start) {
  const WriteRun& run = flight.run;
  for (uint32_t i = 0; i < run.packet_count; ++i) {
    const uint32_t payload = i + 1 == run.packet_count ? run.last_packet_bytes : spec_.mtu_bytes;
    const Instant offered = start + nic_packet_time_ * i;
    if (!queue_accepts(offered, payload + spec_.header_bytes)) {
      ++counters_.queue_drops;
      continue;
    }
    const Instant begin = std::max(offered, wire_free_);
    wire_free_ = begin + time_on_wire(payload);
    counters_.wire_bytes += payload + spec_.header_bytes;
    const uint64_t draw = control_loss_ ? data_sent_ + i : static_cast<uint64_t>(slot_of(begin));
    if (loss_->next_lost(draw) == draw) {
      ++counters_.lost_packets;
    } else {
      deliver(flight, i, 1, begin);
    }
  }
  data_sent_ += run.packet_count;
}

bool Link::queue_accepts(Instant start, uint64_t bytes) {
  if (wire_free_ <= start) return true;
  const auto waiting_ps = static_cast<unsigned __int128>((wire_free_ - start).ps);
  const auto waiting_bytes =
      static_cast<uint64_t>(waiting_ps * wire_rate_bps_ / 8 / 1'000'000'000'000u);
  return waiting_bytes + bytes <= spec_.queue_bytes;
}

InFlightRun Link::part(const InFlightRun& run, uint32_t first, uint32_t count,
                       Instant begin) const {
  InFlightRun flight = run;
  flight.first_arrival = begin + packet_time_ + spec_.propagation;
  if (!spec_.channel_delays.empty())
    flight.first_arrival += spec_.channel_delays[run.run.channel % spec_.channel_delays.size()];
  flight.run.first_packet += first;
  flight.run.packet_count = count;
  flight.run.source_offset += uint64_t{first} * spec_.mtu_bytes;
  if (first + count == run.run.packet_count) {
    flight.last_early = packet_time_ - time_on_wire(run.run.last_packet_bytes);
  } else {
    flight.run.last_packet_bytes = spec_.mtu_bytes;
  }
  return flight;
}

/// Packets [first, first + count) of the run survive.
void Link::deliver(const InFlightRun& run, uint32_t first, uint32_t count, Instant begin) {
  const bool scripted = !spec_.disorder.late_packets.empty();
  if (late_ == nullptr && duplicates_ == nullptr && !scripted)
    return deliver_in_order(part(run, first, count, begin));
  const auto at = [&](uint32_t i) { return begin + packet_time_ * i; };
  uint32_t done = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t number = data_sent_ + first + i;
    const bool late = late_ != nullptr && late_->next_lost(number) == number;
    const bool twice = duplicates_ != nullptr && duplicates_->next_lost(number) == number;
    const auto by = spec_.disorder.late_packets.find(number);
    const bool told = by != spec_.disorder.late_packets.end();
    if (!late && !twice && !told) continue;
    const uint32_t end = late || told ? i : i + 1;
    if (end > done) deliver_in_order(part(run, first + done, end - done, at(done)));
    done = i + 1;
    InFlightRun packet = part(run, first + i, 1, at(i));
    if (told) {
      ++counters_.late_packets;
      packet.first_arrival += by->second;
      strays_.emplace(packet.arrival(0), packet);
    } else {
      ++(late ? counters_.late_packets : counters_.duplicated_packets);
      deliver_late(packet, number);
    }
  }
  if (done < count) deliver_in_order(part(run, first + done, count - done, at(done)));
}

void Link::deliver_late(InFlightRun flight, uint64_t number) {
  const int64_t up_to_ps = std::max<int64_t>(spec_.disorder.late_up_to.ps, 1);
  Rng rng = disorder_rng_.fork(number);
  flight.first_arrival +=
      Duration{static_cast<int64_t>(rng.below(static_cast<uint64_t>(up_to_ps)))};
  strays_.emplace(flight.arrival(0), flight);
}

void Link::deliver_in_order(const InFlightRun& flight) {
  Flow& flow = flows_[flight.run.channel];
  // Runs that continue each other become one, so that nothing depends on how they were cut.
  if (!flow.empty()) {
    InFlightRun& last = flow.back();
    const WriteRun& a = last.run;
    const WriteRun& b = flight.run;
    if (a.slot == b.slot && a.generation == b.generation && a.source == b.source &&
        a.first_packet + a.packet_count == b.first_packet && last.last_early.ps == 0 &&
        last.first_arrival + packet_time_ * a.packet_count == flight.first_arrival) {
      last.run.packet_count += b.packet_count;
      last.run.last_packet_bytes = b.last_packet_bytes;
      last.last_early = flight.last_early;
      return;
    }
  }
  flow.push_back(flight);
}

void Link::send_control(Instant now, std::span<const std::byte> bytes) {
  const Instant offered = std::max(now, nic_free_);
  nic_free_ = offered + wire_time(bytes.size() + spec_.header_bytes, spec_.nic_rate_bps);
  if (!queue_accepts(offered, bytes.size() + spec_.header_bytes)) {
    ++counters_.queue_drops;
    return;
  }
  const Instant begin = std::max(offered, wire_free_);
  wire_free_ = begin + time_on_wire(bytes.size());
  counters_.wire_bytes += bytes.size() + spec_.header_bytes;
  LossProcess& loss = control_loss_ ? *control_loss_ : *loss_;
  const uint64_t draw = control_loss_ ? control_sent_ : static_cast<uint64_t>(slot_of(begin));
  ++control_sent_;
  if (loss.next_lost(draw) == draw) {
    ++counters_.lost_control_packets;
    return;
  }
  controls_.push_back({{bytes.begin(), bytes.end()}, wire_free_ + spec_.propagation});
}

void Link::take_completions(Instant now, std::span<uint32_t> counts) {
  while (!departures_.empty() && departures_.front().first <= now) {
    Departure& run = departures_.front();
    uint32_t& count = counts[run.channel];
    if (run.last <= now) {
      count += static_cast<uint32_t>(run.packets);
      departures_.pop_front();
      continue;
    }
    const auto left =
        std::min(run.packets - 1, static_cast<uint64_t>((now - run.first) / run.spacing) + 1);
    count += static_cast<uint32_t>(left);
    run.packets -= left;
    run.first = run.packets == 1 ? run.last : run.first + run.spacing * static_cast<int64_t>(left);
    break;
  }
}

Instant Link::completion_time(uint64_t count) const {
  for (const Departure& run : departures_) {
    if (count < run.packets) return run.first + run.spacing * static_cast<int64_t>(count - 1);
    if (count == run.packets) return run.last;
    count -= run.packets;
  }
  return Instant::never();
}

Instant Link::arrival_time(uint64_t count, Instant limit) const {
  uint64_t sources = strays_.empty() ? 0 : 1;
  for (const Flow& flow : flows_) sources += flow.empty() ? 0 : 1;
  if (sources == 0) return Instant::never();
  // Before any source has had its share of `count`, all together have had less than `count`.
  const uint64_t share = (count + sources - 1) / sources;
  Instant earliest = Instant::never();
  for (const Flow& flow : flows_) {
    uint64_t left = share;
    for (const InFlightRun& run : flow) {
      if (run.first_arrival - run.last_early > limit) break;
      if (left <= run.run.packet_count) {
        earliest = std::min(earliest, run.arrival(static_cast<uint32_t>(left - 1)));
        break;
      }
      left -= run.run.packet_count;
    }
  }
  if (!strays_.empty()) earliest = std::min(earliest, strays_.begin()->first);
  return earliest;
}

Instant Link::next_control_arrival() const {
  return controls_.empty() ? Instant::never() : controls_.front().arrival;
}

bool Link::take_arrival(Instant now, InFlightRun& arrived) {
  for (Flow& flow : flows_) {
    if (take_from(flow, now, arrived)) return true;
  }
  if (strays_.empty() || strays_.begin()->first > now) return false;
  arrived = strays_.begin()->second;
  strays_.erase(strays_.begin());
  return true;
}

bool Link::take_from(Flow& flow, Instant now, InFlightRun& arrived) {
  if (flow.empty() || flow.front().arrival(0) > now) return false;
  InFlightRun& front = flow.front();
  const uint32_t count = front.run.packet_count;
  arrived = front;
  if (front.arrival(count - 1) <= now) {
    flow.pop_front();
    return true;
  }
  const auto landed =
      std::min(count - 1, static_cast<uint32_t>((now - front.first_arrival) / front.spacing) + 1);
  arrived.run.packet_count = landed;
  arrived.run.last_packet_bytes = spec_.mtu_bytes;
  arrived.last_early = {};
  front.run.first_packet += landed;
  front.run.packet_count -= landed;
  front.run.source_offset += uint64_t{landed} * spec_.mtu_bytes;
  front.first_arrival += front.spacing * landed;
  return true;
}

bool Link::take_control(Instant now, InFlightControl& arrived) {
  if (controls_.empty() || controls_.front().arrival > now) return false;
  arrived = std::move(controls_.front());
  controls_.pop_front();
  return true;
}

}  // namespace longhaul::sim
