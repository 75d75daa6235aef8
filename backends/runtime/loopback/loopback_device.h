#pragma once

/// An emulated link within this process: a rate, a delay, losses, and NICs with the late-write
/// fence at its ends. For tests, for trying things out, and as the pattern of a device.

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/runtime/device.h"
#include "backends/runtime/loopback/inbox.h"
#include "backends/runtime/loopback/loopback_spec.h"

namespace longhaul {

/// All devices of one NAME: their ports find each other here, by address.
class LoopbackHub {
 public:
  explicit LoopbackHub(LoopbackSpec its_spec);

  /// The hub of that name, made when there is none. Throws SetupError when the one that is there
  /// was made with other keys.
  static std::shared_ptr<LoopbackHub> join(const LoopbackSpec& spec, std::string_view device);

  uint64_t next_address();
  void add(const std::shared_ptr<Inbox>& inbox);
  /// Null when no such port is open.
  std::shared_ptr<Inbox> find(uint64_t address) const;

  const LoopbackSpec spec;
  const uint64_t id;  ///< random: tells hubs of other processes from this one

 private:
  mutable std::mutex mutex_;
  uint64_t last_address_ = 0;
  std::map<uint64_t, std::weak_ptr<Inbox>> inboxes_;
};

class LoopbackDevice final : public Device {
 public:
  explicit LoopbackDevice(std::shared_ptr<LoopbackHub> hub) : hub_(std::move(hub)) {}

  std::string kind() const override { return "loopback"; }
  std::string describe() const override;
  Capabilities capabilities() const override;
  MemoryHandle register_memory(const MemoryRegion& region) override;
  void deregister_memory(MemoryHandle handle) override;
  MemoryRegion region(MemoryHandle handle) const override;
  std::unique_ptr<Port> open_port(const PortAttributes& attributes) override;

 private:
  std::shared_ptr<LoopbackHub> hub_;
  mutable std::mutex mutex_;
  std::vector<MemoryRegion> regions_;  ///< by handle
  std::vector<uint32_t> free_;         ///< handles that name nothing
};

/// Throws SetupError.
std::unique_ptr<Device> open_loopback(std::string_view name);

}  // namespace longhaul
