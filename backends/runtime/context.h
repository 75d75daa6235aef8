#pragma once

/// An open device with memory, queue pairs and threads.

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/runtime/runtime_queue_pair.h"

namespace longhaul {

/// Any thread may call anything. Queue pairs and memory go before the context.
class Context {
 public:
  /// Opens the device and starts the threads. Throws SetupError.
  Context(std::string_view device, const ContextOptions& options = {});
  /// Joins the threads. Nothing of the context may be left; CHECKed.
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// The memory must stay until it is deregistered. Throws SetupError.
  std::unique_ptr<RegisteredMemory> register_memory(void* address, uint64_t length);
  /// Takes the memory when it returns ok; retry while something posted uses it.
  Outcome deregister_memory(std::unique_ptr<RegisteredMemory>& memory);

  /// Throws SetupError.
  std::unique_ptr<RuntimeQueuePair> create_queue_pair(const QueuePairOptions& options = {});

  /// Does what is due on all queue pairs; returns how many events there were. Harmless with a
  /// progress thread. Never blocks.
  size_t progress();

  /// One line about what is really in use.
  const std::string& describe() const { return description_; }
  const ContextOptions& options() const { return options_; }
  /// How many queue pairs and registrations are left.
  uint32_t queue_pairs() const { return queue_pairs_; }
  uint32_t registrations() const { return registrations_; }

 private:
  friend class RuntimeQueuePair;

  /// The queue pairs that a thread serves. Whoever wants to change the list waits until the thread
  /// has been through it.
  struct Served {
    Gate gate;
    std::vector<RuntimeQueuePair*> queue_pairs;
  };

  Device& device() { return *device_; }
  const Clock& clock() const { return *clock_; }
  const std::shared_ptr<Doorbells>& doorbells() const { return doorbells_; }
  void attach(RuntimeQueuePair& queue_pair);
  /// No thread of the context touches it any more when this returns.
  void detach(RuntimeQueuePair& queue_pair);

  size_t progress_all(bool over_and_over);
  Instant next_due();
  size_t serve_all(uint32_t worker);
  Instant next_arrival(uint32_t worker);
  template <class Work, class NextDue>
  void run_thread(Doorbell& doorbell, Work&& work, NextDue&& next_due);

  const ContextOptions options_;
  const Clock* const clock_;
  std::unique_ptr<Device> device_;
  std::string description_;
  std::shared_ptr<Doorbells> doorbells_;
  std::atomic<uint32_t> queue_pairs_ = 0;
  std::atomic<uint32_t> registrations_ = 0;
  Served progressed_;
  std::deque<Served> served_;  ///< by worker
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace longhaul
