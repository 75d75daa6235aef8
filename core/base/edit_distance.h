#pragma once

/// The nearest of some valid words, for messages to somebody who mistyped one.

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Fewest insertions, deletions, substitutions and swaps of neighbours that turn one into the other
/// (optimal string alignment). Costs the product of the lengths.
inline size_t edit_distance(std::string_view from, std::string_view to) {
  const size_t width = to.size() + 1;
  std::vector<size_t> before(width), above(width), row(width);
  for (size_t j = 0; j < width; ++j) above[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j < width; ++j) {
      const size_t substitution = above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(above);
    above.swap(row);
  }
  return above[to.size()];
}

/// The word nearest to `text`; of equals one that begins with it, which was not finished, else the
/// first; empty when none is close enough to be meant
/// (more than half of its letters would have to change).
template <typename Words>
std::string nearest_word(std::string_view text, const Words& words) {
  constexpr size_t kLongest = 64;  // beyond it nobody mistyped a key, and the cost is a product
  std::string best;
  size_t best_rank = ~size_t{0};
  if (text.size() > kLongest) return best;
  for (const auto& word : words) {
    const std::string_view candidate(word);
    const size_t distance = edit_distance(text, candidate);
    const size_t rank = 2 * distance + (candidate.starts_with(text) ? 0 : 1);
    if (rank < best_rank && distance * 2 <= std::max(text.size(), candidate.size())) {
      best_rank = rank;
      best = candidate;
    }
  }
  return best;
}

}  // namespace longhaul
