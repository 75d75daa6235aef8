#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/rng.h"
#include "core/path/loss.h"
#include "tests/catch.h"
#include "tests/unit/statistics.h"

namespace longhaul {
namespace {

using testing::binomial_deviation;
using testing::chi_square;
using testing::chi_square_limit;
using testing::kNormalLimit;

std::vector<uint64_t> first_losses(const LossSpec& spec, Rng rng, size_t count) {
  const auto process = make_loss_process(spec, rng);
  std::vector<uint64_t> lost;
  for (uint64_t slot = 0; lost.size() < count; ++slot) {
    lost.push_back(slot = process->next_lost(slot));
  }
  return lost;
}

/// The law of the distance between neighbouring losses of a Gilbert-Elliott process, slot by slot
/// from the chain's definition: nothing is shared with the sampler.
class GapLaw {
 public:
  explicit GapLaw(const LossSpec& spec) : spec_(spec) {
    const double bad = spec.good_to_bad / (spec.good_to_bad + spec.bad_to_good);
    const double loss = bad * spec.loss_in_bad + (1 - bad) * spec.loss_in_good;
    good_ = (1 - bad) * spec.loss_in_good / loss;
    bad_ = bad * spec.loss_in_bad / loss;
  }

  /// P(distance = 1), then 2, and so on.
  double next() {
    const double good = good_ * (1 - spec_.good_to_bad) + bad_ * spec_.bad_to_good;
    const double bad = good_ * spec_.good_to_bad + bad_ * (1 - spec_.bad_to_good);
    good_ = good * (1 - spec_.loss_in_good);
    bad_ = bad * (1 - spec_.loss_in_bad);
    return good * spec_.loss_in_good + bad * spec_.loss_in_bad;
  }

 private:
  LossSpec spec_;
  double good_ = 0;  ///< probability of no loss so far, and of this state
  double bad_ = 0;
};

/// Chi-square of the distances between neighbours against `law` (P(1), P(2), ...), in classes of at
/// least 50 expected; the last holds the rest. Returns statistic / limit: below 1 is a fit.
template <typename Law>
double gap_fit(const std::vector<uint64_t>& lost, Law law) {
  const auto total = static_cast<double>(lost.size() - 1);
  std::vector<uint64_t> last_in_class;
  std::vector<double> expected;
  double filled = 0;
  double rest = total;
  for (uint64_t distance = 1; rest > 100 && last_in_class.size() < 500; ++distance) {
    filled += total * law.next();
    if (filled < 50) continue;
    last_in_class.push_back(distance);
    expected.push_back(filled);
    rest -= filled;
    filled = 0;
  }
  expected.push_back(rest);
  std::vector<uint64_t> observed(expected.size());
  for (size_t i = 1; i < lost.size(); ++i) {
    const auto found =
        std::lower_bound(last_in_class.begin(), last_in_class.end(), lost[i] - lost[i - 1]);
    ++observed[static_cast<size_t>(found - last_in_class.begin())];
  }
  if (expected.back() < 1e-6) {
    CHECK(observed.back() == 0);
    expected.pop_back();
    observed.pop_back();
  }
  if (expected.size() == 1) return 0;
  return chi_square(observed, expected) / chi_square_limit(expected.size());
}

class GeometricLaw {
 public:
  explicit GeometricLaw(double rate) : rate_(rate) {}
  double next() {
    const double value = survival_ * rate_;
    survival_ *= 1 - rate_;
    return value;
  }

