#pragma once

/// The text that a run prints.

#include <string>

#include "tools/longhaul/results.h"
#include "tools/longhaul/summary.h"

namespace longhaul {

/// What was asked, two blocks per point (times, and what they cost), verdicts, expectations,
/// warnings. At most 120 columns wide for policy names of usual length. Ends with a newline.
std::string render_table(const Results& results, const Summary& summary);

/// Only what must not be missed: warnings and failed expectations. For --quiet; may be empty.
std::string render_problems(const Results& results, const Summary& summary);

}  // namespace longhaul
