/// tests/scenarios_bad/*.yaml each begin with the message that they must provoke; what cannot be
/// such a file is here.

#include <algorithm>

#include "tests/catch.h"
#include "tests/unit/scenario/scenario_file.h"

namespace longhaul {
namespace {

const std::filesystem::path kFolder = "tests/scenarios_bad";

/// The comment lines below "# Expected:".
std::string expected_message(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line, message;
  std::getline(stream, line);
  REQUIRE(line == "# Expected:");
  const std::string prefix = "#   ";
  while (std::getline(stream, line) && line.starts_with(prefix)) {
    if (!message.empty()) message += '\n';
    message += line.substr(prefix.size());
  }
  return message;
}

TEST_CASE("Every bad scenario is refused with the message that it states") {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    CAPTURE(entry.path().string());
    CHECK(error_of(entry.path().string()) == expected_message(entry.path()));
    ++count;
  }
  CHECK(count >= 100);
}

constexpr const char* kStart =
    "Scenarios to start from are in scenarios/, such as scenarios/quickstart.yaml.";

TEST_CASE("A file that cannot be read") {
  CHECK(error_of("scenarios/quikstart.yaml") ==
        "FILE: cannot be opened: No such file or directory\n  Did you mean "
        "scenarios/quickstart.yaml?");
  CHECK(error_of("no/such/folder/x.yaml") ==
        std::string("FILE: cannot be opened: No such file or directory\n  ") + kStart);
  CHECK(error_of("scenarios") == "FILE: this is a directory\n  Name a scenario file in it.");
}

TEST_CASE("A file that is not text") {
  const std::string remedy =
      "\n  A scenario is a YAML file in UTF-8; scenarios/quickstart.yaml is one.";
  CHECK(error_of_text(std::string("\x7f"
                                  "ELF\x02\x01\x00",
                                  7)) == "FILE:1:5: byte 0x02 is not text" + remedy);
  CHECK(error_of_text(std::string("path:\n  x: \0", 12)) ==
        "FILE:2:6: byte 0x00 is not text" + remedy);
  CHECK(error_of_text("name: caf\xe9\n") == "FILE:1:10: byte 0xe9 is not text" + remedy);
  CHECK(error_of_text("name: \xed\xa0") == "FILE:1:7: byte 0xed is not text" + remedy);
  CHECK(error_of_text("\xff\xfep\0a\0") == "FILE:1:1: byte 0xff is not text" + remedy);
}

TEST_CASE("An empty file and a file too large") {
  const std::string empty =
      "FILE: the file is empty\n  Start from a copy of scenarios/quickstart.yaml.";
  CHECK(error_of_text("") == empty);
  CHECK(error_of_text("\n\n") == empty);
  CHECK(error_of_text(std::string((1 << 20) + 1, '#')) ==
        std::string("FILE: this is larger than 1 MiB, so not a scenario\n  ") + kStart);
}

TEST_CASE("A huge value is not repeated in full") {
  const std::string message =
      error_of_text(kSmallest + "seeds: " + std::string(100'000, 'x') + "\n");
  CHECK_THAT(message, ContainsSubstring("FILE:4:8: seeds: \"xxx"));
  CHECK(message.size() < 600);
}

}  // namespace
}  // namespace longhaul
