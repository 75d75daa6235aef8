#include "tools/longhaul/scenario_yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/base/check.h"
#include "core/base/error.h"

namespace longhaul::yaml {
namespace {

/// A scenario nests five deep: expect, its list, a metric, its map, a value.
constexpr size_t kMaxDepth = 16;

constexpr std::string_view kNoAnchors =
    "anchors and aliases (& and *) are not part of the scenario format";
constexpr std::string_view kNoAnchorsRemedy = "Write the value out where it is used.";

struct Position {
  uint32_t line = 0, column = 0;
};

/// Turns the parser's zero-based line and byte column into what an editor shows.
class Positions {
 public:
  explicit Positions(std::string_view text) {
    for (size_t start = 0; start <= text.size();) {
      const size_t end = std::min(text.find('\n', start), text.size());
      lines_.push_back(text.substr(start, end - start));
      start = end + 1;
    }
  }

  Position at(const YAML::Mark& mark) {
    if (mark.is_null()) return {1, 1};
    const auto line = static_cast<size_t>(std::max(mark.line, 0));
    const auto byte = static_cast<size_t>(std::max(mark.column, 0));
    if (line >= lines_.size()) return {static_cast<uint32_t>(line + 1), 1};
    // Goes on from the previous question: a long line would be counted again for each of its nodes.
    if (line != line_ || byte < byte_) line_ = line, byte_ = 0, column_ = 1;
    for (; byte_ < byte; ++byte_) {
      const bool continues = byte_ < lines_[line].size() &&
                             (static_cast<unsigned char>(lines_[line][byte_]) & 0xc0) == 0x80;
      if (!continues) ++column_;
    }
    return {static_cast<uint32_t>(line + 1), column_};
  }

  bool tab_indents(const YAML::Mark& mark) const {
    const auto line = static_cast<size_t>(std::max(mark.line, 0));
    if (line >= lines_.size()) return false;
    const size_t text = lines_[line].find_first_not_of(" \t");
    return lines_[line].substr(0, text).find('\t') != std::string_view::npos;
  }

 private:
  std::vector<std::string_view> lines_;
  size_t line_ = 0, byte_ = 0;
  uint32_t column_ = 1;
};

int open_parentheses(const Node& node) {
  if (!node.is_scalar() || node.quoted) return 0;
  return static_cast<int>(std::count(node.text.begin(), node.text.end(), '(') -
                          std::count(node.text.begin(), node.text.end(), ')'));
}

bool is_plain(const Node& node) { return node.is_scalar() && !node.quoted; }

/// `[sr(nack), ec(32, 8)]`: three items from the parser, two that were meant.
void join_items(std::vector<Node>& items) {
  std::vector<Node> joined;
  for (Node& item : items) {
    if (!joined.empty() && open_parentheses(joined.back()) > 0 && is_plain(item)) {
      joined.back().text += "," + item.text;
    } else {
      joined.push_back(std::move(item));
    }
  }
  items = std::move(joined);
}

/// `{policy: ec(32,8), below: 1.2}`: the 8) arrives as a key without a value.
void join_entries(std::vector<Entry>& entries) {
  std::vector<Entry> joined;
  for (Entry& entry : entries) {
    if (!joined.empty() && open_parentheses(joined.back().value) > 0 && is_plain(entry.key) &&
        entry.value.kind == Node::Kind::null) {
      joined.back().value.text += "," + entry.key.text;
    } else {
      joined.push_back(std::move(entry));
    }
  }
  entries = std::move(joined);
}

class Builder : public YAML::EventHandler {
 public:
  Builder(const Source& source, Positions& positions)
      : origin_(std::make_shared<const std::string>(source.name)),
        has_positions_(source.has_positions),
        positions_(positions) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(make(mark, Node::Kind::null));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    Node node = make(mark, Node::Kind::scalar);
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, tag, anchor, style, Node::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, tag, anchor, style, Node::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    bool flow = false;
    bool has_key = false;
    Node key;
  };

