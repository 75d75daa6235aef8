#pragma once

/// The keys of the scenario format, by section: what the reader accepts and the schema must list.

#include <string_view>
#include <vector>

namespace longhaul {

struct ScenarioSection {
  /// "path.loss": where the map stands; "" is the file itself. "expect.metric" is the map below any
  /// metric.
  std::string_view name;
  std::vector<std::string_view> keys;
};

/// Every section of the format.
const std::vector<ScenarioSection>& scenario_sections();

/// The keys of one section, which must exist.
const std::vector<std::string_view>& scenario_keys(std::string_view section);

}  // namespace longhaul
