#pragma once

/// The sections `path` and `message`: from nodes to points.

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/path/loss.h"
#include "tools/longhaul/scenario.h"
#include "tools/longhaul/scenario_yaml.h"

namespace longhaul {

/// A combination of settings before those that depend on each other are resolved.
struct Draft {
  Point point;
  std::optional<uint64_t> distance_mm;
  /// Propagation in units of 10^-5 ps/m, so that the constants of all media are whole.
  uint64_t delay_per_m = 0;
  bool has_reverse_loss = false;
  std::optional<uint64_t> chunk_bytes;  ///< `point.chunk_packets` counts when absent
  std::optional<sim::Payload> payload;
  /// Where settings that can clash were written; null when defaulted.
  const yaml::Node* distance = nullptr;
  const yaml::Node* size = nullptr;
  const yaml::Node* chunk = nullptr;
  const yaml::Node* queue = nullptr;
  const yaml::Node* payload_node = nullptr;
  const yaml::Node* give_up = nullptr;
};

/// One alternative of a setting.
struct Choice {
  /// What distinguishes it in the output; empty when the setting has one alternative.
  std::vector<std::pair<std::string, std::string>> labels;
  /// Equal for equal alternatives, however spelled.
  std::string identity;
  std::function<void(Draft&)> apply;
};

/// A setting with its alternatives, in the order of the file.
struct Axis {
  const yaml::Node* node = nullptr;
  std::vector<Choice> choices;
};

/// Reads a section ("path" or "message") and appends an axis for each of its keys.
void read_section(const yaml::Node& section, std::string_view name, std::vector<Axis>& axes);

/// Fills in what depends on other settings and refuses contradictions. `root` is for errors that no
/// single setting causes.
Point finish_point(Draft draft, const yaml::Node& root);

/// Every key of the section that has an effect, with its text or its default.
void append_effective(const yaml::Node& section, std::string_view name,
                      std::vector<std::pair<std::string, std::string>>& effective);

/// One alternative of a loss setting.
struct LossChoice {
  LossSpec spec;
  std::vector<std::pair<std::string, std::string>> labels;
  std::string identity;
};

/// Reads `loss` or `reverse_loss`: a model, or a list of models; lists within a model are expanded.
std::vector<LossChoice> read_loss(const yaml::Node& node, const std::string& key);

/// Largest number of points, so that a slip of the pen does not fill the memory.
inline constexpr uint64_t kMaxPoints = 100'000;

}  // namespace longhaul