  Node make(const YAML::Mark& mark, Node::Kind kind) const {
    Node node;
    node.kind = kind;
    node.origin = origin_;
    if (has_positions_) {
      const Position position = positions_.at(mark);
      node.line = position.line;
      node.column = position.column;
    }
    return node;
  }

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what,
                           std::string remedy) const {
    throw SetupError(make(mark, Node::Kind::null).where(), what, std::move(remedy));
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) {
      refuse(mark, std::string(kNoAnchors), std::string(kNoAnchorsRemedy));
    }
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, fmt::format("the tag {} is not part of the scenario format", tag),
             "Remove the tag.");
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style, Node::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (stack_.size() >= kMaxDepth) {
      refuse(mark, fmt::format("nested more than {} deep", kMaxDepth),
             "scenarios/README.md shows the form of every setting.");
    }
    stack_.push_back({make(mark, kind), style == YAML::EmitterStyle::Flow, false, {}});
  }

  void close() {
    LONGHAUL_CHECK(!stack_.empty());
    Open done = std::move(stack_.back());
    stack_.pop_back();
    if (done.flow && done.node.is_sequence()) join_items(done.node.items);
    if (done.flow && done.node.is_map()) join_entries(done.node.entries);
    if (done.node.is_map()) check_keys(done.node);
    add(std::move(done.node));
  }

  static void check_keys(const Node& map) {
    std::map<std::string_view, uint32_t> seen;  // key -> line
    for (const Entry& entry : map.entries) {
      const Node& key = entry.key;
      if (!key.is_scalar()) {
        throw SetupError(key.where(), fmt::format("a key must be a word, not {}", key.described()),
                         "Write key: value.");
      }
      const auto [first, added] = seen.emplace(key.text, key.line);
      if (!added) {
        throw SetupError(
            key.where(), fmt::format("\"{}\" is given twice", key.text),
            first->second == 0
                ? "Keep one of the two."
                : fmt::format("The first is on line {}; keep one of the two.", first->second));
      }
    }
  }

  void add(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.is_sequence()) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      parent.key = std::move(node);
      parent.has_key = true;
    } else {
      // The parser places a missing value somewhere else; the key is what the user can see.
      if (node.kind == Node::Kind::null) {
        node.line = parent.key.line;
        node.column = parent.key.column;
      }
      parent.node.entries.push_back({std::move(parent.key), std::move(node)});
      parent.has_key = false;
    }
  }

  std::shared_ptr<const std::string> origin_;
  bool has_positions_;
  Positions& positions_;
  std::vector<Open> stack_;
  Node root_;
};

/// Length of the UTF-8 character at `at`, 0 when there is none. Control characters other than tab
/// and line ends do not occur in text either.
size_t character_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  const size_t length = first >= 0xf0 && first < 0xf5 ? 4
                        : first >= 0xe0               ? 3
                        : first >= 0xc2               ? 2
                                                      : 0;
  if (first >= 0xf5 || length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

void check_text(std::string_view text, const Source& source) {
  size_t line = 1, line_start = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_length(text, at);
    if (length == 0) {
      throw SetupError(
          source.has_positions ? fmt::format("{}:{}:{}", source.name, line, at - line_start + 1)
                               : source.name,
          fmt::format("byte 0x{:02x} is not text", static_cast<unsigned char>(text[at])),
          "A scenario is a YAML file in UTF-8; scenarios/quickstart.yaml is one.");
    }
    if (text[at] == '\n') {
      ++line;
      line_start = at + 1;
    }
    at += length;
  }
}

}  // namespace

std::string Node::where() const {
  const std::string name = origin ? *origin : std::string();
  return line == 0 ? name : fmt::format("{}:{}:{}", name, line, column);
}

std::string Node::spelled() const {
  switch (kind) {
    case Kind::null:
      return "";
    case Kind::scalar:
      return text;
    case Kind::sequence: {
      std::string list;
      for (const Node& item : items) list += (list.empty() ? "" : ", ") + item.spelled();
      return "[" + list + "]";
    }
    case Kind::map:
      break;
  }
  std::string list;
  for (const Entry& entry : entries) {
    list += (list.empty() ? "" : ", ") + entry.key.text + ": " + entry.value.spelled();
  }
  return "{" + list + "}";
}

std::string Node::described() const {
  switch (kind) {
    case Kind::null:
      return "empty";
    case Kind::scalar:
      return "\"" + text + "\"";
    case Kind::sequence:
      return "a list";
    case Kind::map:
      break;
  }
  return "a map";
}

const Node* Node::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key.text == key) return &entry.value;
  }
  return nullptr;
}

Node parse(std::string_view text, const Source& source) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  check_text(text, source);
  Positions positions(text);
  Builder builder(source, positions);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    Node root = builder.take();
    if (!root.origin) root.origin = std::make_shared<const std::string>(source.name);
    Builder second(source, positions);
    if (parser.HandleNextDocument(second)) {
      const Node found = second.take();
      throw SetupError(found.origin ? found.where() : source.name, "a second YAML document begins",
                       "Keep one scenario in a file; remove the line with ---.");
    }
    return root;
  } catch (const YAML::Exception& error) {
    const Position position = positions.at(error.mark);
    const std::string where =
        source.has_positions ? fmt::format("{}:{}:{}", source.name, position.line, position.column)
                             : source.name;
    if (error.msg.starts_with(YAML::ErrorMsg::UNKNOWN_ANCHOR)) {
      throw SetupError(where, std::string(kNoAnchors), std::string(kNoAnchorsRemedy));
    }
    if (positions.tab_indents(error.mark)) {
      throw SetupError(where, "not valid YAML: a tab indents this line", "Indent with spaces.");
    }
    throw SetupError(where, fmt::format("not valid YAML: {}", error.msg),
                     "Check the indentation, the space after each colon, and that brackets and "
                     "quotes are closed.");
  }
}

}  // namespace longhaul::yaml
