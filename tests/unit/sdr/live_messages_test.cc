#include <cstdint>

#include "core/sdr/connect.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

TEST_CASE("one generation of several drains, the others hold live messages") {
  CHECK(live_message_limit(1) == 1024);
  CHECK(live_message_limit(2) == 1024);
  CHECK(live_message_limit(3) == 2048);
  CHECK(live_message_limit(16) == 15360);
}

TEST_CASE("too few live messages for the path are noted with what would be enough") {
  constexpr uint64_t kRate = 400'000'000'000;
  constexpr uint64_t kMiB = 1 << 20;
  const Duration round_trip = Duration::milliseconds(50);
  CHECK(ceiling_note(1, kMiB, kRate, round_trip) ==
        "1024 messages can be live with 1 generation; of 1048576 bytes each, they carry at most "
        "171.8 Gb/s over a round trip of 50 ms; 400 Gb/s needs 2385 live messages. Set generations "
        "to 4, or send messages of at least 2385 KiB");
  CHECK(ceiling_note(3, kMiB, kRate, round_trip) ==
        "2048 messages can be live with 3 generations; of 1048576 bytes each, they carry at most "
        "343.6 Gb/s over a round trip of 50 ms; 400 Gb/s needs 2385 live messages. Set generations "
        "to 4, or send messages of at least 1193 KiB");
  CHECK_FALSE(ceiling_note(4, kMiB, kRate, round_trip));
  CHECK_FALSE(ceiling_note(1, 2385 * 1024, kRate, round_trip));
  CHECK(ceiling_note(1, 2384 * 1024, kRate, round_trip));
  CHECK_THAT(ceiling_note(16, 4096, kRate, Duration::microseconds(50'125)).value_or(""),
             ContainsSubstring("a round trip of 50.125 ms; 400 Gb/s needs 611878 live messages. No "
                               "number of generations is enough (there are at most 16): send "
                               "messages of at least 160 KiB"));
}

TEST_CASE("a path that holds no more than the live messages, or nothing, has no note") {
  // Exactly 1024 messages of 1000 bytes in flight, and one bit more.
  CHECK_FALSE(ceiling_note(1, 1000, 8'192'000, Duration::seconds(1)));
  CHECK(ceiling_note(1, 1000, 8'192'001, Duration::seconds(1)));
  CHECK_FALSE(ceiling_note(1, 0, 1, Duration::seconds(1)));
  CHECK_FALSE(ceiling_note(1, 1, 0, Duration::seconds(1)));
  CHECK_FALSE(ceiling_note(1, 1, 1'000'000'000, Duration{0}));
  CHECK_FALSE(ceiling_note(1, 1, 1'000'000'000, -Duration::seconds(1)));
}

}  // namespace
}  // namespace longhaul
