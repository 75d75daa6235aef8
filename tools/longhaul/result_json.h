#pragma once

/// result.json: everything that a run produced, for programs. README.md here lists the fields.

#include <iosfwd>

#include "tools/longhaul/results.h"
#include "tools/longhaul/summary.h"

namespace longhaul {

inline constexpr int kResultVersion = 1;

/// Valid JSON whatever the results: what does not exist is null, never NaN, and bytes that are not
/// UTF-8 become U+FFFD. Integers are written in full; `digest` is a string, since it fills 64 bits
/// and many readers hold numbers as doubles. Held in memory one series at a time.
void write_result_json(std::ostream& out, const Results& results, const Summary& summary);

}  // namespace longhaul
