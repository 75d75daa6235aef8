#pragma once

/// How a thread of the runtime sleeps, and how it is woken.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>

#include "backends/runtime/clock.h"

namespace longhaul {

/// Wakes the threads that wait at it. Ringing costs one atomic addition while nobody waits.
class Doorbell {
 public:
  /// Any thread. What was written before is seen by whoever wakes.
  void ring() {
    rings_.fetch_add(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) == 0) return;
    // Whoever has announced that it waits holds the mutex until it does.
    { const std::lock_guard lock(mutex_); }
    woken_.notify_all();
  }

  /// To be taken before looking for work: what comes after that ends the wait.
  uint64_t rings() const { return rings_.load(std::memory_order_seq_cst); }

  /// Returns at `deadline` of the steady clock, or once it has rung since `rings` was taken.
  void wait(uint64_t rings, Instant deadline) {
    std::unique_lock lock(mutex_);
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    const auto rung = [&] { return rings_.load(std::memory_order_seq_cst) != rings; };
    woken_.wait_until(lock, SteadyClock::at(deadline), rung);
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
  }

 private:
  std::atomic<uint64_t> rings_ = 0;
  std::atomic<uint32_t> waiting_ = 0;
  std::mutex mutex_;
  std::condition_variable woken_;
};

/// The doorbells of a context: one for progress, one for each worker.
class Doorbells {
 public:
  explicit Doorbells(uint32_t workers) : workers_(workers) {}

  Doorbell& progress() { return progress_; }
  Doorbell& worker(size_t worker) { return workers_[worker]; }
  uint32_t workers() const { return static_cast<uint32_t>(workers_.size()); }
  /// Of whoever takes completions off the channel.
  Doorbell& channel(uint32_t channel) {
    return workers_.empty() ? progress_ : workers_[channel % workers_.size()];
  }
  void ring_all() {
    progress_.ring();
    for (Doorbell& bell : workers_) bell.ring();
  }

 private:
  Doorbell progress_;
  std::deque<Doorbell> workers_;
};

}  // namespace longhaul
