#pragma once

/// A YAML document as a small tree in which every node knows where it was written.
///
/// Built from the parser's events and not from its own tree, because a scenario needs what that
/// tree hides: duplicate keys, anchors (refused: a scenario says what it means in place), quoting,
/// and a limit on nesting that holds before memory is spent.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::yaml {

struct Entry;

struct Node {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  std::string text;  ///< of a scalar
  bool quoted = false;
  /// The file's name as given, or "--set key=value".
  std::shared_ptr<const std::string> origin;
  uint32_t line = 0;  ///< counted from 1; 0 for the command line, where the origin says it all
  uint32_t column = 0;
  std::vector<Node> items;     ///< of a sequence
  std::vector<Entry> entries;  ///< of a map, in the order of the file

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }

  /// "file:line:column", columns counted in characters.
  std::string where() const;
  /// In YAML flow style on one line: how it looks, comments and line breaks aside.
  std::string spelled() const;
  /// "a list", "a map", "\"text\"", "empty"
  std::string described() const;
  /// The value of a key of a map; null pointer when absent.
  const Node* find(std::string_view key) const;
};

struct Entry {
  Node key;
  Node value;
};

/// Where the text comes from.
struct Source {
  std::string name;
  bool has_positions = true;  ///< false for the command line
};

/// Reads one document. Throws SetupError for bad syntax, text that is not UTF-8, duplicate keys,
/// anchors, tags, several documents, and nesting deeper than any scenario. An empty text gives a
/// null node.
///
/// In flow style YAML ends a scalar at any comma, so `[sr(nack), ec(32,8)]` reaches us in three
/// pieces; pieces are joined again while a parenthesis is open.
Node parse(std::string_view text, const Source& source);

}  // namespace longhaul::yaml
