#include "backends/runtime/loopback/loopback_device.h"

#include <random>

#include "backends/runtime/loopback/loopback_port.h"
#include "core/base/error.h"
#include "core/base/quantity_text.h"

namespace longhaul {
namespace {

/// RoCE v2 over Ethernet: preamble and gap 20, Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16,
/// immediate 4, ICRC 4, FCS 4.
constexpr uint32_t kHeaderBytes = 102;

struct Hubs {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<LoopbackHub>, std::less<>> by_name;
};

Hubs& hubs() {
  static Hubs all;
  return all;
}

uint64_t random_id() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

// Hub --------------------------------------------------------------------------------------------

LoopbackHub::LoopbackHub(LoopbackSpec its_spec) : spec(std::move(its_spec)), id(random_id()) {}

std::shared_ptr<LoopbackHub> LoopbackHub::join(const LoopbackSpec& spec, std::string_view device) {
  const std::lock_guard lock(hubs().mutex);
  std::weak_ptr<LoopbackHub>& known = hubs().by_name[spec.name];
  std::shared_ptr<LoopbackHub> hub = known.lock();
  if (!hub) {
    hub = std::make_shared<LoopbackHub>(spec);
    known = hub;
  } else if (hub->spec != spec) {
    throw SetupError(std::string(device),
                     "the loopback \"" + spec.name + "\" is open already, with other keys",
                     "Give the same keys at both ends, or take another NAME");
  }
  return hub;
}

uint64_t LoopbackHub::next_address() {
  const std::lock_guard lock(mutex_);
  return ++last_address_;
}

void LoopbackHub::add(const std::shared_ptr<Inbox>& inbox) {
  const std::lock_guard lock(mutex_);
  std::erase_if(inboxes_, [](const auto& entry) { return entry.second.expired(); });
  inboxes_.emplace(inbox->address, inbox);
}

std::shared_ptr<Inbox> LoopbackHub::find(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto found = inboxes_.find(address);
  if (found == inboxes_.end()) return nullptr;
  auto inbox = found->second.lock();
  return inbox && !inbox->closed ? inbox : nullptr;
}

// Device -----------------------------------------------------------------------------------------

std::unique_ptr<Device> open_loopback(std::string_view name) {
  return std::make_unique<LoopbackDevice>(LoopbackHub::join(parse_loopback(name), name));
}

std::string LoopbackDevice::describe() const {
  const LoopbackSpec& spec = hub_->spec;
  std::string text = "loopback";
  if (!spec.name.empty()) text += ":" + spec.name;
  return text + ", " + rate_text(spec.rate_bps) + ", " + time_text(spec.delay) + " one way";
}

Capabilities LoopbackDevice::capabilities() const {
  Capabilities capabilities;
  capabilities.mtu_bytes = hub_->spec.mtu_bytes;
  capabilities.max_run_packets = LoopbackRun::kMaxPackets;
  capabilities.rate_bps = hub_->spec.rate_bps;
  capabilities.header_bytes = kHeaderBytes;
  capabilities.max_control_bytes = hub_->spec.mtu_bytes;
  capabilities.late_write_fence = true;
  return capabilities;
}

MemoryHandle LoopbackDevice::register_memory(const MemoryRegion& region) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    regions_.push_back(region);
    return static_cast<MemoryHandle>(regions_.size() - 1);
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  regions_[index] = region;
  return static_cast<MemoryHandle>(index);
}

void LoopbackDevice::deregister_memory(MemoryHandle handle) {
  const std::lock_guard lock(mutex_);
  regions_[static_cast<size_t>(handle)] = {};
  free_.push_back(static_cast<uint32_t>(handle));
}

MemoryRegion LoopbackDevice::region(MemoryHandle handle) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(handle);
  return index < regions_.size() ? regions_[index] : MemoryRegion{};
}

std::unique_ptr<Port> LoopbackDevice::open_port(const PortAttributes& attributes) {
  return std::make_unique<LoopbackPort>(*this, hub_, attributes);
}

}  // namespace longhaul
