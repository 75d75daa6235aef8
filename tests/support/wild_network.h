#pragma once

/// A network that does everything an IP network may do: packets and control messages are lost,
/// duplicated, delayed, overtaken and cut short, each by itself, until a given instant; after that
/// it behaves.

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "core/base/rng.h"
#include "core/transfer/queue_pair.h"

namespace longhaul::test {

struct WildSpec {
  double data_loss = 0;
  double control_loss = 0;
  double duplication = 0;
  double control_truncation = 0;
  Duration propagation = Duration::milliseconds(1);
  Duration jitter{};    ///< each packet is late by up to this
  Instant calm_from{};  ///< no faults from here on
  uint32_t mtu_bytes = 1024;
  uint64_t rate_bps = 10'000'000'000;
  bool late_write_fence = true;
};

class WildHost : public Backend {
 public:
  WildHost(const WildSpec& spec, Rng rng)
      : spec_(spec), rng_(rng), capabilities_{spec.mtu_bytes, 8,
                                              spec.rate_bps,  102,
                                              spec.mtu_bytes, spec.late_write_fence} {}

  void connect(WildHost& peer) { peer_ = &peer; }

  const Capabilities& capabilities() const override { return capabilities_; }
  MemoryHandle register_memory(const MemoryRegion& region) override {
    regions_.push_back(region);
    return static_cast<MemoryHandle>(regions_.size() - 1);
  }
  void deregister_memory(MemoryHandle handle) override {
    regions_[static_cast<size_t>(handle)] = {};
  }

  size_t submit(Instant now, std::span<const Command> commands,
                std::span<const std::byte> bytes) override {
    for (const Command& command : commands) {
      if (const auto* write = std::get_if<WriteRun>(&command)) {
        send(now, *write);
      } else if (const auto* control = std::get_if<SendControl>(&command)) {
        const auto message = bytes.subspan(control->offset, control->bytes);
        for (int copy = copies(now, spec_.control_loss); copy > 0; --copy) {
          const size_t length = now < spec_.calm_from && happens(spec_.control_truncation)
                                    ? rng_.below(message.size())
                                    : message.size();
          const auto kept = message.first(length);
          peer_->controls_.emplace(arrival(now), std::vector<std::byte>(kept.begin(), kept.end()));
        }
      } else if (const auto* arm = std::get_if<ArmReceive>(&command)) {
        armed_[{arm->generation, arm->slot}] = *arm;
      } else if (const auto* release = std::get_if<ReleaseReceive>(&command)) {
        if (spec_.late_write_fence) armed_.erase({release->generation, release->slot});
      }
    }
    return commands.size();
  }

  void poll(Instant now, EventBatch& events) override {
    for (; !completions_.empty() && completions_.front().first <= now; completions_.pop_front())
      events.events.emplace_back(WritesCompleted{completions_.front().second, 1});
    for (; !controls_.empty() && controls_.begin()->first <= now;
         controls_.erase(controls_.begin())) {
      const auto& message = controls_.begin()->second;
      events.events.emplace_back(ControlArrived{static_cast<uint32_t>(events.control_bytes.size()),
                                                static_cast<uint32_t>(message.size())});
      events.control_bytes.insert(events.control_bytes.end(), message.begin(), message.end());
    }
    for (; !packets_.empty() && packets_.begin()->first <= now; packets_.erase(packets_.begin())) {
      const auto& [when, flight] = *packets_.begin();
      const WriteRun& packet = flight.write;
      land(flight);
      events.events.emplace_back(PacketsArrived{packet.channel, packet.generation, packet.slot,
                                                packet.first_packet, 1, packet.user_immediate, when,
                                                when});
    }
  }

  Instant next_event(const Wakeup& wakeup) override {
    Instant next = wakeup.deadline;
    if (!completions_.empty()) next = std::min(next, completions_.front().first);
    if (!controls_.empty()) next = std::min(next, controls_.begin()->first);
    if (!packets_.empty()) next = std::min(next, packets_.begin()->first);
    return next;
  }

 private:
  struct Flight {
    WriteRun write;  ///< of one packet
    std::vector<std::byte> payload;
  };

