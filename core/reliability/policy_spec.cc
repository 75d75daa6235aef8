#include "core/reliability/policy_spec.h"

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "core/base/edit_distance.h"

namespace longhaul {
namespace {

constexpr std::string_view kForms =
    "Policies: sr(nack), sr(rto=3rtt), ec(32,8), ec(32,8,fallback=0.5rtt)";

/// GF(256) has 255 non-zero elements, one for each packet of a stripe.
constexpr uint32_t kMaxStripe = 255;
/// A thousand round trips: beyond any use, and far from overflow in any product.
constexpr uint32_t kMaxMilliRtt = 1'000'000;

/// Appends: g++ 12 warns falsely (-Wrestrict) of a literal + std::string.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::string quoted(std::string_view text) { return joined({"\"", text, "\""}); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<uint32_t> parse_count(std::string_view text) {
  if (text.empty() || text.size() > 9) return {};
  uint32_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return {};
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value;
}

/// "2.5rtt" -> 2500, or what is wrong with it.
struct MilliRtt {
  uint32_t value = 0;
  std::string error;
};

MilliRtt parse_millirtt(std::string_view option, std::string_view text) {
  const std::string label = joined({option, "=", text});
  constexpr std::string_view kUnit = "rtt";
  if (!text.ends_with(kUnit)) {
    return {0, joined({label, " is not in round-trip times; write for example ", option,
                       option == "rto" ? "=3rtt" : "=0.5rtt"})};
  }
  text.remove_suffix(kUnit.size());
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part =
      point == std::string_view::npos ? std::string_view("0") : text.substr(point + 1);
  const auto units = parse_count(whole);
  auto thousandths = parse_count(part);
  if (!units || !thousandths || part.size() > 3) {
    return {0, label + " is not a number of round-trip times with at most three decimals"};
  }
  for (size_t digits = part.size(); digits < 3; ++digits) *thousandths *= 10;
  const uint64_t value = uint64_t{*units} * 1000 + *thousandths;
  if (value > kMaxMilliRtt) return {0, label + " is above 1000rtt"};
  return {static_cast<uint32_t>(value), {}};
}

std::string format_millirtt(uint32_t millirtt) {
  std::string text = std::to_string(millirtt / 1000);
  if (millirtt % 1000 != 0) {
    std::string part = std::to_string(1000 + millirtt % 1000).substr(1);
    while (part.back() == '0') part.pop_back();
    text += joined({".", part});
  }
  return text + "rtt";
}

struct Option {
  std::string_view name, value;
  bool has_value = false;
};

Option split_option(std::string_view argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return {argument, {}, false};
  return {argument.substr(0, equals), argument.substr(equals + 1), true};
}

std::string unknown_option(std::string_view policy, std::string_view option,
                           const std::vector<std::string_view>& names,
                           const std::vector<std::string_view>& spelled) {
  std::string error = joined({policy, " has no option ", quoted(option)});
  const std::string nearest = nearest_word(option, names);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == nearest) error += joined({"; did you mean ", spelled[i], "?"});
  }
  return joined({error, " ", kForms});
}

std::string parse_selective_repeat(const std::vector<std::string_view>& arguments,
                                   PolicySpec& policy) {
  policy.kind = PolicySpec::Kind::selective_repeat;
  if (arguments.size() > 1) {
    return joined({"sr takes one option, got ", std::to_string(arguments.size()),
                   ": sr(nack) or sr(rto=3rtt)"});
  }
  if (arguments.empty()) return {};
  const Option option = split_option(arguments[0]);
  if (option.name == "nack") {
    return option.has_value ? "nack takes no value: sr(nack)" : std::string();
  }
  if (option.name != "rto") {
    return unknown_option("sr", option.name, {"nack", "rto"}, {"sr(nack)", "sr(rto=3rtt)"});
  }
  if (!option.has_value) return "rto needs a value, for example sr(rto=3rtt)";
  const MilliRtt rto = parse_millirtt("rto", option.value);
  if (!rto.error.empty()) return rto.error;
  if (rto.value < 1000) {
    return joined({"rto=", option.value,
                   " is below the round-trip time: every packet would be sent several times; use "
                   "1rtt or more, for example sr(rto=3rtt)"});
  }
  policy.detection = PolicySpec::Detection::rto;
  policy.rto_millirtt = rto.value;
  return {};
}

