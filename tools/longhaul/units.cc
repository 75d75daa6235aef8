#include "tools/longhaul/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "core/base/edit_distance.h"

namespace longhaul {
namespace {

struct Unit {
  std::string_view name;
  uint64_t scale;
};

constexpr std::array<Unit, 2> kDistanceUnits{{{"km", 1'000'000}, {"m", 1'000}}};
constexpr std::array<Unit, 6> kTimeUnits{{{"ps", 1},
                                          {"ns", 1'000},
                                          {"us", 1'000'000},
                                          {"µs", 1'000'000},
                                          {"ms", 1'000'000'000},
                                          {"s", 1'000'000'000'000}}};
constexpr std::array<Unit, 5> kRateUnits{{{"b/s", 1},
                                          {"kb/s", 1'000},
                                          {"Mb/s", 1'000'000},
                                          {"Gb/s", 1'000'000'000},
                                          {"Tb/s", 1'000'000'000'000}}};
constexpr std::array<Unit, 8> kSizeUnits{{{"B", 1},
                                          {"KiB", uint64_t{1} << 10},
                                          {"MiB", uint64_t{1} << 20},
                                          {"GiB", uint64_t{1} << 30},
                                          {"TiB", uint64_t{1} << 40},
                                          {"kB", 1'000},
                                          {"MB", 1'000'000},
                                          {"GB", 1'000'000'000}}};

struct DimensionText {
  Dimension dimension;
  std::string_view name, example, base;
  std::span<const Unit> units;
};

const std::array<DimensionText, 4> kDimensions{{
    {Dimension::distance, "distance", "3750 km", "millimetres", kDistanceUnits},
    {Dimension::time, "time", "37.5 ms", "picoseconds", kTimeUnits},
    {Dimension::rate, "rate", "400 Gb/s", "bits per second", kRateUnits},
    {Dimension::size, "size", "64 KiB", "bytes", kSizeUnits},
}};

const DimensionText& text_of(Dimension dimension) {
  return kDimensions[static_cast<size_t>(dimension)];
}

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  return found == units.end() ? nullptr : &*found;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// mantissa * 10^exponent, without the unit that follows.
struct Decimal {
  bool negative = false;
  uint64_t mantissa = 0;
  int exponent = 0;
  std::string_view rest;
};

/// Digits beyond this do not fit the exact arithmetic, and nobody writes them.
constexpr int kMaxDigits = 18;
constexpr int kMaxExponent = 400;

/// Nothing when the text does not start with a decimal number.
std::optional<Decimal> parse_decimal(std::string_view text) {
  Decimal decimal;
  size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+'))
    decimal.negative = text[at++] == '-';
  int digits = 0;
  bool any = false, point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (digits > 0 || text[at] != '0') ++digits;
    if (digits > kMaxDigits) return {};
    decimal.mantissa = decimal.mantissa * 10 + static_cast<uint64_t>(text[at] - '0');
    if (point) --decimal.exponent;
  }
  if (!any || text[at - 1] == '.') return {};
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t digit = at + 1;
    if (digit < text.size() && text[digit] == '+') ++digit;
    int power = 0;
    const auto [end, error] =
        std::from_chars(text.data() + digit, text.data() + text.size(), power);
    if (error == std::errc()) {
      if (std::abs(power) > kMaxExponent) return {};
      decimal.exponent += power;
      at = static_cast<size_t>(end - text.data());
    }
  }
  while (decimal.mantissa != 0 && decimal.mantissa % 10 == 0) {
    decimal.mantissa /= 10;
    ++decimal.exponent;
  }
  if (decimal.mantissa == 0) decimal.exponent = 0;
  decimal.rest = trim(text.substr(at));
  return decimal;
}

enum class Scaled { exact, inexact, too_large };

/// mantissa * 10^exponent * scale as an integer.
Scaled scale_exactly(const Decimal& decimal, uint64_t scale, uint64_t& value) {
  // mantissa < 10^18 and scale <= 2^40, so the product stays far below 2^127.
  unsigned __int128 product = static_cast<unsigned __int128>(decimal.mantissa) * scale;
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  for (int i = 0; i < decimal.exponent; ++i) {
    if (product > kLimit) return Scaled::too_large;
    product *= 10;
  }
  for (int i = decimal.exponent; i < 0; ++i) {
    if (product % 10 != 0) return Scaled::inexact;
    product /= 10;
  }
  if (product >= kLimit) return Scaled::too_large;
  value = static_cast<uint64_t>(product);
  return Scaled::exact;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

/// The unit that was probably meant: spelled in another case, or with other customs for bits.
std::string likely_unit(std::string_view written, const DimensionText& dimension) {
  std::string bits = lower(written);
  for (const std::string_view custom : {"bits/s", "bit/s", "bps"}) {
    if (bits.ends_with(custom)) bits = bits.substr(0, bits.size() - custom.size()) + "b/s";
  }
  for (const Unit& unit : dimension.units) {
    if (lower(unit.name) == bits) return std::string(unit.name);
  }
  std::vector<std::string_view> names;
  for (const Unit& unit : dimension.units) names.push_back(unit.name);
  return nearest_word(written, names);
}

std::string units_remedy(const DimensionText& dimension) {
  return fmt::format("Units of {}: {}.", dimension.name, unit_list(dimension.dimension));
}

ParsedQuantity wrong_unit(std::string_view unit, const DimensionText& wanted) {
  for (const DimensionText& other : kDimensions) {
    if (other.dimension == wanted.dimension || find_unit(other.units, unit) == nullptr) continue;
    return {0, fmt::format("\"{}\" is a unit of {}, not of {}", unit, other.name, wanted.name),
            units_remedy(wanted)};
  }
  const std::string likely = likely_unit(unit, wanted);
  return {0, fmt::format("\"{}\" is not a unit of {}", unit, wanted.name),
          (likely.empty() ? "" : fmt::format("Did you mean {}? ", likely)) + units_remedy(wanted)};
}

/// Four significant digits without trailing zeros.
std::string four_digits(double value) {
  std::string text = fmt::format("{:.4g}", value);
  if (text.find('e') != std::string::npos) text = fmt::format("{:.0f}", value);
  return text;
}

/// `units` ascending. The largest unit that does not exceed the value, after rounding.
std::string format_in_units(double value, std::span<const Unit> units) {
  const Unit* chosen = &units.front();
  for (const Unit& unit : units) {
    if (unit.name == "µs") continue;
    if (value >= static_cast<double>(unit.scale) * 0.99995) chosen = &unit;
  }
  return four_digits(value / static_cast<double>(chosen->scale)) + " " + std::string(chosen->name);
}

}  // namespace

std::string unit_list(Dimension dimension) {
  std::string list;
  for (const Unit& unit : text_of(dimension).units) {
    list += (list.empty() ? "" : ", ") + std::string(unit.name);
  }
  return list;
}

std::string_view example_of(Dimension dimension) { return text_of(dimension).example; }

ParsedQuantity parse_quantity(std::string_view text, Dimension dimension) {
  const DimensionText& wanted = text_of(dimension);
  text = trim(text);
  const auto decimal = parse_decimal(text);
  if (!decimal) {
    return {0, fmt::format("\"{}\" is not a {}", text, wanted.name),
            fmt::format("Write a number and a unit, for example {}. {}", wanted.example,
                        units_remedy(wanted))};
  }
  if (decimal->rest.empty()) {
    return {0, fmt::format("\"{}\" has no unit", text),
            fmt::format("Write a unit, for example {}. {}", wanted.example, units_remedy(wanted))};
  }
  const Unit* unit = find_unit(wanted.units, decimal->rest);
  if (unit == nullptr) return wrong_unit(decimal->rest, wanted);
  if (decimal->negative && decimal->mantissa != 0) {
    return {0, fmt::format("{} is negative", text),
            fmt::format("Write a {} of 0 or more.", wanted.name)};
  }
  ParsedQuantity parsed;
  switch (scale_exactly(*decimal, unit->scale, parsed.value)) {
    case Scaled::exact:
      break;
    case Scaled::inexact:
      parsed.error = fmt::format("{} is not a whole number of {}", text, wanted.base);
      parsed.remedy = "Write fewer decimals.";
      break;
    case Scaled::too_large:
      parsed.error = fmt::format("{} is too large", text);
      parsed.remedy =
          fmt::format("Write a {} that makes sense, for example {}.", wanted.name, wanted.example);
      break;
  }
  return parsed;
}

namespace {

/// The double nearest to the decimal, by the library's correctly rounding reader.
double to_double(const Decimal& decimal) {
  const std::string text =
      fmt::format("{}{}e{}", decimal.negative ? "-" : "", decimal.mantissa, decimal.exponent);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return decimal.exponent > 0 ? HUGE_VAL : 0;
  return value;
}

}  // namespace

ParsedNumber parse_number(std::string_view text) {
  const auto decimal = parse_decimal(trim(text));
  if (!decimal || !decimal->rest.empty()) {
    return {0, fmt::format("\"{}\" is not a number", text), {}};
  }
  if (decimal->negative && decimal->mantissa != 0) {
    return {0, fmt::format("{} is negative", text), {}};
  }
  const double value = to_double(*decimal);
  if (!std::isfinite(value)) return {0, fmt::format("{} is too large", text), {}};
  return {value, {}, {}};
}

ParsedNumber parse_probability(std::string_view text) {
  constexpr std::string_view kRemedy = "Write a probability, for example 1e-4 or 0.01 %.";
  auto decimal = parse_decimal(trim(text));
  if (!decimal || !(decimal->rest.empty() || decimal->rest == "%")) {
    return {0, fmt::format("\"{}\" is not a probability", text), std::string(kRemedy)};
  }
  if (decimal->rest == "%" && decimal->mantissa != 0) decimal->exponent -= 2;
  const double value = to_double(*decimal);
  if (!(value >= 0 && value <= 1)) {
    return {0, fmt::format("{} is not between 0 and 1", text), std::string(kRemedy)};
  }
  return {value, {}, {}};
}

ParsedCount parse_count(std::string_view text) {
  // Plain digits first: they may need all 64 bits, which a Decimal does not hold.
  uint64_t value = 0;
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return {value, {}};
  const auto decimal = parse_decimal(text);
  if (!decimal || !decimal->rest.empty()) {
    return {0, fmt::format("\"{}\" is not a whole number", text)};
  }
  if (decimal->negative && decimal->mantissa != 0) return {0, fmt::format("{} is negative", text)};
  switch (scale_exactly(*decimal, 1, value)) {
    case Scaled::exact:
      return {value, {}};
    case Scaled::inexact:
      return {0, fmt::format("{} is not a whole number", text)};
    case Scaled::too_large:
      break;
  }
  return {0, fmt::format("{} is too large", text)};
}

std::string format_duration(Duration duration) {
  if (duration.ps == 0) return "0 s";
  const std::string sign = duration.ps < 0 ? "-" : "";
  return sign + format_in_units(std::fabs(static_cast<double>(duration.ps)), kTimeUnits);
}

std::string format_bytes(uint64_t bytes) {
  return format_in_units(static_cast<double>(bytes), std::span(kSizeUnits).first(5));
}

std::string format_rate(uint64_t rate_bps) {
  return format_in_units(static_cast<double>(rate_bps), kRateUnits);
}

std::string format_distance(uint64_t distance_mm) {
  const bool kilometres = distance_mm >= 1'000'000;
  return four_digits(static_cast<double>(distance_mm) / (kilometres ? 1e6 : 1e3)) +
         (kilometres ? " km" : " m");
}

std::string format_count(uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (size_t at = 0; at < digits.size(); ++at) {
    if (at > 0 && (digits.size() - at) % 3 == 0) text += ',';
    text += digits[at];
  }
  return text;
}

std::string format_number(double value) { return fmt::format("{}", value); }

}  // namespace longhaul
