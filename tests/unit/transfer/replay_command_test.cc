#include "tools/longhaul/command_replay.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "core/transfer/command_text.h"
#include "core/transfer/recording.h"
#include "core/wire/control.h"
#include "tests/catch.h"
#include "tools/longhaul/command_run.h"

namespace longhaul {
namespace {

/// A file that goes when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<std::byte>& content) {
    std::string name =
        (std::filesystem::temp_directory_path() / "longhaul-recording-XXXXXX").string();
    const int file = mkstemp(name.data());
    REQUIRE(file >= 0);
    REQUIRE(write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    close(file);
    path_ = name;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// One turn, of which `commands` are claimed.
std::vector<std::byte> recording_of_one_turn(uint64_t commands) {
  std::vector<std::byte> bytes;
  Recorder recorder({}, {1024, 8, 1'000'000'000, 102, 1024, true}, bytes);
  recorder.turn({}, {});
  recorder.outcome(commands, 0, commands, commands);
  recorder.finish();
  return bytes;
}

/// What the command complains about.
std::string refusal(const std::string& file) {
  try {
    replay_command({file, false});
  } catch (const SetupError& error) {
    REQUIRE(error.where().starts_with(file));
    REQUIRE(!error.remedy().empty());
    return error.what();
  }
  return {};
}

TEST_CASE("longhaul replay succeeds when all commands are as recorded, and fails otherwise") {
  const TemporaryFile same(recording_of_one_turn(0)), different(recording_of_one_turn(3));
  REQUIRE(replay_command({same.path(), true}) == kExitPassed);
  REQUIRE(replay_command({different.path(), true}) == kExitFailed);
}

TEST_CASE("longhaul replay refuses what it cannot replay, in words") {
  const auto says = [](const std::string& text, const char* what) {
    return text.find(what) != std::string::npos;
  };
  auto bytes = recording_of_one_turn(0);
  bytes.pop_back();
  const TemporaryFile cut(bytes), none({std::byte{'x'}}), empty({});
  REQUIRE(says(refusal(cut.path()), "cut short"));
  REQUIRE(says(refusal(cut.path()), "as recorded before it: 1 turn)"));
  REQUIRE(says(refusal(none.path()), "not a recording"));
  REQUIRE(says(refusal(empty.path()), "not a recording"));
  bytes.pop_back();  // and the outcome of the turn
  REQUIRE(!says(refusal(TemporaryFile(bytes).path()), "as recorded before it"));
  bytes[recording::kMagic.size()] = std::byte{9};
  REQUIRE(says(refusal(TemporaryFile(bytes).path()), "version 9"));
  REQUIRE(says(refusal(none.path() + ".missing"), "cannot open"));
  REQUIRE(says(refusal(std::filesystem::temp_directory_path().string()), "folder"));
}

TEST_CASE("commands and events read as words") {
  std::vector<std::byte> bytes;
  encode_control(1, Complete{MessageRole::plain, 4, CompletionStatus::partial, 0}, bytes);
  const auto size = static_cast<uint32_t>(bytes.size());
  REQUIRE(describe(Command{SendControl{0, size}}, bytes) == "send complete of message 4, in part");
  REQUIRE(describe(Command{SendControl{0, 3}}, bytes) ==
          "send a control message of 3 bytes that cannot be read");
  REQUIRE(describe(Command{WriteRun{1, 0, 3, 32, 16, 1024, {}, 0, 0}}, {}) ==
          "write 16 packets from 32 to slot 3 of generation 0, channel 1");
  REQUIRE(describe(Command{ReleaseReceive{2, 7}}, {}) == "release slot 7 of generation 2");
  REQUIRE(describe(Event{PacketsArrived{0, 1, 2, 5, 1, 0, {}, {}}}, {}) ==
          "1 packet from 5 arrived in slot 2 of generation 1, channel 0");
  REQUIRE(describe(Event{FaultRaised{FaultRaised::Kind::peer_gone, 1}}, {}) == "the peer is gone");
}

}  // namespace
}  // namespace longhaul
