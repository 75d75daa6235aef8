#pragma once

/// What is on its way to one loopback port. The peer's port puts in, this port's threads take out.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/runtime/doorbell.h"
#include "core/backend.h"
#include "core/wire/immediate.h"

namespace longhaul {

/// A run of packets with the payload of all of them.
struct LoopbackRun {
  static constexpr uint32_t kMaxPackets = 64;

  WriteRun run;
  uint64_t key = 0;   ///< root key of the receiver that the packets carry
  uint64_t lost = 0;  ///< bit i: packet i does not arrive
  Instant first_arrival{};
  Instant last_arrival{};  ///< of the last packet, which may be shorter
  Duration packet_time{};
  std::unique_ptr<std::byte[]> payload;

  Instant arrival(uint32_t packet) const {
    return packet + 1 == run.packet_count ? last_arrival
                                          : first_arrival + packet_time * int64_t{packet};
  }
};

/// In order of arrival; from one thread to one other.
template <class Item>
class ArrivalQueue {
 public:
  /// True when nothing was on its way before: whoever waits does not know when to come.
  bool push(Item item, Instant arrival) {
    const std::lock_guard lock(mutex_);
    const bool was_empty = items_.empty();
    items_.push_back({arrival, std::move(item)});
    if (was_empty) earliest_.store(arrival.ps, std::memory_order_release);
    return was_empty;
  }
  std::optional<Item> pop(Instant now) {
    if (earliest() > now) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (items_.empty() || items_.front().arrival > now) return std::nullopt;
    Item item = std::move(items_.front().item);
    items_.pop_front();
    const Instant next = items_.empty() ? Instant::never() : items_.front().arrival;
    earliest_.store(next.ps, std::memory_order_release);
    return item;
  }
  /// Instant::never() when nothing is on its way.
  Instant earliest() const { return {earliest_.load(std::memory_order_acquire)}; }

 private:
  struct Entry {
    Instant arrival;
    Item item;
  };
  std::mutex mutex_;
  std::deque<Entry> items_;
  std::atomic<int64_t> earliest_ = Instant::never().ps;
};

class Inbox {
 public:
  using Control = std::vector<std::byte>;

  Inbox(uint64_t own_address, std::vector<uint64_t> root_keys, std::shared_ptr<Doorbells> bells)
      : address(own_address), keys(std::move(root_keys)), doorbells(std::move(bells)) {}

  void push(LoopbackRun run) {
    const uint8_t channel = run.run.channel;
    const Instant arrival = run.first_arrival;
    if (channels[channel].push(std::move(run), arrival)) doorbells->channel(channel).ring();
  }
  void push(Control control, Instant arrival) {
    if (controls.push(std::move(control), arrival)) doorbells->progress().ring();
  }
  /// The sender closes, which is heard after all that it has sent.
  void push_goodbye(Instant arrival) {
    if (goodbye.push(true, arrival)) doorbells->progress().ring();
  }

  const uint64_t address;
  const std::vector<uint64_t> keys;  ///< by generation
  const std::shared_ptr<Doorbells> doorbells;

  std::array<ArrivalQueue<LoopbackRun>, kMaxChannels> channels;
  ArrivalQueue<Control> controls;
  ArrivalQueue<bool> goodbye;
  std::atomic<bool> closed = false;  ///< the port is gone
  std::atomic<uint64_t> sender = 0;  ///< address of the port that sends here; 0: none yet
};

}  // namespace longhaul
