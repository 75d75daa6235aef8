#include "tools/longhaul/scenario_override.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tools/longhaul/scenario_node.h"

namespace longhaul {
namespace {

using yaml::Entry;
using yaml::Node;

Node word(const Node& like, std::string_view text) {
  Node node;
  node.kind = Node::Kind::scalar;
  node.origin = like.origin;
  node.text = text;
  return node;
}

/// Goes down `path`, creating maps, and puts `value` at its end.
void set(Node& map, std::string_view path, std::string_view done, Node value) {
  const size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  const std::string here = yaml::joined_key(done, key);
  if (key.empty()) {
    yaml::refuse(value, "the key has an empty part", "Write for example --set path.rate=100Gb/s.");
  }
  const auto entry = std::find_if(map.entries.begin(), map.entries.end(),
                                  [&](const Entry& e) { return e.key.text == key; });
  if (dot == std::string_view::npos) {
    if (value.kind == Node::Kind::null) {
      if (entry != map.entries.end()) map.entries.erase(entry);
    } else if (entry != map.entries.end()) {
      // The key too: an error about it is an error about this setting.
      *entry = {word(value, key), std::move(value)};
    } else {
      map.entries.push_back({word(value, key), std::move(value)});
    }
    return;
  }
  if (entry == map.entries.end()) {
    if (value.kind == Node::Kind::null) return;
    Node created;
    created.kind = Node::Kind::map;
    created.origin = value.origin;
    map.entries.push_back({word(value, key), std::move(created)});
    return set(map.entries.back().value, path.substr(dot + 1), here, std::move(value));
  }
  Node& next = entry->value;
  if (!next.is_map()) {
    yaml::refuse(value,
                 fmt::format("{} is {} in the file, so it has no {}", here, next.described(),
                             path.substr(dot + 1)),
                 fmt::format("Replace it as a whole: --set '{}={{...}}'.", here));
  }
  set(next, path.substr(dot + 1), here, std::move(value));
}

}  // namespace

void apply_override(Node& root, const std::string& setting) {
  const std::string origin = "--set " + setting;
  const size_t equals = setting.find('=');
  Node error;
  error.origin = std::make_shared<const std::string>(origin);
  if (equals == std::string::npos || equals == 0) {
    yaml::refuse(error, "this is not key=value", "Write for example --set path.loss.rate=1e-3.");
  }
  Node value = yaml::parse(std::string_view(setting).substr(equals + 1), {origin, false});
  set(root, std::string_view(setting).substr(0, equals), {}, std::move(value));
}

}  // namespace longhaul
