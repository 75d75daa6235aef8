#pragma once

/// Rates and times as people write them, for messages.

#include <cstdint>
#include <string>

#include "core/base/time.h"

namespace longhaul {

/// value / unit, rounded to `decimals`, without zeros at the end.
inline std::string decimal(uint64_t value, uint64_t unit, int decimals) {
  uint64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const auto scaled =
      static_cast<uint64_t>((static_cast<unsigned __int128>(value) * scale + unit / 2) / unit);
  std::string text = std::to_string(scaled / scale);
  if (scaled % scale == 0) return text;
  text += '.' + std::to_string(scale + scaled % scale).substr(1);
  while (text.back() == '0') text.pop_back();
  return text;
}

/// "400 Gb/s", "171.8 Gb/s", "10 Mb/s".
inline std::string rate_text(uint64_t rate_bps) {
  if (rate_bps < 1'000'000'000) return decimal(rate_bps, 1'000'000, 3) + " Mb/s";
  return decimal(rate_bps, 1'000'000'000, 1) + " Gb/s";
}

/// "36.73 ms"; not negative.
inline std::string time_text(Duration time) {
  return decimal(static_cast<uint64_t>(time.ps), 1'000'000'000, 3) + " ms";
}

}  // namespace longhaul
