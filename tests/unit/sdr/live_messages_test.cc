#include <cstdint>

#include "core/sdr/ceiling.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

constexpr uint64_t kRate = 400'000'000'000;
constexpr uint64_t kMiB = 1 << 20;
constexpr Duration kRoundTrip = Duration::milliseconds(50);

std::string note(uint32_t generations, uint64_t message_bytes = kMiB,
                 Duration quarantine = Duration::milliseconds(51)) {
  return ceiling_note(generations, message_bytes, kRate, kRoundTrip, quarantine).value_or("");
}

TEST_CASE("too few live messages for the path are noted with what would be enough") {
  CHECK(note(1) ==
        "1024 messages can be live with 1 generation; of 1048576 bytes each, they carry at most "
        "171.8 Gb/s over a round trip of 50 ms, and at most 85 Gb/s while a slot rests 51 ms "
        "after each use; 400 Gb/s needs 2385 live messages. Set generations to 5, or send messages "
        "of at least 4817 KiB");
  CHECK_THAT(note(3), ContainsSubstring("2048 messages can be live with 3 generations"));
  CHECK_THAT(note(3), ContainsSubstring("at most 343.6 Gb/s over a round trip of 50 ms"));
}

TEST_CASE("enough live messages are not enough while too many slots rest") {
  // 3072 >= 2385 may be live with four generations, but 4096 slots in 101 ms make 40,554
  // messages/s.
  CHECK_THAT(note(4), ContainsSubstring("at most 340.2 Gb/s while a slot rests 51 ms"));
  CHECK_THAT(note(4), ContainsSubstring("Set generations to 5, or send messages of at least 1205 "
                                        "KiB"));
  CHECK(note(5).empty());
  CHECK(note(4, 1205 * 1024).empty());
  CHECK_FALSE(note(4, 1204 * 1024).empty());
  CHECK(note(4, kMiB, Duration{}).empty());
  CHECK_FALSE(note(3, kMiB, Duration{}).empty());
}

TEST_CASE("where no number of generations helps, only the size is named") {
  CHECK_THAT(note(16, 4096), ContainsSubstring("No number of generations is enough (there are at "
                                               "most 16): send messages of at least 302 KiB"));
}

TEST_CASE("a path that holds no more than the live messages, or nothing, has no note") {
  const Duration second = Duration::seconds(1);
  // Exactly 1024 messages of 1000 bytes in flight, and one bit more.
  CHECK_FALSE(ceiling_note(1, 1000, 8'192'000, second, {}));
  CHECK(ceiling_note(1, 1000, 8'192'001, second, {}));
  CHECK_FALSE(ceiling_note(1, 0, 1, second, {}));
  CHECK_FALSE(ceiling_note(1, 1, 0, second, {}));
  CHECK_FALSE(ceiling_note(1, 1, 1'000'000'000, Duration{0}, {}));
  CHECK_FALSE(ceiling_note(1, 1, 1'000'000'000, -second, {}));
}

}  // namespace
}  // namespace longhaul
