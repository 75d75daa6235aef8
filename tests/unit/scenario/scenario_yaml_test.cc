#include "tools/longhaul/scenario_yaml.h"

#include "core/base/error.h"
#include "tests/catch.h"

namespace longhaul::yaml {
namespace {

Node parse_text(const std::string& text) { return parse(text, {"f.yaml", true}); }

TEST_CASE("Commas inside parentheses do not end a value in flow style") {
  const auto [text, spelled] = GENERATE(table<std::string, std::string>({
      {"[sr(nack), ec(32,8)]", "[sr(nack), ec(32,8)]"},
      {"[ec(32, 8), ec( 16 , 4 ), sr]", "[ec(32,8), ec( 16,4 ), sr]"},
      {"[ec(32,8,fallback=0.5rtt)]", "[ec(32,8,fallback=0.5rtt)]"},
      {"{policy: ec(32,8), below: 1.2}", "{policy: ec(32,8), below: 1.2}"},
      {"{below: 1.2, policy: ec(32,8,fallback=0.5rtt)}",
       "{below: 1.2, policy: ec(32,8,fallback=0.5rtt)}"},
      {"[{policy: ec(32,8)}, [ec(4,1), a]]", "[{policy: ec(32,8)}, [ec(4,1), a]]"},
      {"[ec(32,\n  8), sr]", "[ec(32,8), sr]"},
      {"[f(g(1,2),3), b]", "[f(g(1,2),3), b]"},
      {"[\"ec(32\", 8)]", "[ec(32, 8)]"},  // quoted: as written
      {"[ec(32, \"8)\"]", "[ec(32, 8)]"},
      {"[a, b]", "[a, b]"},
      {"{a: 1, b: 2}", "{a: 1, b: 2}"},
  }));
  const Node node = parse_text(text);
  CHECK(node.spelled() == spelled);
}

TEST_CASE("Joined values keep the place of their beginning") {
  const Node node = parse_text("a: [sr(nack), ec(32,8), x]");
  const Node& list = *node.find("a");
  REQUIRE(list.items.size() == 3);
  CHECK(list.items[1].where() == "f.yaml:1:15");
  CHECK(list.items[2].where() == "f.yaml:1:25");
}

TEST_CASE("Block style needs no joining") {
  const Node node = parse_text("p:\n  - ec(32,8)\n  - ec(16,4)\n");
  CHECK(node.find("p")->items.size() == 2);
  CHECK(node.find("p")->items[1].where() == "f.yaml:3:5");
}

TEST_CASE("Places count lines and characters from one") {
  const Node node = parse_text("# µ\nname: \"µµ\" # µ\nµ: [µ, b]\n");
  CHECK(node.entries[0].value.where() == "f.yaml:2:7");
  CHECK(node.entries[1].key.where() == "f.yaml:3:1");
  CHECK(node.entries[1].value.items[0].where() == "f.yaml:3:5");
  CHECK(node.entries[1].value.items[1].where() == "f.yaml:3:8");
}

TEST_CASE("A missing value stands where its key does") {
  const Node node = parse_text("a: 1\nb:\nc: 2\n");
  CHECK(node.find("b")->kind == Node::Kind::null);
  CHECK(node.find("b")->where() == "f.yaml:2:1");
}

TEST_CASE("The command line has no lines") {
  const Node node = parse("[1, 2]", {"--set a=[1, 2]", false});
  CHECK(node.items[1].where() == "--set a=[1, 2]");
}

TEST_CASE("Nothing is a null node, with an origin") {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "~", "\xef\xbb\xbf"}) {
    const Node node = parse_text(text);
    CHECK(node.kind == Node::Kind::null);
    CHECK_THAT(node.where(), ContainsSubstring("f.yaml"));
  }
}

TEST_CASE("Hostile input ends quickly with an error") {
  const std::string text = GENERATE(
      std::string(200'000, '['), std::string(200'000, '{'),
      []() {
        std::string repeated;
        for (int i = 0; i < 100'000; ++i) repeated += "- ";
        return repeated;
      }(),
      []() {
        std::string repeated;
        for (int i = 0; i < 100'000; ++i) repeated += "? ";
        return repeated;
      }());
  CHECK_THROWS_WITH(parse_text(text), ContainsSubstring("nested more than 16 deep"));
}

TEST_CASE("A long line of many items is read in time proportional to it") {
  std::string text = "[";
  for (int i = 0; i < 100'000; ++i) text += "x,";
  CHECK(parse_text(text + "x]").items.size() == 100'001);
}

}  // namespace
}  // namespace longhaul::yaml
