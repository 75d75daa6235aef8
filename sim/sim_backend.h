#pragma once

/// A host's NIC in the simulator: commands become transmissions on its outgoing link, and what
/// comes in on the other lands in registered memory.

#include <vector>

#include "core/backend.h"
#include "core/sdr/slot_table.h"
#include "sim/link.h"

namespace longhaul::sim {

class SimBackend : public Backend {
 public:
  /// Both links outlive the backend. `peer_memory` is where incoming packets are read from: the
  /// peer's backend, set by `connect`.
  SimBackend(const Capabilities& capabilities, Link& outgoing, Link& incoming);
  void connect(const SimBackend& peer) { peer_ = &peer; }

  const Capabilities& capabilities() const override { return capabilities_; }
  MemoryHandle register_memory(const MemoryRegion& region) override;
  void deregister_memory(MemoryHandle handle) override;
  size_t submit(Instant now, std::span<const Command> commands,
                std::span<const std::byte> control_bytes) override;
  void poll(Instant now, EventBatch& events) override;
  Instant next_event(const Wakeup& wakeup) override;

  /// Hash over everything that this host was told and when.
  uint64_t digest() const { return digest_; }

 private:
  struct Armed {
    bool armed = false;
    ArmReceive receive;
  };

  void land(const WriteRun& run);
  const MemoryRegion* region(MemoryHandle handle) const;

  Capabilities capabilities_;
  Link& outgoing_;
  Link& incoming_;
  const SimBackend* peer_ = nullptr;
  std::vector<MemoryRegion> regions_;  ///< by handle; a null address: deregistered
  std::vector<Armed> armed_;           ///< by generation and slot
  uint64_t digest_ = 0;
};

}  // namespace longhaul::sim
