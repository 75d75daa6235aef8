#include "backends/runtime/context.h"

#include <algorithm>

#include "core/base/error.h"

namespace longhaul {
namespace {

/// How long a thread goes on looking for work before it waits to be woken, which takes as long.
constexpr Duration kPatience = Duration::microseconds(20);

}  // namespace

Context::Context(std::string_view device, const ContextOptions& options)
    : options_(options),
      clock_(options.clock != nullptr ? options.clock : &SteadyClock::instance()) {
  check_options(options);
  device_ = open_device(device);
  doorbells_ = std::make_shared<Doorbells>(options.workers);
  served_.resize(options.workers);
  const Capabilities capabilities = device_->capabilities();
  description_ = device_->describe() + ", MTU " + std::to_string(capabilities.mtu_bytes) +
                 " bytes, " + std::to_string(options.channels) + " channels, " +
                 std::to_string(options.workers) + " workers, progress " +
                 (options.progress_thread ? "by a thread" : "by the user") +
                 ", late-write fence: " + (capabilities.late_write_fence ? "yes" : "no");
  for (uint32_t worker = 0; worker < options.workers; ++worker) {
    threads_.emplace_back([this, worker] {
      run_thread(
          doorbells_->worker(worker), [&] { return serve_all(worker); },
          [&] { return next_arrival(worker); });
    });
  }
  if (options.progress_thread) {
    threads_.emplace_back([this] {
      run_thread(
          doorbells_->progress(), [&] { return progress_all(true); }, [&] { return next_due(); });
    });
  }
}

Context::~Context() {
  stopping_ = true;
  doorbells_->ring_all();
  for (std::thread& thread : threads_) thread.join();
  LONGHAUL_CHECK_OP(queue_pairs_.load(), ==, 0u);
  LONGHAUL_CHECK_OP(registrations_.load(), ==, 0u);
}

// Memory and queue pairs -------------------------------------------------------------------------

std::unique_ptr<RegisteredMemory> Context::register_memory(void* address, uint64_t length) {
  if (address == nullptr && length != 0)
    throw SetupError("memory registration", "the address is null, but the length is not 0");
  const uint32_t mtu_bytes = device_->capabilities().mtu_bytes;
  const MemoryRegion region{static_cast<std::byte*>(address), length, mtu_bytes, mtu_bytes};
  auto memory = std::make_unique<RegisteredMemory>();
  *memory = {this, device_->register_memory(region), region};
  ++registrations_;
  return memory;
}

Outcome Context::deregister_memory(std::unique_ptr<RegisteredMemory>& memory) {
  LONGHAUL_CHECK(memory != nullptr && memory->context == this);
  {
    const std::lock_guard lock(progressed_.gate);
    for (RuntimeQueuePair* queue_pair : progressed_.queue_pairs) {
      if (queue_pair->uses(*memory))
        return Outcome::retry("a transfer or message that has not ended uses the memory");
    }
  }
  device_->deregister_memory(memory->handle);
  memory.reset();
  --registrations_;
  return {};
}

std::unique_ptr<RuntimeQueuePair> Context::create_queue_pair(const QueuePairOptions& options) {
  return std::make_unique<RuntimeQueuePair>(*this, options);
}

void Context::attach(RuntimeQueuePair& queue_pair) {
  for (Served& worker : served_) {
    const std::lock_guard lock(worker.gate);
    worker.queue_pairs.push_back(&queue_pair);
  }
  {
    const std::lock_guard lock(progressed_.gate);
    progressed_.queue_pairs.push_back(&queue_pair);
  }
  doorbells_->ring_all();
}

void Context::detach(RuntimeQueuePair& queue_pair) {
  {
    const std::lock_guard lock(progressed_.gate);
    std::erase(progressed_.queue_pairs, &queue_pair);
  }
  for (Served& worker : served_) {
    const std::lock_guard lock(worker.gate);
    std::erase(worker.queue_pairs, &queue_pair);
  }
}

// Threads ----------------------------------------------------------------------------------------

size_t Context::progress() {
  // Somebody else who makes progress does it for us.
  if (!progressed_.gate.try_lock()) return 0;
  size_t events = 0;
  for (RuntimeQueuePair* queue_pair : progressed_.queue_pairs)
    events += queue_pair->progress(false);
  progressed_.gate.unlock();
  return events;
}

size_t Context::progress_all(bool over_and_over) {
  const LastInGate lock(progressed_.gate);
  size_t done = 0;
  for (RuntimeQueuePair* queue_pair : progressed_.queue_pairs)
    done += queue_pair->progress(over_and_over);
  return done;
}

Instant Context::next_due() {
  const LastInGate lock(progressed_.gate);
  Instant next = Instant::never();
  for (RuntimeQueuePair* queue_pair : progressed_.queue_pairs)
    next = std::min(next, queue_pair->next_due());
  return next;
}

size_t Context::serve_all(uint32_t worker) {
  const LastInGate lock(served_[worker].gate);
  size_t done = 0;
  for (RuntimeQueuePair* queue_pair : served_[worker].queue_pairs) {
    for (uint32_t channel = worker; channel < options_.channels; channel += options_.workers)
      done += queue_pair->serve(static_cast<uint8_t>(channel), clock_->now());
  }
  return done;
}

Instant Context::next_arrival(uint32_t worker) {
  const LastInGate lock(served_[worker].gate);
  Instant next = Instant::never();
  for (RuntimeQueuePair* queue_pair : served_[worker].queue_pairs) {
    for (uint32_t channel = worker; channel < options_.channels; channel += options_.workers)
      next = std::min(next, queue_pair->next_arrival(static_cast<uint8_t>(channel)));
  }
  return next;
}

/// Works while there is work, looks for more for a moment, and then waits until something is due or
/// the doorbell rings.
template <class Work, class NextDue>
void Context::run_thread(Doorbell& doorbell, Work&& work, NextDue&& next_due) {
  Instant busy_until = clock_->now();
  while (!stopping_) {
    const uint64_t rings = doorbell.rings();
    if (work() != 0) {
      busy_until = clock_->now() + kPatience;
      continue;
    }
    const Instant due = next_due();
    const Instant now = clock_->now();
    if (due <= now || stopping_) continue;
    if (now < busy_until) {
      std::this_thread::yield();
      continue;
    }
    doorbell.wait(rings, due);
  }
}

}  // namespace longhaul
