#include "backends/runtime/loopback/loopback_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include "core/base/edit_distance.h"
#include "core/base/error.h"

namespace longhaul {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kRates = {Unit{"Tb/s", 1e12}, Unit{"Gb/s", 1e9}, Unit{"Mb/s", 1e6},
                               Unit{"kb/s", 1e3}, Unit{"b/s", 1}};
constexpr std::array kTimes = {Unit{"ms", 1e9}, Unit{"us", 1e6}, Unit{"ns", 1e3}, Unit{"ps", 1},
                               Unit{"s", 1e12}};
constexpr std::array kNone = {Unit{"", 1}};

/// "1.5ms" -> 1.5e9, in the base unit.
std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {};
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const Unit& known : units) {
    if (known.name == unit) return value * known.factor;
  }
  return {};
}

/// Of a number that is not negative; std::lround is libm's.
uint64_t nearest(double value) {
  return static_cast<uint64_t>(value + 0.5);  // NOLINT(bugprone-incorrect-roundings)
}

class KeyReader {
 public:
  KeyReader(std::string_view device, std::string_view key, std::string_view value)
      : device_(device), key_(key), value_(value) {}

  double number(double first, double last, std::span<const Unit> units, const char* form) const {
    const auto number = parse_quantity(value_, units);
    if (!number || !(*number >= first && *number <= last)) refuse(form);
    return *number;
  }
  uint64_t whole(uint64_t first, uint64_t last, const char* form) const {
    uint64_t number = 0;
    const char* const end = value_.data() + value_.size();
    const auto parsed = std::from_chars(value_.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number < first || number > last) {
      refuse(form);
    }
    return number;
  }
  double share() const {
    // Above: no transfer would ever end.
    return number(0, 0.99, kNone, "a share of packets from 0 to 0.99, such as 1e-3");
  }
  [[noreturn]] void refuse(const char* form) const {
    throw SetupError(std::string(device_),
                     "\"" + std::string(value_) + "\" is no value for " + std::string(key_),
                     "Write " + std::string(form));
  }

 private:
  std::string_view device_;
  std::string_view key_;
  std::string_view value_;
};

void set_key(LoopbackSpec& spec, std::string_view device, std::string_view key,
             std::string_view value) {
  const KeyReader reader(device, key, value);
  if (key == "rate") {
    spec.rate_bps =
        nearest(reader.number(1e3, 1e13, kRates, "a rate from 1kb/s to 10Tb/s, such as 100Gb/s"));
  } else if (key == "delay") {
    spec.delay = {static_cast<int64_t>(
        nearest(reader.number(0, 1e13, kTimes, "a time from 0ms to 10s, such as 12.5ms")))};
  } else if (key == "loss") {
    spec.loss = reader.share();
  } else if (key == "control_loss") {
    spec.control_loss = reader.share();
  } else if (key == "seed") {
    spec.seed = reader.whole(0, ~uint64_t{0}, "a whole number below 2^64");
  } else if (key == "receives") {
    spec.receives =
        static_cast<uint32_t>(reader.whole(1, uint64_t{1} << 20, "a whole number, 1 to 1048576"));
  } else if (key == "mtu") {
    constexpr const char* kForm = "1024, 2048, 4096 or 8192";
    spec.mtu_bytes = static_cast<uint32_t>(reader.whole(1024, 8192, kForm));
    if ((spec.mtu_bytes & (spec.mtu_bytes - 1)) != 0) reader.refuse(kForm);
  } else {
    const std::vector<std::string_view> keys = {"rate", "delay", "loss",    "control_loss",
                                                "seed", "mtu",   "receives"};
    std::string remedy;
    const std::string nearest = nearest_word(key, keys);
    if (!nearest.empty()) remedy = "did you mean " + nearest + "? ";
    throw SetupError(std::string(device),
                     "the loopback device has no key \"" + std::string(key) + "\"",
                     remedy + "Keys: rate, delay, loss, control_loss, seed, mtu, receives");
  }
}

}  // namespace

LoopbackSpec parse_loopback(std::string_view device) {
  LoopbackSpec spec;
  const size_t question = device.find('?');
  const std::string_view path = device.substr(0, question);
  const size_t colon = path.find(':');
  if (colon != std::string_view::npos) spec.name = path.substr(colon + 1);
  if (question == std::string_view::npos) return spec;

  std::vector<std::string_view> seen;
  std::string_view rest = device.substr(question + 1);
  while (!rest.empty()) {
    const size_t end = rest.find('&');
    const std::string_view option = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const size_t equals = option.find('=');
    if (equals == std::string_view::npos) {
      throw SetupError(std::string(device), "\"" + std::string(option) + "\" has no value",
                       "Write KEY=VALUE, with & between them");
    }
    const std::string_view key = option.substr(0, equals);
    if (std::ranges::find(seen, key) != seen.end())
      throw SetupError(std::string(device), "the key " + std::string(key) + " is given twice");
    seen.push_back(key);
    set_key(spec, device, key, option.substr(equals + 1));
  }
  return spec;
}

}  // namespace longhaul
