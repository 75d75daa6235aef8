#include "core/base/edit_distance.h"

#include <array>

#include "tests/catch.h"

namespace longhaul {
namespace {

TEST_CASE("the nearest word is the one that was meant") {
  constexpr std::array kWords = {"rtt", "rate", "distance", "loss"};
  REQUIRE(nearest_word("rat", kWords) == "rate");  // as near to rtt, but its beginning
  REQUIRE(nearest_word("rt", kWords) == "rtt");
  REQUIRE(nearest_word("los", kWords) == "loss");
  REQUIRE(nearest_word("distnace", kWords) == "distance");
  REQUIRE(nearest_word("bananas", kWords).empty());
}

}  // namespace
}  // namespace longhaul
