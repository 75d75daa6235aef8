#pragma once

/// report.html: one file that needs nothing else, for readers who have never seen Longhaul.

#include <iosfwd>
#include <string>
#include <string_view>

#include "tools/longhaul/results.h"
#include "tools/longhaul/summary.h"

namespace longhaul {

void write_report_html(std::ostream& out, const Results& results, const Summary& summary);

/// Text as HTML shows it, inside elements and inside quoted attributes.
std::string escape_html(std::string_view text);

/// JSON as it may stand inside <script>: no "<", so neither "</script>" nor "<!--".
std::string escape_json_in_html(std::string_view json);

/// Replaces each {{name}} of `page` by its value, once: braces inside a value stay as they are.
/// An unknown name is a bug.
std::string fill_template(std::string_view page,
                          const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace longhaul