 private:
  double rate_;
  double survival_ = 1;
};

TEST_CASE("Bernoulli gaps are geometric") {
  for (const double rate : {0.9, 0.5, 0.1, 1e-2, 1e-3}) {
    CAPTURE(rate);
    const auto lost = first_losses(LossSpec::bernoulli(rate), Rng(11), 200'000);
    CHECK(gap_fit(lost, GeometricLaw(rate)) < 1);
    // A law 5 % off is told apart, so the test above means something.
    CHECK(gap_fit(lost, GeometricLaw(rate * 0.95)) > 1);
  }
}

TEST_CASE("Bernoulli losses pass the runs test of Wald and Wolfowitz") {
  for (const double rate : {0.5, 0.1, 1e-3}) {
    CAPTURE(rate);
    const auto lost = first_losses(LossSpec::bernoulli(rate), Rng(12), 50'000);
    const auto slots = static_cast<double>(lost.back() + 1);
    const auto losses = static_cast<double>(lost.size());
    double runs = lost.front() == 0 ? 1 : 2;
    for (size_t i = 1; i < lost.size(); ++i) runs += lost[i] - lost[i - 1] > 1 ? 2 : 0;
    const double product = 2 * losses * (slots - losses);
    const double mean = product / slots + 1;
    const double variance = product * (product - slots) / (slots * slots * (slots - 1));
    CHECK(std::abs(runs - mean) / std::sqrt(variance) < kNormalLimit);
  }
}

TEST_CASE("Gilbert-Elliott gaps follow the chain's law") {
  const LossSpec specs[] = {
      LossSpec::bursts(0.01, 10),
      LossSpec::bursts(1e-3, 1),
      LossSpec::bursts(0.3, 2),
      LossSpec::gilbert_elliott(0.02, 0.1, 0.01, 0.6),
      LossSpec::gilbert_elliott(0.3, 0.7, 0.2, 1),
      LossSpec::gilbert_elliott(0.1, 0.05, 1, 0.02),
      LossSpec::gilbert_elliott(0.9, 0.95, 0, 0.5),
      LossSpec::gilbert_elliott(1, 1, 0.1, 0.2),
      LossSpec::gilbert_elliott(0.01, 0, 0, 0.2),
  };
  for (const LossSpec& spec : specs) {
    CAPTURE(spec.good_to_bad, spec.bad_to_good, spec.loss_in_good, spec.loss_in_bad);
    const auto lost = first_losses(spec, Rng(13), 200'000);
    CHECK(gap_fit(lost, GapLaw(spec)) < 1);
    LossSpec other = spec;
    other.loss_in_good = spec.loss_in_good * 0.95 + 0.01;
    other.loss_in_bad = spec.loss_in_bad * 0.95;
    CHECK(gap_fit(lost, GapLaw(other)) > 1);
  }
}

TEST_CASE("Bursts are as long and as frequent as asked for") {
  constexpr double kRate = 0.02;
  constexpr double kBurst = 25;
  const auto lost = first_losses(LossSpec::bursts(kRate, kBurst), Rng(14), 1'000'000);
  double bursts = 1;
  for (size_t i = 1; i < lost.size(); ++i) bursts += lost[i] - lost[i - 1] > 1 ? 1 : 0;
  // 40,000 bursts of geometric length: the mean deviates by 0.5 % (one standard deviation).
  CHECK(static_cast<double>(lost.size()) / bursts == Approx(kBurst).epsilon(0.02));
  CHECK(static_cast<double>(lost.size()) / static_cast<double>(lost.back() + 1) ==
        Approx(kRate).epsilon(0.03));
}

TEST_CASE("A process starts in its stationary state") {
  constexpr uint64_t kRuns = 50'000;
  for (const LossSpec& spec : {LossSpec::bernoulli(0.05), LossSpec::bursts(0.05, 20),
                               LossSpec::gilbert_elliott(0.02, 0.1, 0.01, 0.6)}) {
    std::array<uint64_t, 3> lost{};
    constexpr std::array<uint64_t, 3> kSlots = {0, 1, 40};
    for (uint64_t run = 0; run < kRuns; ++run) {
      const auto process = make_loss_process(spec, Rng(15).fork(run));
      for (size_t i = 0; i < kSlots.size(); ++i) {
        lost[i] += process->next_lost(kSlots[i]) == kSlots[i] ? 1 : 0;
      }
    }
    for (const uint64_t count : lost) {
      CHECK(std::abs(binomial_deviation(count, kRuns, spec.mean_loss())) < kNormalLimit);
    }
  }
}

TEST_CASE("Losses of forked generators are independent") {
  constexpr uint64_t kSlots = 1'000'000;
  constexpr double kRate = 0.02;
  const LossSpec spec = LossSpec::bernoulli(kRate);
  std::vector<std::vector<bool>> lost(4, std::vector<bool>(kSlots));
  for (uint64_t label = 0; label < lost.size(); ++label) {
    const auto process = make_loss_process(spec, Rng(16).fork(label));
    for (uint64_t slot = process->next_lost(0); slot < kSlots;
         slot = process->next_lost(slot + 1)) {
      lost[label][slot] = true;
    }
  }
  for (size_t a = 0; a < lost.size(); ++a) {
    for (size_t b = a + 1; b < lost.size(); ++b) {
      uint64_t both = 0;
      for (uint64_t slot = 0; slot < kSlots; ++slot) both += lost[a][slot] && lost[b][slot] ? 1 : 0;
      CAPTURE(a, b);
      CHECK(std::abs(binomial_deviation(both, kSlots, kRate * kRate)) < kNormalLimit);
    }
  }
}

}  // namespace
}  // namespace longhaul
