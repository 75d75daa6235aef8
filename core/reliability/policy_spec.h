#pragma once

/// A reliability policy by name and parameters, as users write it: `sr(rto=3rtt)`, `sr(nack)`,
/// `ec(32,8)`.

#include <cstdint>
#include <string>
#include <string_view>

namespace longhaul {

struct PolicySpec {
  enum class Kind { selective_repeat, erasure_code };
  /// How selective repeat (and the fall-back of a code) notices a loss.
  enum class Detection { rto, nack };

  Kind kind = Kind::selective_repeat;
  Detection detection = Detection::nack;
  /// Detection::rto: retransmission time-out in thousandths of the round-trip time; 3rtt is 3000.
  uint32_t rto_millirtt = 3000;
  /// erasure_code: k data and m parity packets a stripe, k >= 1, m >= 1, k + m <= 255.
  uint32_t data_count = 0;
  uint32_t parity_count = 0;
  /// erasure_code: the fall-back timer's allowance above the injection time of data and parity, in
  /// thousandths of the round-trip time (the paper's beta).
  uint32_t fallback_millirtt = 500;

  bool operator==(const PolicySpec&) const = default;

  /// Canonical spelling, which `parse_policy` reads back: "sr(rto=3rtt)", "sr(nack)", "ec(32,8)".
  std::string name() const;
};

/// Reads a policy. On failure `error` says what is wrong and names what would be valid; `policy` is
/// then unspecified. Spaces are ignored. `sr` alone means `sr(nack)`.
struct ParsedPolicy {
  PolicySpec policy;
  std::string error;
};
ParsedPolicy parse_policy(std::string_view text);

}  // namespace longhaul