  bool happens(double probability) { return rng_.open_unit() < probability; }
  int copies(Instant now, double loss) {
    if (now >= spec_.calm_from) return 1;
    if (happens(loss)) return 0;
    return happens(spec_.duplication) ? 2 : 1;
  }
  Instant arrival(Instant now) {
    const Instant regular = now + spec_.propagation;
    if (now >= spec_.calm_from || spec_.jitter.ps == 0) return regular;
    return regular +
           Duration{static_cast<int64_t>(rng_.below(static_cast<uint64_t>(spec_.jitter.ps)))};
  }

  void send(Instant now, const WriteRun& run) {
    wire_free_ = std::max(wire_free_, now);
    for (uint32_t i = 0; i < run.packet_count; ++i) {
      WriteRun packet = run;
      packet.first_packet += i;
      packet.packet_count = 1;
      packet.source_offset += uint64_t{i} * spec_.mtu_bytes;
      if (i + 1 != run.packet_count) packet.last_packet_bytes = spec_.mtu_bytes;
      wire_free_ += wire_time(packet.last_packet_bytes + 102, spec_.rate_bps);
      completions_.emplace_back(wire_free_, run.channel);
      const int sent = copies(now, spec_.data_loss);
      if (sent == 0) continue;
      const std::byte* source =
          regions_[static_cast<size_t>(packet.source)].at(packet.source_offset);
      for (int copy = 0; copy < sent; ++copy) {
        peer_->packets_.emplace(
            arrival(wire_free_),
            Flight{packet, std::vector<std::byte>(source, source + packet.last_packet_bytes)});
      }
    }
  }

  void land(const Flight& flight) {
    const WriteRun& packet = flight.write;
    const auto armed = armed_.find({packet.generation, packet.slot});
    if (armed == armed_.end()) return;
    const uint64_t offset = uint64_t{packet.first_packet} * spec_.mtu_bytes;
    if (offset + packet.last_packet_bytes > armed->second.bytes) return;
    const MemoryRegion& buffer = regions_[static_cast<size_t>(armed->second.buffer)];
    if (buffer.address == nullptr) return;
    std::memcpy(buffer.at(armed->second.offset + offset), flight.payload.data(),
                flight.payload.size());
  }

  WildSpec spec_;
  Rng rng_;
  Capabilities capabilities_;
  WildHost* peer_ = nullptr;
  std::vector<MemoryRegion> regions_;
  std::map<std::pair<uint8_t, uint16_t>, ArmReceive> armed_;
  Instant wire_free_{};
  std::deque<std::pair<Instant, uint8_t>> completions_;
  std::multimap<Instant, std::vector<std::byte>> controls_;
  std::multimap<Instant, Flight> packets_;
};

/// Two queue pairs across such a network.
class WildPair {
 public:
  WildPair(const WildSpec& spec, const QueuePairAttributes& attributes, uint64_t seed)
      : sender_host(spec, Rng(seed).fork(1)),
        receiver_host(spec, Rng(seed).fork(2)),
        sender(attributes, sender_host),
        receiver(attributes, receiver_host) {
    sender_host.connect(receiver_host);
    receiver_host.connect(sender_host);
  }

  /// Runs until `done` or until nothing is due before `limit`; returns the time reached.
  template <class Done>
  Instant run(Instant limit, Done&& done) {
    while (!done()) {
      const Instant a = sender_host.next_event(sender.next_wakeup());
      const Instant b = receiver_host.next_event(receiver.next_wakeup());
      if (std::min(a, b) > limit) break;
      now = std::min(a, b);
      if (a <= b) {
        drive(now, sender, sender_host, events, sender_commands);
      } else {
        drive(now, receiver, receiver_host, events, receiver_commands);
      }
    }
    return now;
  }

  WildHost sender_host;
  WildHost receiver_host;
  QueuePair sender;
  QueuePair receiver;
  Instant now{};
  EventBatch events;
  CommandBatch sender_commands;
  CommandBatch receiver_commands;
};

}  // namespace longhaul::test
