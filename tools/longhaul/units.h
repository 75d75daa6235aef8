#pragma once

/// Quantities as people write them: "3750 km", "37.5 ms", "400 Gb/s", "64 KiB", "1e-4", "0.01 %".
///
/// Reading is exact: a decimal number times a unit is either representable in the program's integer
/// unit or refused; nothing is rounded.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace longhaul {

/// What a quantity measures, and the integer unit that it is read into.
enum class Dimension {
  distance,  ///< millimetres
  time,      ///< picoseconds
  rate,      ///< bits per second
  size       ///< bytes
};

/// A quantity, or what is wrong with it and what to write instead (`error` is then not empty).
struct ParsedQuantity {
  uint64_t value = 0;
  std::string error;
  std::string remedy;
};

/// Reads a non-negative decimal number and a unit, with or without a space between them.
ParsedQuantity parse_quantity(std::string_view text, Dimension dimension);

/// "b/s, kb/s, Mb/s, Gb/s, Tb/s"
std::string unit_list(Dimension dimension);
/// A quantity that reads well: "400 Gb/s"
std::string_view example_of(Dimension dimension);

/// A plain number: a probability, a ratio, a count of slots.
struct ParsedNumber {
  double value = 0;
  std::string error;
  std::string remedy;
};

/// Reads a non-negative decimal number without unit, correctly rounded.
ParsedNumber parse_number(std::string_view text);
/// Reads a probability in [0, 1], which may be written in per cent: "0.01 %" is 1e-4 to the last
/// bit.
ParsedNumber parse_probability(std::string_view text);

/// Reads a whole number without unit; "1e6" and "5.0" count as whole.
struct ParsedCount {
  uint64_t value = 0;
  std::string error;
};
ParsedCount parse_count(std::string_view text);

/// For people: four significant digits, trailing zeros dropped. "37.5 ms", "81.92 ns", "-2 us".
std::string format_duration(Duration duration);
/// In the largest binary unit that is at most the value: "128 MiB", "1.5 GiB", "102 B".
std::string format_bytes(uint64_t bytes);
/// "400 Gb/s"
std::string format_rate(uint64_t rate_bps);
/// With separators: "1,234,567"
std::string format_count(uint64_t count);
/// "3750 km", "350 m"
std::string format_distance(uint64_t distance_mm);
/// Shortest text that reads back as the same number: "0.0001", "1e-06"
std::string format_number(double value);

}  // namespace longhaul
