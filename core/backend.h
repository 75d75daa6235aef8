#pragma once

/// The seam between the core and whatever moves the packets: commands out, events in, as plain
/// data.
///
/// A backend may be a simulator or a NIC; the core cannot tell. Who supplies `now` differs, nothing
/// else. Everything speaks of *runs of packets*: a simulator pays per run, verbs delivers runs of
/// one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/base/time.h"
#include "core/memory/memory.h"

namespace longhaul {

/// Commands ---------------------------------------------------------------------------------------

/// Sends consecutive packets of one message, each as a single-MTU UC RDMA Write with immediate.
/// Packets are full except that the run's last has `last_packet_bytes`. The source must stay
/// unchanged until the transfer that it belongs to has ended.
struct WriteRun {
  uint8_t channel = 0;
  uint8_t generation = 0;
  uint16_t slot = 0;
  uint32_t first_packet = 0;
  uint32_t packet_count = 0;
  uint32_t last_packet_bytes = 0;
  MemoryHandle source{};
  uint64_t source_offset = 0;  ///< payload bytes, of first_packet
  uint32_t user_immediate = 0;
};

/// From now on, packets for (generation, slot) land in `buffer` from `offset` on, up to `bytes`.
struct ArmReceive {
  uint8_t generation = 0;
  uint16_t slot = 0;
  MemoryHandle buffer{};
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t packets = 0;  ///< that the message may have
};

/// From now on, packets for (generation, slot) must not land anywhere.
struct ReleaseReceive {
  uint8_t generation = 0;
  uint16_t slot = 0;
};

/// Sends a control message to the peer, best effort. The bytes are
/// CommandBatch::control_bytes[offset, offset + bytes).
struct SendControl {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

using Command = std::variant<WriteRun, ArmReceive, ReleaseReceive, SendControl>;

/// The commands of one turn, in order. Owned by the driver of the turn, reused from turn to turn.
struct CommandBatch {
  std::vector<Command> commands;
  std::vector<std::byte> control_bytes;

  void clear() {
    commands.clear();
    control_bytes.clear();
  }
};

/// Events -----------------------------------------------------------------------------------------

/// Consecutive packets of one message have landed in its armed buffer, or would have.
struct PacketsArrived {
  uint8_t channel = 0;
  uint8_t generation = 0;
  uint16_t slot = 0;
  uint32_t first_packet = 0;
  uint32_t packet_count = 0;
  /// Fragments of the user's immediate: valid at the places of the packets in the run.
  uint32_t user_immediate = 0;
  Instant first_arrival{};  ///< of the run's first packet
  Instant last_arrival{};   ///< of the run's last packet
};

/// A control message; the bytes are EventBatch::control_bytes[offset, offset + bytes).
struct ControlArrived {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

/// So many more packets of earlier WriteRuns have left the sender's NIC. Says nothing about
/// delivery.
struct WritesCompleted {
  uint8_t channel = 0;
  uint32_t packet_count = 0;
};

/// The backend cannot go on as before.
struct FaultRaised {
  enum class Kind : uint8_t {
    receive_queue_empty,  ///< `count` packets were lost because no receive was posted
    queue_pair_error,     ///< nothing can be sent or received any more
    peer_gone             ///< the same: the peer has closed, or cannot be reached
  };
  Kind kind = Kind::queue_pair_error;
  uint32_t count = 1;
};

using Event = std::variant<PacketsArrived, ControlArrived, WritesCompleted, FaultRaised>;

/// The events of one turn, in order of their occurrence per kind. Owned by the driver of the turn.
struct EventBatch {
  std::vector<Event> events;
  std::vector<std::byte> control_bytes;

  void clear() {
    events.clear();
    control_bytes.clear();
  }
};

/// What the core waits for. It must be given a turn at the deadline, when a control message
/// arrives, and when so many packets have arrived or completed since its last turn. A turn earlier
/// than that changes nothing, so a backend is free to batch less; it must not batch more.
struct Wakeup {
  Instant deadline = Instant::never();
  uint64_t arrivals = ~uint64_t{0};     ///< packets; ~0: do not wake for arrivals
  uint64_t completions = ~uint64_t{0};  ///< packets; ~0: do not wake for completions
};

/// What a backend can do; constant once it is open.
struct Capabilities {
  uint32_t mtu_bytes = 0;
  uint32_t max_run_packets = 1;  ///< longest WriteRun
  uint64_t rate_bps = 0;         ///< injection rate
  uint32_t header_bytes = 0;     ///< wire bytes of a packet beyond its payload
  uint32_t max_control_bytes = 0;
  bool late_write_fence = false;  ///< packets for a released slot cannot touch memory
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const Capabilities& capabilities() const = 0;
  virtual MemoryHandle register_memory(const MemoryRegion& region) = 0;
  /// Nothing that refers to the region may be in flight.
  virtual void deregister_memory(MemoryHandle handle) = 0;

  /// Takes commands in order and returns how many it took (back-pressure: a prefix).
  virtual size_t submit(Instant now, std::span<const Command> commands,
                        std::span<const std::byte> control_bytes) = 0;
  /// Appends everything that has happened up to and including `now`. Never blocks.
  virtual void poll(Instant now, EventBatch& events) = 0;
  /// The earliest instant at which `wakeup` is due, as far as is known now.
  virtual Instant next_event(const Wakeup& wakeup) = 0;
};

}  // namespace longhaul
