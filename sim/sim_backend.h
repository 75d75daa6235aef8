#pragma once

/// A host's NIC in the simulator: commands become transmissions on its outgoing link, and what
/// comes in on the other lands in registered memory.
///
/// As on hardware, a packet carries a memory key of the receiver, one root key per generation, and
/// slot i of it maps to whatever is armed there. With the late-write fence a released slot maps to
/// nothing; without it, late packets go on landing where the slot last pointed to.
///
/// Payload is read from the sender's memory when it lands, not when it leaves: a source that
/// changes while packets are in flight lands changed.

#include <vector>

#include "core/backend.h"
#include "core/sdr/slot_table.h"
#include "sim/link.h"

namespace longhaul::sim {

/// What became of packets that carried a memory key.
struct MemoryCounters {
  uint64_t landed_packets = 0;         ///< in memory that was armed for them
  uint64_t late_landed_packets = 0;    ///< in memory that had been released: there was no fence
  uint64_t fenced_packets = 0;         ///< nowhere: their slot led to nothing
  uint64_t out_of_bounds_packets = 0;  ///< nowhere: beyond what was armed
  uint64_t wrong_key_packets = 0;      ///< nowhere: no key of this host
};

class SimBackend : public Backend {
 public:
  /// Both links outlive the backend. `peer_memory` is where incoming packets are read from: the
  /// peer's backend, set by `connect`.
  /// `key_seed`: of the root keys, one for each of kMaxGenerations.
  SimBackend(const Capabilities& capabilities, Link& outgoing, Link& incoming, uint64_t key_seed);
  void connect(const SimBackend& peer) { peer_ = &peer; }

  const Capabilities& capabilities() const override { return capabilities_; }
  MemoryHandle register_memory(const MemoryRegion& region) override;
  void deregister_memory(MemoryHandle handle) override;
  size_t submit(Instant now, std::span<const Command> commands,
                std::span<const std::byte> control_bytes) override;
  void poll(Instant now, EventBatch& events) override;
  Instant next_event(const Wakeup& wakeup) override;

  const MemoryCounters& memory_counters() const { return memory_counters_; }
  /// Hash over everything that this host was told and when.
  uint64_t digest() const { return digest_; }

 private:
  struct Mapping {
    bool armed = false;
    bool mapped = false;  ///< the key leads to memory
    ArmReceive receive;
  };

  void land(const InFlightRun& flight);
  const MemoryRegion* region(MemoryHandle handle) const;

  Capabilities capabilities_;
  Link& outgoing_;
  Link& incoming_;
  const SimBackend* peer_ = nullptr;
  std::vector<MemoryRegion> regions_;  ///< by handle; a null address: deregistered
  std::vector<uint64_t> root_keys_;    ///< by generation
  std::vector<Mapping> mappings_;      ///< by generation and slot
  MemoryCounters memory_counters_;
  uint64_t digest_ = 0;
};

}  // namespace longhaul::sim
