#include <cmath>
#include <limits>
#include <vector>

#include "core/path/loss.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("The default specification loses nothing") {
  CHECK(LossSpec{}.model == LossModel::none);
  CHECK(LossSpec::none().mean_loss() == 0);
  CHECK(LossSpec::none().validate().empty());
}

TEST_CASE("Usable specifications are accepted, with their mean loss") {
  for (const double rate : {0.0, 1e-300, 1e-12, 1e-3, 0.5, 0.999999}) {
    CAPTURE(rate);
    CHECK(LossSpec::bernoulli(rate).validate().empty());
    CHECK(LossSpec::bernoulli(rate).mean_loss() == rate);
    for (const double burst : {1.0, 1.5, 10.0, 1e6}) {
      CAPTURE(burst);
      const LossSpec spec = LossSpec::bursts(rate, burst);
      if (rate / (1 - rate) > burst) continue;
      CHECK(spec.validate().empty());
      CHECK(spec.mean_loss() == Approx(rate).epsilon(1e-14).margin(0));
      CHECK(1 / spec.bad_to_good == Approx(burst).epsilon(1e-14));
      CHECK(spec.loss_in_bad == 1);
      CHECK(spec.loss_in_good == 0);
    }
  }
  CHECK(LossSpec::bursts(0.5, 1).validate().empty());
  CHECK(LossSpec::bursts(0.9, 9).validate().empty());
  CHECK(LossSpec::gilbert_elliott(0.1, 0.3, 0.01, 0.5).validate().empty());
  CHECK(LossSpec::gilbert_elliott(0.1, 0.3, 0.01, 0.5).mean_loss() ==
        Approx(0.25 * 0.5 + 0.75 * 0.01));
  CHECK(LossSpec::gilbert_elliott(1, 1, 0, 1).validate().empty());
  CHECK(LossSpec::gilbert_elliott(1, 1, 0, 1).mean_loss() == 0.5);
  CHECK(LossSpec::gilbert_elliott(0.1, 0, 0, 0.5).mean_loss() == 0.5);
  CHECK(LossSpec::gilbert_elliott(0, 0.1, 0, 1).mean_loss() == 0);
  CHECK(LossSpec::gilbert_elliott(0, 0.1, 0, 1).validate().empty());
  CHECK(LossSpec::gilbert_elliott(0.5, 0.5, 0, 0).validate().empty());
}

TEST_CASE("scripted sorts and removes repeats, and has no mean loss") {
  const LossSpec spec = LossSpec::scripted({9, 3, 3, 0}, {2, 1, 2});
  CHECK(spec.drop_data == std::vector<uint64_t>{0, 3, 9});
  CHECK(spec.drop_control == std::vector<uint64_t>{1, 2});
  CHECK(spec.mean_loss() == 0);
  CHECK(spec.validate().empty());
}

TEST_CASE("Unusable specifications say what is wrong") {
  struct Case {
    LossSpec spec;
    const char* message;
  };
  const Case cases[] = {
      {LossSpec::bernoulli(kNan), "loss rate nan is out of range"},
      {LossSpec::bernoulli(-1e-9), "loss rate -1e-09 is out of range"},
      {LossSpec::bernoulli(1), "loss rate 1 is out of range"},
      {LossSpec::bernoulli(kInfinity), "loss rate inf is out of range"},
      {LossSpec::bursts(kNan, 4), "loss rate nan is out of range"},
      {LossSpec::bursts(-0.1, 4), "loss rate -0.1 is out of range"},
      {LossSpec::bursts(1, 4), "loss rate 1 is out of range"},
      {LossSpec::bursts(2, 4), "loss rate 2 is out of range"},
      {LossSpec::bursts(0.1, 0.5), "mean burst of 0.5 slots is too short"},
      {LossSpec::bursts(0.1, 0), "mean burst of 0 slots is too short"},
      {LossSpec::bursts(0.1, -4), "mean burst of -4 slots is too short"},
      {LossSpec::bursts(0.1, kNan), "nan is out of range"},
      {LossSpec::bursts(0.1, kInfinity), "the state never changes"},
      {LossSpec::bursts(0.75, 1), "too short for a loss rate of 0.75"},
      {LossSpec::bursts(0.99, 49), "mean burst of 49 slots is too short for a loss rate of 0.99"},
      {LossSpec::bursts(0.99, 49), "must last at least 99 slots"},
      {LossSpec::bursts(0.75, 1), "must last at least 3 slots"},
      {LossSpec::gilbert_elliott(1.5, 0.5, 0, 1), "good_to_bad 1.5 is out of range"},
      {LossSpec::gilbert_elliott(-0.5, 0.5, 0, 1), "good_to_bad -0.5 is out of range"},
      {LossSpec::gilbert_elliott(0.5, kNan, 0, 1), "bad_to_good nan is out of range"},
      {LossSpec::gilbert_elliott(0.5, 0.5, -0.1, 1), "loss_in_good -0.1 is out of range"},
      {LossSpec::gilbert_elliott(0.5, 0.5, 0, 1.1), "loss_in_bad 1.1 is out of range"},
      {LossSpec::gilbert_elliott(0, 0, 0, 1), "the state never changes"},
      {LossSpec::gilbert_elliott(0.5, 0.5, 1, 1), "every slot would be lost"},
      {LossSpec::gilbert_elliott(0.5, 0, 0, 1), "every slot would be lost"},
      {LossSpec::gilbert_elliott(0.5, 0.5, 0, 1e-12), "use bernoulli with rate 5e-13"},
      {LossSpec::scripted({1, ~uint64_t{0}}), "packet number 18446744073709551615"},
      {LossSpec::scripted({}, {~uint64_t{0}}), "packet number 18446744073709551615"},
  };
  for (const Case& bad : cases) CHECK_THAT(bad.spec.validate(), ContainsSubstring(bad.message));
}

}  // namespace
}  // namespace longhaul
