#pragma once

/// Two queue pairs that record themselves, across a network that loses, doubles and reorders.

#include <cstring>
#include <memory>

#include "core/transfer/recording.h"
#include "sim/payload.h"
#include "tests/support/wild_network.h"

namespace longhaul::test {

/// Takes a few commands at a time; what it leaves is due a microsecond later.
class StingyBackend final : public Backend {
 public:
  StingyBackend(Backend& backend, size_t most) : backend_(backend), most_(most) {}

  const Capabilities& capabilities() const override { return backend_.capabilities(); }
  MemoryHandle register_memory(const MemoryRegion& region) override {
    return backend_.register_memory(region);
  }
  void deregister_memory(MemoryHandle handle) override { backend_.deregister_memory(handle); }
  size_t submit(Instant now, std::span<const Command> commands,
                std::span<const std::byte> control_bytes) override {
    const size_t taken =
        backend_.submit(now, commands.first(std::min(most_, commands.size())), control_bytes);
    again_ = taken < commands.size() ? now + Duration::microseconds(1) : Instant::never();
    return taken;
  }
  void poll(Instant now, EventBatch& events) override { backend_.poll(now, events); }
  Instant next_event(const Wakeup& wakeup) override {
    return std::min(again_, backend_.next_event(wakeup));
  }

 private:
  Backend& backend_;
  size_t most_;
  Instant again_ = Instant::never();
};

struct RecordedHost {
  RecordedHost(const WildSpec& spec, const QueuePairAttributes& attributes, Rng rng, size_t most)
      : host(spec, rng), backend(host, most), queue_pair(attributes, backend, recording) {}

  MemorySlice memory(size_t bytes, uint64_t payload_seed) {
    auto& stored = memories.emplace_back(bytes + 1);
    if (payload_seed != 0) sim::fill_payload({stored.data(), bytes}, payload_seed);
    const MemoryRegion region{stored.data(), bytes, host.capabilities().mtu_bytes,
                              host.capabilities().mtu_bytes};
    return {host.register_memory(region), region, 0, bytes};
  }
  Instant next() { return backend.next_event(queue_pair.next_wakeup()); }
  void drive(Instant now) { queue_pair.drive(now, events, commands); }

  std::vector<std::byte> recording;
  std::deque<std::vector<std::byte>> memories;
  WildHost host;
  StingyBackend backend;
  RecordedQueuePair queue_pair;
  EventBatch events;
  CommandBatch commands;
};

class RecordedPair {
 public:
  RecordedPair(const WildSpec& spec, const QueuePairAttributes& attributes, uint64_t seed,
               size_t most_commands = ~size_t{0})
      : sender(spec, attributes, Rng(seed).fork(1), most_commands),
        receiver(spec, attributes, Rng(seed).fork(2), most_commands) {
    sender.host.connect(receiver.host);
    receiver.host.connect(sender.host);
  }

  template <class Done>
  void run(Instant limit, Done&& done) {
    while (!done()) {
      const Instant a = sender.next();
      const Instant b = receiver.next();
      if (std::min(a, b) > limit) break;
      now = std::min(a, b);
      (a <= b ? sender : receiver).drive(now);
    }
  }

  RecordedHost sender;
  RecordedHost receiver;
  Instant now{};
};

}  // namespace longhaul::test
