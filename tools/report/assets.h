#pragma once

/// The files of tools/report and Vega, as the build embedded them.

#include <string_view>

namespace longhaul::report {

extern const std::string_view kTemplate;  ///< HTML with {{placeholders}}
extern const std::string_view kStyle;     ///< report.css
extern const std::string_view kScript;    ///< report.js
extern const std::string_view kVega;      ///< defines the global `vega`; safe inside <script>

}  // namespace longhaul::report
