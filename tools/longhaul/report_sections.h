#pragma once

/// The report's parts, as HTML. Every text that comes from the user is escaped here.

#include <string>

#include "tools/longhaul/results.h"
#include "tools/longhaul/summary.h"

namespace longhaul {

std::string report_banners(const Results& results, const Summary& summary);  ///< warnings, FAILED
std::string report_hero(const Results& results, const Summary& summary);  ///< who wins, by how much
std::string report_question(const Results& results);                      ///< what was asked
std::string report_sweep(const Results& results, const Summary& summary);  ///< empty for one point
std::string report_points(const Results& results);  ///< the point chooser's options
std::string report_tables(const Results& results, const Summary& summary);
std::string report_expectations(const Results& results, const Summary& summary);
std::string report_diagnosis(const Summary& summary);  ///< empty when nothing is wrong
std::string report_percentile_note(const Summary& summary);
std::string report_provenance(const Results& results);

}  // namespace longhaul
