#pragma once

/// What counters say is wrong, in words: the seed of troubleshooting. Each finding says what was
/// seen, what it means and what to do.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/reliability/policy_spec.h"
#include "core/sdr/counters.h"

namespace longhaul {

enum class Severity : uint8_t {
  note,     ///< works, and could be better
  warning,  ///< costs time or loses messages on purpose
  error     ///< something that must not happen did
};

const char* severity_name(Severity severity);

struct Finding {
  Severity severity = Severity::note;
  std::string name;  ///< stable: "bitmap_out_of_step", "generation_clash", ...
  std::string text;  ///< sentences
};

/// What is known of a connection. Where only one end can be seen, the other's counters stay zero.
struct DiagnosisInput {
  QueuePairCounters sender;
  QueuePairCounters receiver;
  uint64_t transfers = 0;
  PolicySpec policy;
  uint64_t message_bytes = 0;  ///< 0: unknown, or of all sizes
  uint32_t mtu_bytes = 0;
  uint32_t header_bytes = 0;  ///< wire bytes of a packet beyond its payload
  uint32_t chunk_packets = 1;
  uint32_t generations = 1;
};

/// Worst first; empty when there is nothing to say.
std::vector<Finding> diagnose(const DiagnosisInput& input);

}  // namespace longhaul
