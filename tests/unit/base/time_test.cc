#include "core/base/time.h"

#include <cstdint>

#include "tests/catch.h"

namespace longhaul {
namespace {

TEST_CASE("wire_time is exact where the rate divides") {
  CHECK(wire_time(4096, 400'000'000'000).ps == 81'920);
  CHECK(wire_time(1, 1).ps == 8'000'000'000'000);
  CHECK(wire_time(0, 400'000'000'000).ps == 0);
  CHECK(wire_time(1, 8'000'000'000'000).ps == 1);
}

TEST_CASE("wire_time rounds up to the picosecond") {
  CHECK(wire_time(1, 3'000'000'000'000).ps == 3);  // 2.67
  CHECK(wire_time(1, 8'000'000'000'001).ps == 1);  // just under 1
  CHECK(wire_time(1, 7'999'999'999'999).ps == 2);  // just over 1
  CHECK(wire_time(1, ~uint64_t{0}).ps == 1);       // never 0 for data
  CHECK(wire_time(4096 + 102, 400'000'000'000).ps == 83'960);
}

TEST_CASE("wire_time survives sizes where 64-bit bit counts overflow") {
  constexpr uint64_t kRate = 400'000'000'000;
  for (const uint64_t bytes : {uint64_t{1} << 31, (uint64_t{1} << 32) - 1, uint64_t{1} << 32,
                               (uint64_t{1} << 32) + 1, uint64_t{8} << 30, uint64_t{1} << 40}) {
    CAPTURE(bytes);
    CHECK(wire_time(bytes, kRate).ps == static_cast<int64_t>(bytes * 20));
  }
}

TEST_CASE("Durations and instants add, compare and divide") {
  const Instant start{5};
  CHECK((start + Duration::nanoseconds(2)).ps == 2005);
  CHECK((start + Duration::seconds(1)) - start == Duration::milliseconds(1000));
  CHECK(Duration::microseconds(3) == Duration::nanoseconds(3000));
  CHECK(Duration::microseconds(7) / Duration::microseconds(2) == 3);
  CHECK(Duration::microseconds(7) / 2 == Duration::nanoseconds(3500));
  CHECK(-Duration::nanoseconds(1) < Duration{});
  CHECK(start < Instant::never());
}

}  // namespace
}  // namespace longhaul
