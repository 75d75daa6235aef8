#pragma once

/// A NIC's end of the emulated link.
///
/// Payload is copied when it is posted; a packet leaves when all before it have left, at the port's
/// rate; it arrives after the delay, unless it is lost. It lands when its time has come and its
/// channel is polled.

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "backends/runtime/loopback/loopback_device.h"
#include "core/base/rng.h"

namespace longhaul {

class LoopbackPort final : public Port {
 public:
  LoopbackPort(LoopbackDevice& device, std::shared_ptr<LoopbackHub> hub,
               const PortAttributes& attributes);
  ~LoopbackPort() override { close(); }
  LoopbackPort(const LoopbackPort&) = delete;
  LoopbackPort& operator=(const LoopbackPort&) = delete;

  std::vector<std::byte> connect_bytes() const override;
  std::vector<uint64_t> root_keys() const override { return inbox_->keys; }
  void connect(const ConnectInfo& peer, uint32_t mtu_bytes) override;
  const Capabilities& capabilities() const override { return capabilities_; }
  void close() override;

  bool post_write(Instant now, const WriteRun& run) override;
  bool send_control(Instant now, std::span<const std::byte> bytes) override;
  void arm(const ArmReceive& receive) override;
  void release(SlotId slot) override;
  void poll(Instant now, EventBatch& events) override;
  Instant next_event(uint64_t completions) override;

  size_t poll_completions(uint8_t channel, Instant now,
                          std::span<ReceiveCompletion> completions) override;
  void repost(uint8_t channel, uint8_t generation, uint32_t count) override;
  Instant next_arrival(uint8_t channel) override;

  PortCounters counters() const override;

 private:
  /// A write that has not completed: the wire is done with its last packet at `when`.
  struct Departure {
    Instant when;
    uint8_t channel = 0;
    uint32_t packets = 0;
  };
  /// What a slot of a generation's root key leads to.
  struct Mapping {
    std::byte* address = nullptr;  ///< null: nowhere
    uint64_t bytes = 0;
  };
  /// Landing holds a slot's lock as a reader, so that many channels can land at once.
  struct alignas(64) SlotLock {
    std::shared_mutex mutex;
  };
  /// Its channel thread's own, except the atomics.
  struct Channel {
    std::optional<LoopbackRun> current;  ///< its first packet has arrived
    uint32_t next_packet = 0;            ///< of `current`
    std::deque<ReceiveCompletion> completions;
    std::array<std::atomic<uint32_t>, kMaxGenerations> posted{};
    std::atomic<uint64_t> fenced = 0;
    std::atomic<uint64_t> out_of_bounds = 0;
    std::atomic<uint64_t> wrong_key = 0;
    std::atomic<uint64_t> queue_empty = 0;
  };

  bool is_lost(double share) { return share > 0 && rng_.open_unit() < share; }
  SlotLock& lock_of(size_t index) { return slot_locks_[index % slot_locks_.size()]; }
  void arrive(Channel& channel, const LoopbackRun& flight, uint32_t packet);
  bool land(Channel& channel, const LoopbackRun& flight, uint32_t packet, size_t generation);

  LoopbackDevice& device_;
  std::shared_ptr<LoopbackHub> hub_;
  PortAttributes attributes_;
  Capabilities capabilities_;
  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<Inbox> peer_;
  Rng rng_;

  // Turn thread.
  Instant free_at_{};  ///< when the wire has sent everything
  std::deque<Departure> departures_;
  std::array<uint32_t, kMaxChannels> queued_{};  ///< packets of each channel that wait to leave
  uint64_t queue_empty_told_ = 0;
  bool peer_gone_told_ = false;

  std::vector<Mapping> mappings_;  ///< by generation and slot, each under its lock
  std::array<SlotLock, 64> slot_locks_;
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace longhaul
