#pragma once

/// Two contexts on one emulated link, and waiting without sleeping.

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime/context.h"
#include "core/base/rng.h"
#include "tests/catch.h"

namespace longhaul::test {

/// Of its own, so that tests do not meet.
inline std::string loopback_name(const std::string& keys = "") {
  static std::atomic<int> last = 0;
  return "loopback:test" + std::to_string(++last) + (keys.empty() ? "" : "?" + keys);
}

/// A context without threads.
inline ContextOptions by_hand() {
  ContextOptions options;
  options.progress_thread = false;
  return options;
}

inline std::vector<std::byte> random_bytes(size_t count, uint64_t seed) {
  std::vector<std::byte> bytes(count);
  Rng rng(seed);
  for (size_t at = 0; at < count; at += 8) {
    const uint64_t word = rng.next();
    std::memcpy(bytes.data() + at, &word, std::min<size_t>(8, count - at));
  }
  return bytes;
}

/// Asks until the answer is yes; makes progress in between. False after a long time without one.
template <class Done>
bool wait_until(std::initializer_list<Context*> contexts, Done&& done) {
  using namespace std::chrono;
  const auto give_up = steady_clock::now() + seconds(60);
  while (!done()) {
    if (steady_clock::now() > give_up) return false;
    size_t events = 0;
    for (Context* context : contexts) events += context->progress();
    if (events == 0) std::this_thread::yield();
  }
  return true;
}

/// Memory registered for as long as it is in scope.
class Buffer {
 public:
  Buffer(Context& context, std::vector<std::byte> bytes)
      : context_(context),
        bytes_(std::move(bytes)),
        memory_(context.register_memory(bytes_.data(), bytes_.size())) {}
  ~Buffer() {
    if (memory_) CHECK(context_.deregister_memory(memory_).ok());
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const RegisteredMemory& memory() const { return *memory_; }
  std::unique_ptr<RegisteredMemory>& owned() { return memory_; }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  Context& context_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<RegisteredMemory> memory_;
};

/// Its queue pairs must be given back before buffers go: declare buffers behind the link.
struct Link {
  explicit Link(const std::string& device, const ContextOptions& options = {})
      : a(device, options), b(device, options) {}

  /// Connects a queue pair of `a` with one of `b`.
  void connect(const QueuePairOptions& options = {}) { connect(options, options); }
  void connect(const QueuePairOptions& of_a, const QueuePairOptions& of_b) {
    sender = a.create_queue_pair(of_a);
    receiver = b.create_queue_pair(of_b);
    sender->connect(receiver->connect_info());
    receiver->connect(sender->connect_info());
  }
  template <class Done>
  bool wait(Done&& done) {
    return wait_until({&a, &b}, done);
  }

  Context a;
  Context b;
  std::unique_ptr<RuntimeQueuePair> sender;
  std::unique_ptr<RuntimeQueuePair> receiver;
};

inline uint64_t load_word(const BitmapView& bitmap, size_t word) {
  return load_chunk_word(bitmap.words[word]);
}
inline bool has_chunk(const BitmapView& bitmap, size_t chunk) {
  return (load_word(bitmap, chunk / 64) >> chunk % 64 & 1) != 0;
}
inline size_t count_chunks(const BitmapView& bitmap) {
  size_t count = 0;
  for (size_t chunk = 0; chunk < bitmap.chunks; ++chunk) count += has_chunk(bitmap, chunk);
  return count;
}

}  // namespace longhaul::test
