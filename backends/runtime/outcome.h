#pragma once

/// What a call of the public interface returns.

#include <cstdint>
#include <string>

namespace longhaul {

enum class Status : uint8_t {
  ok,
  retry,  ///< not now; nothing has changed, call again later
  error   ///< it cannot be done
};

struct Outcome {
  Status status = Status::ok;
  const char* reason = "";  ///< static
  std::string detail;       ///< instead of `reason` when there are values to tell

  bool ok() const { return status == Status::ok; }
  /// Why, and what to do; empty when all is well.
  std::string text() const { return detail.empty() ? std::string(reason) : detail; }

  static Outcome retry(const char* why) { return {Status::retry, why, {}}; }
  static Outcome error(std::string why) { return {Status::error, "", std::move(why)}; }
};

/// A post; `id` names it when all is well.
template <class Id>
struct Posted : Outcome {
  Posted(Outcome outcome) : Outcome(std::move(outcome)) {}
  explicit Posted(Id its_id) : id(its_id) {}

  Id id{};
};

}  // namespace longhaul
