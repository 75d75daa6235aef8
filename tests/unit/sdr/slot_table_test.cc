#include "core/sdr/slot_table.h"

#include "tests/catch.h"

namespace longhaul {
namespace {

constexpr Duration kQuarantine = Duration::milliseconds(10);
constexpr Duration kReordering = Duration::milliseconds(1);

Instant at(int64_t microseconds) { return Instant{} + Duration::microseconds(microseconds); }

TEST_CASE("slots go round generation by generation") {
  SlotTable table(2, kSlotsPerGeneration, kQuarantine, kReordering);
  for (uint64_t id = 0; id < kSlotsPerGeneration; ++id) {
    const auto slot = table.arm({}, {MessageRole::data, id, 0, 5});
    REQUIRE(slot == SlotId{0, static_cast<uint16_t>(id)});
  }
  REQUIRE(!table.arm({}, {}));
  table.release({0, 7}, {});
  table.retire({0, 7}, {});
  // The other generation is due; the slot that was just freed comes a whole round later.
  REQUIRE(table.arm(at(0), {}) == SlotId{1, 0});
}

TEST_CASE("an armed slot is found, any other is not, and none is out of range") {
  SlotTable table(2, 10, kQuarantine, kReordering);
  const SlotId slot = *table.arm({}, {MessageRole::parity, 77, 3, 5});
  REQUIRE(table.find(slot.generation, slot.slot)->id == 77);
  REQUIRE(table.find(slot.generation, slot.slot)->segment == 3);
  REQUIRE(table.find(1, slot.slot) == nullptr);
  REQUIRE(table.find(0, 1) == nullptr);
  REQUIRE(table.find(255, 65535) == nullptr);
  table.release(slot, {});
  REQUIRE(table.find(slot.generation, slot.slot) == nullptr);
}

TEST_CASE("a slot rests until the quarantine is over and the sender's consent has settled") {
  SlotTable table(1, kSlotsPerGeneration, kQuarantine, kReordering);
  for (uint32_t i = 0; i < kSlotsPerGeneration; ++i) table.arm({}, {});
  REQUIRE(table.next_free() == Instant::never());
  SECTION("consent in time: the quarantine decides") {
    table.release({0, 5}, at(0));
    table.retire({0, 5}, at(2000));
    REQUIRE(table.next_free() == at(10'000));
    REQUIRE(!table.arm(at(9'999), {}));
    REQUIRE(table.arm(at(10'000), {}) == SlotId{0, 5});
  }
  SECTION("consent late: what is still in flight then gets the reordering bound") {
    table.release({0, 5}, at(0));
    REQUIRE(!table.arm(at(50'000), {}));
    table.retire({0, 5}, at(50'000));
    REQUIRE(table.next_free() == at(51'000));
  }
}

TEST_CASE("a late packet is told from one that is later than its slot rests") {
  SlotTable table(2, 10, kQuarantine, kReordering);
  const SlotId slot = *table.arm({}, {});
  REQUIRE_FALSE(table.resting(0, 1, at(0)));  // never armed
  REQUIRE_FALSE(table.resting(9, 0, at(0)));  // cannot exist
  table.release(slot, at(0));
  REQUIRE(table.resting(0, 0, at(50'000)));  // the sender has not consented
  table.retire(slot, at(2000));
  REQUIRE(table.resting(0, 0, at(9'999)));
  REQUIRE_FALSE(table.resting(0, 0, at(10'000)));
}

TEST_CASE("no more are armed at once than is allowed") {
  SlotTable table(4, 3, {}, {});
  for (int i = 0; i < 3; ++i) REQUIRE(table.arm({}, {}));
  REQUIRE(table.next_free() == Instant::never());
  table.release({0, 1}, {});
  REQUIRE(table.arm({}, {}));  // the released one drains; others were free
  REQUIRE(table.armed() == 3);
}

TEST_CASE("one generation of several is always draining") {
  REQUIRE(live_message_limit(1) == 1024);
  REQUIRE(live_message_limit(2) == 1024);
  REQUIRE(live_message_limit(4) == 3072);
  REQUIRE(live_message_limit(16) == 15360);
}

}  // namespace
}  // namespace longhaul
