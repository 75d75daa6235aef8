#pragma once

/// What the handles of the C interface are, and how its functions answer.

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "backends/runtime/context.h"
#include "core/sdr/sdr.h"

namespace longhaul::c_interface {

/// The handles of one kind. Posting and freeing may happen on several threads.
template <class Handle>
class Handles {
 public:
  Handle* add(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto [place, fresh] = handles_.emplace(std::make_unique<Handle>(handle));
    return place->get();
  }
  void remove(Handle* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(handle);
    if (found != handles_.end()) handles_.erase(found);
  }

 private:
  struct Before {
    using is_transparent = void;
    static const Handle* plain(const std::unique_ptr<Handle>& handle) { return handle.get(); }
    static const Handle* plain(const Handle* handle) { return handle; }
    bool operator()(const auto& a, const auto& b) const {
      return std::less<const Handle*>()(plain(a), plain(b));
    }
  };
  std::mutex mutex_;
  std::set<std::unique_ptr<Handle>, Before> handles_;
};

}  // namespace longhaul::c_interface

struct longhaul_context {
  std::unique_ptr<longhaul::Context> context;
};

struct longhaul_mr {
  std::unique_ptr<longhaul::RegisteredMemory> memory;
  longhaul::Context* context = nullptr;
};

/// A handle belongs to its queue pair and goes with it.
struct longhaul_transfer {
  longhaul_qp* qp;
  longhaul::TransferId id;
};
struct longhaul_send {
  longhaul_qp* qp;
  uint64_t id;
};
struct longhaul_recv {
  longhaul_qp* qp;
  uint64_t id;
};

struct longhaul_qp {
  std::unique_ptr<longhaul::RuntimeQueuePair> queue_pair;
  longhaul::c_interface::Handles<longhaul_transfer> transfers;
  longhaul::c_interface::Handles<longhaul_send> sends;
  longhaul::c_interface::Handles<longhaul_recv> recvs;
};

namespace longhaul::c_interface {

/// Keeps the text for longhaul_error.
longhaul_status say(longhaul_status status, std::string_view text) noexcept;

inline longhaul_status answer(const Outcome& outcome) {
  if (outcome.ok()) return LONGHAUL_OK;
  std::string_view text = outcome.reason;
  if (!outcome.detail.empty()) text = outcome.detail;
  return say(outcome.status == Status::retry ? LONGHAUL_RETRY : LONGHAUL_ERROR, text);
}

/// Runs `call`; whatever it throws becomes LONGHAUL_ERROR with its text.
template <class Call>
longhaul_status guarded(Call&& call) noexcept {
  try {
    return call();
  } catch (const std::exception& error) {
    return say(LONGHAUL_ERROR, error.what());
  } catch (...) {
    return say(LONGHAUL_ERROR, "an unknown exception");
  }
}

/// Whether one of name, pointer, name, pointer, ... is null; says which.
inline bool any_null() noexcept { return false; }
template <class... Rest>
bool any_null(const char* name, const void* pointer, Rest... rest) noexcept {
  if (pointer != nullptr) return any_null(rest...);
  return guarded([&] {
           return say(LONGHAUL_ERROR, std::string(name) + " is null; pass one that was created");
         }) != LONGHAUL_OK;
}

}  // namespace longhaul::c_interface
