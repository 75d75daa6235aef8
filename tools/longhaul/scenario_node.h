#pragma once

/// Reading single values out of the tree, with errors that say where and what instead.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/longhaul/scenario_yaml.h"
#include "tools/longhaul/units.h"

namespace longhaul::yaml {

/// Throws SetupError at the node.
[[noreturn]] void refuse(const Node& node, std::string what, std::string remedy = {});

/// "path" + "rate" -> "path.rate"; an empty section is the file itself.
std::string joined_key(std::string_view section, std::string_view key);

/// "a, b, c"
std::string joined_words(std::span<const std::string_view> words);

/// Refuses every key of the map that is not in `keys`, naming the nearest one and where the key
/// would be at home. `section` as in scenario_sections; `title` is how messages name the map.
void check_keys(const Node& map, std::string_view section, std::string_view title,
                std::span<const std::string_view> keys);

/// The text of a scalar; `example` shows a valid one.
const std::string& read_text(const Node& node, std::string_view key, std::string_view example);

/// A quantity between the bounds, both allowed.
uint64_t read_quantity(const Node& node, std::string_view key, Dimension dimension, uint64_t least,
                       uint64_t most);

/// A whole number between the bounds, both allowed.
uint64_t read_count(const Node& node, std::string_view key, uint64_t least, uint64_t most);

/// A whole number, a range `first..last`, or a list of these: at most `most` numbers, none twice.
std::vector<uint64_t> read_counts(const Node& node, std::string_view key, uint64_t most);

double read_probability(const Node& node, std::string_view key);
double read_number(const Node& node, std::string_view key);

/// One of `words`.
size_t read_word(const Node& node, std::string_view key, std::span<const std::string_view> words);

}  // namespace longhaul::yaml
