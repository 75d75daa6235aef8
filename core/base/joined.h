#pragma once

/// Text put together from pieces, for messages.

#include <initializer_list>
#include <string>
#include <string_view>

namespace longhaul {

inline std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace longhaul
