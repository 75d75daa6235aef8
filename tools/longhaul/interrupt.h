#pragma once

/// Ctrl-C: the first one asks for an orderly end, the second one ends the process.

#include <atomic>

namespace longhaul {

/// Set by the first SIGINT or SIGTERM while a guard lives.
const std::atomic<bool>& interrupted();

/// Handles SIGINT and SIGTERM from construction to destruction; at most one at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

}  // namespace longhaul
