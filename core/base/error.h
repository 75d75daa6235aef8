#pragma once

/// The one exception type of set-up: a bad scenario, a bad flag, a missing device.

#include <stdexcept>
#include <string>
#include <utility>

namespace longhaul {

/// Thrown only while something is being set up, and caught once, in tools/, which prints it and
/// exits with code 2. The data path never throws.
class SetupError : public std::runtime_error {
 public:
  /// `where`: "file:line:column", a device or a flag; may be empty. `what`: what is wrong.
  /// `remedy`: what to do about it; may be empty when `what` says it all.
  SetupError(std::string where, const std::string& what, std::string remedy = {})
      : std::runtime_error(compose(where, what, remedy)),
        where_(std::move(where)),
        remedy_(std::move(remedy)) {}

  const std::string& where() const { return where_; }
  const std::string& remedy() const { return remedy_; }

 private:
  static std::string compose(const std::string& where, const std::string& what,
                             const std::string& remedy) {
    std::string text = where.empty() ? what : where + ": " + what;
    if (!remedy.empty()) text += "\n  " + remedy;
    return text;
  }

  std::string where_;
  std::string remedy_;
};

}  // namespace longhaul