std::string parse_erasure_code(const std::vector<std::string_view>& arguments, PolicySpec& policy) {
  policy.kind = PolicySpec::Kind::erasure_code;
  constexpr std::string_view kExample = "for example ec(32,8)";
  if (arguments.size() < 2) {
    return joined({"ec needs two counts, data and parity packets of a stripe, ", kExample});
  }
  const auto data = parse_count(arguments[0]);
  const auto parity = parse_count(arguments[1]);
  if (!data || !parity) {
    return joined({"ec needs two whole numbers, got ", quoted(!data ? arguments[0] : arguments[1]),
                   "; ", kExample});
  }
  if (*data == 0 || *parity == 0) {
    return joined({"ec needs at least 1 data and 1 parity packet, ", kExample});
  }
  if (uint64_t{*data} + *parity > kMaxStripe) {
    return joined({"ec(", std::to_string(*data), ",", std::to_string(*parity), ") has stripes of ",
                   std::to_string(uint64_t{*data} + *parity),
                   " packets; data + parity is at most 255 in GF(256)"});
  }
  policy.data_count = *data;
  policy.parity_count = *parity;
  if (arguments.size() == 2) return {};
  if (arguments.size() > 3) return joined({"ec takes two counts and one option, ", kForms});
  const Option option = split_option(arguments[2]);
  if (option.name != "fallback") {
    return unknown_option("ec", option.name, {"fallback"}, {"ec(k,m,fallback=0.5rtt)"});
  }
  if (!option.has_value) return "fallback needs a value, for example ec(32,8,fallback=0.5rtt)";
  const MilliRtt fallback = parse_millirtt("fallback", option.value);
  policy.fallback_millirtt = fallback.value;
  return fallback.error;
}

std::vector<std::string_view> split_arguments(std::string_view inside) {
  std::vector<std::string_view> arguments;
  while (true) {
    const size_t comma = inside.find(',');
    arguments.push_back(inside.substr(0, comma));
    if (comma == std::string_view::npos) return arguments;
    inside.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string PolicySpec::name() const {
  if (kind == Kind::selective_repeat) {
    return detection == Detection::nack ? "sr(nack)"
                                        : joined({"sr(rto=", format_millirtt(rto_millirtt), ")"});
  }
  std::string text = joined({"ec(", std::to_string(data_count), ",", std::to_string(parity_count)});
  if (fallback_millirtt != PolicySpec{}.fallback_millirtt) {
    text += joined({",fallback=", format_millirtt(fallback_millirtt)});
  }
  return text + ")";
}

ParsedPolicy parse_policy(std::string_view text) {
  std::string compact;
  for (const char c : text) {
    if (c != ' ') compact += c;
  }
  ParsedPolicy parsed;
  if (compact.empty()) return {{}, joined({"a policy is missing. ", kForms})};

  const std::string_view view = compact;
  const size_t open = view.find('(');
  const std::string_view name = view.substr(0, open);
  std::vector<std::string_view> arguments;
  if (open != std::string_view::npos) {
    if (view.back() != ')' || view.find('(', open + 1) != std::string_view::npos ||
        view.find(')') != view.size() - 1) {
      return {{}, joined({quoted(text), " has unbalanced parentheses. ", kForms})};
    }
    const std::string_view inside = view.substr(open + 1, view.size() - open - 2);
    if (!inside.empty()) arguments = split_arguments(inside);
  }
  if (name == "sr") {
    parsed.error = parse_selective_repeat(arguments, parsed.policy);
  } else if (name == "ec") {
    parsed.error = parse_erasure_code(arguments, parsed.policy);
  } else {
    parsed.error = joined({"there is no policy ", quoted(name)});
    const std::string nearest = nearest_word(name, std::array<std::string_view, 2>{"sr", "ec"});
    if (!nearest.empty()) parsed.error += joined({"; did you mean ", nearest, "?"});
    parsed.error += joined({" ", kForms});
  }
  return parsed;
}

}  // namespace longhaul
