#pragma once

/// The seam to hardware: a device, and what its NIC gives one queue pair.
///
/// A *port* is a set of internal unreliable queue pairs, one for each channel and generation, with
/// receives posted, plus a way for control messages. It moves packets and knows nothing of
/// transfers, bitmaps or the core's turns; `PortBackend` stands between.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/runtime/clock.h"
#include "backends/runtime/doorbell.h"
#include "core/backend.h"
#include "core/sdr/connect.h"
#include "core/sdr/receive_completion.h"
#include "core/sdr/slot_table.h"

namespace longhaul {

struct PortAttributes {
  uint8_t channels = 1;
  uint8_t generations = 1;
  uint32_t mtu_bytes = 0;  ///< at most; 0: the device's
  uint64_t rate_bps = 0;   ///< injected at most; 0: the device's
  std::shared_ptr<Doorbells> doorbells;
};

/// Losses that happen below the immediate, and that no event tells of.
struct PortCounters {
  uint64_t fenced_packets = 0;         ///< of released slots: landed nowhere
  uint64_t out_of_bounds_packets = 0;  ///< beyond the armed memory: landed nowhere
  uint64_t wrong_key_packets = 0;      ///< with a memory key that is none of this port
  uint64_t receive_queue_empty = 0;    ///< no receive was posted
};

/// What a NIC gives one queue pair. Each function says which thread may call it: the *turn* thread
/// holds the queue pair's lock; a *channel* thread is the only one that serves its channel. All may
/// run at the same time.
///
/// Whenever there is something new to poll, the port rings: `doorbells->channel(c)` for receive
/// completions, `doorbells->progress()` for the rest; unless `next_arrival` or `next_event` has
/// announced the time.
class Port {
 public:
  virtual ~Port() = default;

  // Set-up, on one thread -------------------------------------------------------------------------

  /// What the peer's port needs to find this one; at most kMaxBackendBytes.
  virtual std::vector<std::byte> connect_bytes() const = 0;
  /// For each generation the key that the peer's writes must carry.
  virtual std::vector<uint64_t> root_keys() const = 0;
  /// Joins the internal queue pairs to the peer's, with packets of `mtu_bytes`; posts all receives.
  /// Throws SetupError.
  virtual void connect(const ConnectInfo& peer, uint32_t mtu_bytes) = 0;
  /// Before `connect` with the largest MTU, then constant.
  virtual const Capabilities& capabilities() const = 0;
  /// Nothing lands any more when this returns, and the peer will hear that this end is gone. The
  /// channel threads have stopped.
  virtual void close() = 0;

  // Turn thread -----------------------------------------------------------------------------------

  /// All packets of the run, each with the peer's root key of the generation, or none: false when
  /// there is no room now.
  virtual bool post_write(Instant now, const WriteRun& run) = 0;
  virtual bool send_control(Instant now, std::span<const std::byte> bytes) = 0;
  /// From now on packets of the slot land in the buffer.
  virtual void arm(const ArmReceive& receive) = 0;
  /// Late-write fence: when this returns, packets of the slot do not land any more. Harmless for a
  /// slot that is not armed.
  virtual void release(SlotId slot) = 0;
  /// Appends control messages, write completions and faults up to `now`.
  virtual void poll(Instant now, EventBatch& events) = 0;
  /// When `poll` will find a control message, a fault or so many completed packets (~0: none are
  /// waited for), as far as is known now.
  virtual Instant next_event(uint64_t completions) = 0;

  // Channel thread --------------------------------------------------------------------------------

  /// Fills in receive completions up to `now`, in order, and returns how many. Their packets are in
  /// memory.
  virtual size_t poll_completions(uint8_t channel, Instant now,
                                  std::span<ReceiveCompletion> completions) = 0;
  /// Posts `count` receives again.
  virtual void repost(uint8_t channel, uint8_t generation, uint32_t count) = 0;
  /// When `poll_completions` will find something, as far as is known now.
  virtual Instant next_arrival(uint8_t channel) = 0;

  // Any thread ------------------------------------------------------------------------------------

  virtual PortCounters counters() const = 0;
};

/// An open device. Any thread may call anything.
class Device {
 public:
  virtual ~Device() = default;

  /// Its kind, as ConnectInfo::backend has it: "loopback", "verbs".
  virtual std::string kind() const = 0;
  /// For people: name and what it was opened with.
  virtual std::string describe() const = 0;
  /// With the largest MTU and the full rate.
  virtual Capabilities capabilities() const = 0;

  /// The region's address is not null unless it is empty. Throws SetupError.
  virtual MemoryHandle register_memory(const MemoryRegion& region) = 0;
  virtual void deregister_memory(MemoryHandle handle) = 0;
  /// What the handle names; an empty region when it names nothing.
  virtual MemoryRegion region(MemoryHandle handle) const = 0;

  /// Throws SetupError. The port must not outlive the device.
  virtual std::unique_ptr<Port> open_port(const PortAttributes& attributes) = 0;
};

/// Opens a device by its name; sdr.h says which there are. Throws SetupError, for an unknown device
/// with the list of those that this build has.
std::unique_ptr<Device> open_device(std::string_view name);

}  // namespace longhaul
