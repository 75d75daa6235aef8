#pragma once

/// Memory of a simulated host's application, kept from message to message: fresh pages cost more
/// than the simulation of a short message.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace longhaul::sim {

class HostMemory {
 public:
  /// At least `bytes` bytes, at least one, of unspecified content; valid until the next call.
  std::byte* reserve(size_t bytes) {
    if (bytes == 0) bytes = 1;
    if (bytes > size_) {
      memory_.reset();
      size_ = (bytes + kHugePage - 1) / kHugePage * kHugePage;
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kHugePage, size_)));
      if (memory_ == nullptr) throw std::bad_alloc();
#ifdef __linux__
      // A message's memory is walked end to end several times: a wish, for speed, that may be
      // refused.
      madvise(memory_.get(), size_, MADV_HUGEPAGE);
#endif
    }
    return memory_.get();
  }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t size_ = 0;
};

}  // namespace longhaul::sim
