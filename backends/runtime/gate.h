#pragma once

/// A mutex between a thread that takes it over and over and others that take it now and then.

#include <atomic>
#include <mutex>
#include <thread>

namespace longhaul {

/// std::mutex is not fair: who unlocks and locks again at once may keep everybody else out for
/// long. Here the busy thread lets others go first.
class Gate {
 public:
  /// Now and then.
  void lock() {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  void unlock() { mutex_.unlock(); }

  /// Over and over; released by `unlock`.
  void lock_last() {
    while (waiting_.load(std::memory_order_relaxed) != 0) std::this_thread::yield();
    mutex_.lock();
  }
  bool try_lock() { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
  std::atomic<uint32_t> waiting_ = 0;
};

/// Holds a gate for the thread that takes it over and over.
class LastInGate {
 public:
  explicit LastInGate(Gate& gate) : gate_(gate) { gate_.lock_last(); }
  ~LastInGate() { gate_.unlock(); }
  LastInGate(const LastInGate&) = delete;
  LastInGate& operator=(const LastInGate&) = delete;

 private:
  Gate& gate_;
};

}  // namespace longhaul
