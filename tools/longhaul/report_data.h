#pragma once

/// The numbers behind the report's charts.

#include <string>
#include <vector>

#include "tools/longhaul/results.h"
#include "tools/longhaul/summary.h"

namespace longhaul {

/// A curve of "share of messages that take at least so long", few enough points to draw.
struct TailCurve {
  std::vector<double> times_ps;  ///< ascending
  std::vector<double> shares;    ///< descending from 1 to 1/n
};

/// Keeps at most `most` points, evenly spaced on a logarithmic axis of the share, the first and the
/// last among them; every point kept is one of the samples. `sorted` ascending.
TailCurve thin_tail_curve(const std::vector<double>& sorted, size_t most);

/// JSON that report.js reads.
std::string report_data(const Results& results, const Summary& summary);

}  // namespace longhaul
