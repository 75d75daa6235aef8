#include "sim/link.h"

#include <algorithm>

namespace longhaul::sim {

Link::Link(const LinkSpec& spec, Rng rng)
    : spec_(spec),
      wire_rate_bps_(std::min(spec.rate_bps, spec.nic_rate_bps)),
      packet_time_(wire_time(spec.mtu_bytes + spec.header_bytes, wire_rate_bps_)),
      nic_packet_time_(wire_time(spec.mtu_bytes + spec.header_bytes, spec.nic_rate_bps)),
      loss_(make_loss_process(spec.loss, rng)) {
  if (spec.loss.model == LossModel::scripted)
    control_loss_ = make_scripted_control_process(spec.loss);
}

Duration Link::time_on_wire(uint64_t payload_bytes) const {
  return wire_time(payload_bytes + spec_.header_bytes, wire_rate_bps_);
}

void Link::send_data(Instant now, const WriteRun& run) {
  const Instant start = std::max(now, nic_free_);
  const Duration last = wire_time(run.last_packet_bytes + spec_.header_bytes, spec_.nic_rate_bps);
  nic_free_ = start + nic_packet_time_ * (run.packet_count - 1) + last;
  const Instant first_left = run.packet_count == 1 ? nic_free_ : start + nic_packet_time_;
  departures_.push_back({run.packet_count, first_left, nic_packet_time_, nic_free_});
  if (spec_.nic_rate_bps > spec_.rate_bps) {
    send_queued(run, start);
  } else {
    send_uncongested(run, start);
  }
}

void Link::send_uncongested(const WriteRun& run, Instant start) {
  wire_free_ = nic_free_;
  counters_.wire_bytes += uint64_t{run.packet_count - 1} * (spec_.mtu_bytes + spec_.header_bytes) +
                          run.last_packet_bytes + spec_.header_bytes;
  const uint64_t base = control_loss_ ? data_sent_ : static_cast<uint64_t>(slot_of(start));
  data_sent_ += run.packet_count;
  uint32_t done = 0;
  while (done < run.packet_count) {
    const uint64_t lost = loss_->next_lost(base + done);
    const auto survivors =
        static_cast<uint32_t>(std::min<uint64_t>(run.packet_count - done, lost - base - done));
    if (survivors > 0) deliver(run, done, survivors, start + packet_time_ * done);
    done += survivors;
    if (done == run.packet_count) break;
    ++counters_.lost_packets;
    ++done;
  }
}

void Link::send_queued(const WriteRun& run, Instant start) {
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
    const uint64_t draw = control_loss_ ? data_sent_ : static_cast<uint64_t>(slot_of(begin));
    ++data_sent_;
    if (loss_->next_lost(draw) == draw) {
      ++counters_.lost_packets;
    } else {
      deliver(run, i, 1, begin);
    }
  }
}

bool Link::queue_accepts(Instant start, uint64_t bytes) {
  if (wire_free_ <= start) return true;
  const auto waiting_ps = static_cast<unsigned __int128>((wire_free_ - start).ps);
  const auto waiting_bytes =
      static_cast<uint64_t>(waiting_ps * wire_rate_bps_ / 8 / 1'000'000'000'000u);
  return waiting_bytes + bytes <= spec_.queue_bytes;
}

void Link::deliver(const WriteRun& run, uint32_t first, uint32_t count, Instant begin) {
  InFlightRun flight{run, begin + packet_time_ + spec_.propagation, packet_time_, {}};
  flight.run.first_packet += first;
  flight.run.packet_count = count;
  flight.run.source_offset += uint64_t{first} * spec_.mtu_bytes;
  if (first + count == run.packet_count) {
    flight.last_early = packet_time_ - time_on_wire(run.last_packet_bytes);
  } else {
    flight.run.last_packet_bytes = spec_.mtu_bytes;
  }
  // Runs that continue each other become one, so that nothing depends on how they were cut.
  if (!runs_.empty()) {
    InFlightRun& last = runs_.back();
    const WriteRun& a = last.run;
    const WriteRun& b = flight.run;
    if (a.slot == b.slot && a.generation == b.generation && a.channel == b.channel &&
        a.source == b.source && a.first_packet + a.packet_count == b.first_packet &&
        last.last_early.ps == 0 &&
        last.first_arrival + packet_time_ * a.packet_count == flight.first_arrival) {
      last.run.packet_count += count;
      last.run.last_packet_bytes = b.last_packet_bytes;
      last.last_early = flight.last_early;
      return;
    }
  }
  runs_.push_back(flight);
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

uint64_t Link::take_completions(Instant now) {
  uint64_t count = 0;
  while (!departures_.empty() && departures_.front().first <= now) {
    Departure& run = departures_.front();
    if (run.last <= now) {
      count += run.packets;
      departures_.pop_front();
      continue;
    }
    const auto left =
        std::min(run.packets - 1, static_cast<uint64_t>((now - run.first) / run.spacing) + 1);
    count += left;
    run.packets -= left;
    run.first = run.packets == 1 ? run.last : run.first + run.spacing * static_cast<int64_t>(left);
    break;
  }
  return count;
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
  for (const InFlightRun& run : runs_) {
    if (run.first_arrival - run.last_early > limit) break;
    if (count <= run.run.packet_count) return run.arrival(static_cast<uint32_t>(count - 1));
    count -= run.run.packet_count;
  }
  return Instant::never();
}

Instant Link::next_control_arrival() const {
  return controls_.empty() ? Instant::never() : controls_.front().arrival;
}

bool Link::take_arrival(Instant now, InFlightRun& arrived) {
  if (runs_.empty() || runs_.front().arrival(0) > now) return false;
  InFlightRun& front = runs_.front();
  const uint32_t count = front.run.packet_count;
  arrived = front;
  if (front.arrival(count - 1) <= now) {
    runs_.pop_front();
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
