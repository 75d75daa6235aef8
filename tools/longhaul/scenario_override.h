#pragma once

/// `--set path.loss.rate=1e-3`: changes to the tree before it is read.

#include <string>

#include "tools/longhaul/scenario_yaml.h"

namespace longhaul {

/// Creates or replaces the value at a dotted path; an empty value removes the key. Throws
/// SetupError whose `where` is the setting as given.
void apply_override(yaml::Node& root, const std::string& setting);

}  // namespace longhaul
