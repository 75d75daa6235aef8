#include "tools/longhaul/runner.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "core/base/check.h"

namespace longhaul {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One run: the numbering of its samples, and what its threads share.
class Run {
 public:
  Run(const Scenario& scenario, const RunOptions& options, const SimulateFunction& simulate)
      : scenario_(scenario),
        options_(options),
        simulate_(simulate),
        policies_(scenario.policies.size()),
        messages_(scenario.seeds.size() * scenario.messages_per_seed),
        wanted_(scenario.points.size() * policies_ * messages_),
        samples_(wanted_),
        done_(wanted_, 0) {
    // Small enough to keep the threads level at the end, large enough to keep them off one counter.
    batch_ = std::clamp<uint64_t>(wanted_ / (uint64_t{options.jobs} * 64), 1, 64);
  }

  void execute() {
    const Clock::time_point start = Clock::now();
    running_ = options_.jobs;
    std::vector<std::jthread> threads;
    threads.reserve(options_.jobs);
    for (unsigned i = 0; i < options_.jobs; ++i) threads.emplace_back([this] { work(); });
    wait(start);
    threads.clear();
    seconds_ = seconds_since(start);
    if (failure_) std::rethrow_exception(failure_);
  }

  Results collect() {
    Results results;
    results.scenario = scenario_;
    results.samples_wanted = wanted_;
    results.wall_seconds = seconds_;
    for (size_t point = 0; point < scenario_.points.size(); ++point) {
      for (size_t policy = 0; policy < policies_; ++policy) {
        results.series.push_back(collect_series(point, policy));
      }
    }
    results.complete = finished_ == wanted_;
    return results;
  }

 private:
  /// Samples are numbered point by point, then message by message, then policy by policy.
  uint64_t number(size_t point, uint64_t message, size_t policy) const {
    return (point * messages_ + message) * policies_ + policy;
  }

  void work() {
    try {
      while (!stopped()) {
        const uint64_t first = next_.fetch_add(batch_);
        if (first >= wanted_) break;
        const uint64_t last = std::min(first + batch_, wanted_);
        for (uint64_t i = first; i < last && !stopped(); ++i) run_one(i);
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) idle_.notify_one();
  }

  void run_one(uint64_t i) {
    const size_t policy = i % policies_;
    const uint64_t message = i / policies_ % messages_;
    const Point& point = scenario_.points[i / policies_ / messages_];
    samples_[i] = simulate_(point.path, message_spec(point, scenario_.policies[policy]),
                            scenario_.seeds[message / scenario_.messages_per_seed],
                            message % scenario_.messages_per_seed);
    done_[i] = 1;
    finished_.fetch_add(1, std::memory_order_relaxed);
  }

  bool stopped() const {
    return failed_.load(std::memory_order_relaxed) ||
           (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed));
  }

  void wait(Clock::time_point start) {
    std::unique_lock lock(mutex_);
    while (
        !idle_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; })) {
      if (!options_.progress) continue;
      lock.unlock();
      options_.progress(finished_.load(std::memory_order_relaxed), wanted_, seconds_since(start));
      lock.lock();
    }
  }

  Series collect_series(size_t point, size_t policy) {
    Series series;
    series.point = point;
    series.policy = policy;
    for (uint64_t message = 0; message < messages_; ++message) {
      const uint64_t i = number(point, message, policy);
      if (done_[i] == 0) continue;
      series.samples.push_back(std::move(samples_[i]));
      series.seeds.push_back(scenario_.seeds[message / scenario_.messages_per_seed]);
      series.messages.push_back(message % scenario_.messages_per_seed);
    }
    return series;
  }

  const Scenario& scenario_;
  const RunOptions& options_;
  const SimulateFunction& simulate_;
  const size_t policies_;
  const uint64_t messages_;  ///< of one policy at one point
  const uint64_t wanted_;
  uint64_t batch_ = 1;
  std::vector<sim::MessageSample> samples_;  ///< each written by one thread, once
  std::vector<uint8_t> done_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> finished_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable idle_;
  unsigned running_ = 0;        // under mutex_
  std::exception_ptr failure_;  // under mutex_
  double seconds_ = 0;
};

}  // namespace

sim::MessageSpec message_spec(const Point& point, const PolicySpec& policy) {
  sim::MessageSpec message;
  message.bytes = point.message_bytes;
  message.policy = policy;
  message.payload = point.payload;
  message.chunk_packets = point.chunk_packets;
  message.give_up = point.give_up;
  return message;
}

Results run_scenario(const Scenario& scenario, const RunOptions& options,
                     const SimulateFunction& simulate) {
  LONGHAUL_CHECK(options.jobs > 0);
  Run run(scenario, options, simulate);
  run.execute();
  return run.collect();
}

}  // namespace longhaul
