#include "tools/longhaul/report_html.h"

#include <algorithm>
#include <ostream>

#include "core/base/check.h"
#include "tools/longhaul/report_data.h"
#include "tools/longhaul/report_sections.h"
#include "tools/report/assets.h"

namespace longhaul {

std::string escape_html(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string escape_json_in_html(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string fill_template(std::string_view page,
                          const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  size_t at = 0;
  while (true) {
    const size_t open = page.find("{{", at);
    if (open == std::string_view::npos) break;
    const size_t close = page.find("}}", open);
    LONGHAUL_CHECK(close != std::string_view::npos);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto value =
        std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == name; });
    LONGHAUL_CHECK(value != values.end());
    result += page.substr(at, open - at);
    result += value->second;
    at = close + 2;
  }
  return result + std::string(page.substr(at));
}

void write_report_html(std::ostream& out, const Results& results, const Summary& summary) {
  out << fill_template(report::kTemplate,
                       {{"title", escape_html(results.scenario.name)},
                        {"description", escape_html(results.scenario.description)},
                        {"style", std::string(report::kStyle)},
                        {"banners", report_banners(results, summary)},
                        {"hero", report_hero(results, summary)},
                        {"question", report_question(results)},
                        {"sweep", report_sweep(results, summary)},
                        {"points", report_points(results)},
                        {"tables", report_tables(results, summary)},
                        {"expectations", report_expectations(results, summary)},
                        {"diagnosis", report_diagnosis(summary)},
                        {"glossary_note", report_percentile_note(summary)},
                        {"provenance", report_provenance(results)},
                        {"data", escape_json_in_html(report_data(results, summary))},
                        {"vega", std::string(report::kVega)},
                        {"script", std::string(report::kScript)}});
}

}  // namespace longhaul
