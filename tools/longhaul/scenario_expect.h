#pragma once

/// The section `expect`.

#include <vector>

#include "tools/longhaul/scenario.h"
#include "tools/longhaul/scenario_yaml.h"

namespace longhaul {

/// Reads one map of expectations or a list of such maps. `policies` are those of the scenario.
std::vector<Expectation> read_expectations(const yaml::Node& node,
                                           const std::vector<PolicySpec>& policies);

}  // namespace longhaul
