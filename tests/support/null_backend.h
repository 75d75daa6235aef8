#pragma once

/// A backend that takes every command and moves nothing: for the engine alone.

#include "core/backend.h"

namespace longhaul::test {

class NullBackend : public Backend {
 public:
  explicit NullBackend(const Capabilities& capabilities) : capabilities_(capabilities) {}

  const Capabilities& capabilities() const override { return capabilities_; }
  MemoryHandle register_memory(const MemoryRegion& /*region*/) override {
    return static_cast<MemoryHandle>(next_++);
  }
  void deregister_memory(MemoryHandle /*handle*/) override {}
  size_t submit(Instant /*now*/, std::span<const Command> commands,
                std::span<const std::byte> /*control_bytes*/) override {
    return commands.size();
  }
  void poll(Instant /*now*/, EventBatch& /*events*/) override {}
  Instant next_event(const Wakeup& wakeup) override { return wakeup.deadline; }

 private:
  Capabilities capabilities_;
  uint32_t next_ = 0;
};

}  // namespace longhaul::test
