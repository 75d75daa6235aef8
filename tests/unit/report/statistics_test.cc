#include "tools/longhaul/statistics.h"

#include <numeric>
#include <vector>

#include "core/base/rng.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

TEST_CASE("nearest rank is exact, also where 0.999 has no double") {
  CHECK(nearest_rank(1, kP50) == 1);
  CHECK(nearest_rank(2, kP50) == 1);
  CHECK(nearest_rank(3, kP50) == 2);
  CHECK(nearest_rank(100, kP99) == 99);
  CHECK(nearest_rank(101, kP99) == 100);
  CHECK(nearest_rank(999, kP999) == 999);
  CHECK(nearest_rank(1000, kP999) == 999);
  CHECK(nearest_rank(1001, kP999) == 1000);
  CHECK(nearest_rank(2000, kP999) == 1998);
  CHECK(nearest_rank(~uint64_t{0}, kP999) == 18428297329635842064u);
}

TEST_CASE("ranks of quantile intervals agree with binomial sums in whole numbers") {
  struct Row {
    uint64_t count;
    Quantile quantile;
    uint64_t lower, upper;  // 0: none
  };
  // From the sums of C(n, k) p^k q^(n-k) in exact integer arithmetic; (6: 1, 6), (10: 2, 9) and
  // (100: 40, 61) of the median are in the usual tables.
  const Row row = GENERATE(values<Row>({{5, kP50, 0, 0},
                                        {6, kP50, 1, 6},
                                        {10, kP50, 2, 9},
                                        {100, kP50, 40, 61},
                                        {100, kP99, 97, 0},
                                        {1000, kP99, 983, 997},
                                        {1000, kP999, 997, 0},
                                        {3687, kP999, 3679, 0},
                                        {3688, kP999, 3680, 3688},
                                        {10000, kP999, 9983, 9997}}));
  const RankInterval ranks = quantile_ranks(row.count, row.quantile);
  CAPTURE(row.count, row.quantile.value());
  CHECK(ranks.lower == row.lower);
  CHECK(ranks.upper == row.upper);
}

TEST_CASE("large counts follow the normal approximation") {
  // n p -+ 1.96 sqrt(n p q) = 990000 -+ 195.0.
  const RankInterval ranks = quantile_ranks(1'000'000, kP99);
  CHECK(ranks.lower == Approx(989'805).margin(2));
  CHECK(ranks.upper == Approx(990'196).margin(2));
}

TEST_CASE("quantiles with their intervals") {
  std::vector<double> samples(10);
  std::iota(samples.begin(), samples.end(), 1);
  const Estimate median = quantile_estimate(samples, kP50);
  CHECK(median.value == 5.0);
  CHECK(median.lower == 2.0);
  CHECK(median.upper == 9.0);
  const Estimate tail = quantile_estimate(samples, kP99);
  CHECK(tail.value == 10.0);
  CHECK_FALSE(tail.upper);
}

TEST_CASE("the median's interval covers it as often as it says") {
  const Rng root(20'260'101);
  int covered = 0;
  constexpr int kExperiments = 2000;
  for (uint64_t i = 0; i < kExperiments; ++i) {
    Rng rng = root.fork(i);
    std::vector<double> samples(200);
    for (double& sample : samples) sample = rng.open_unit();
    const Estimate median = describe(samples).p50;
    covered += *median.lower <= 0.5 && 0.5 <= *median.upper ? 1 : 0;
  }
  // Exact coverage is 96.0 %; four standard errors are 1.8 %.
  CHECK(covered > 0.942 * kExperiments);
  CHECK(covered < 0.978 * kExperiments);
}

TEST_CASE("mean and Student's interval") {
  const std::vector<double> samples = {1, 2, 3, 4, 5};
  const Estimate mean = mean_estimate(samples);
  CHECK(*mean.value == Approx(3));
  // s = sqrt(2.5), t(4) = 2.7764: 2.7764 * sqrt(2.5 / 5).
  CHECK(*mean.lower == Approx(3 - 1.96321).epsilon(1e-5));
  CHECK(*mean.upper == Approx(3 + 1.96321).epsilon(1e-5));

  CHECK(student_t_975(1) == Approx(12.7062));
  CHECK(student_t_975(5) == Approx(2.5706).epsilon(1e-4));
  CHECK(student_t_975(10) == Approx(2.2281).epsilon(1e-4));
  CHECK(student_t_975(30) == Approx(2.0423).epsilon(1e-4));
  CHECK(student_t_975(1'000'000) == Approx(1.95996).epsilon(1e-5));
}

TEST_CASE("few samples give fewer numbers, not wrong ones") {
  const Distribution none = describe({});
  CHECK(none.count == 0);
  CHECK_FALSE(none.mean.value);
  CHECK_FALSE(none.p999.value);
  CHECK_FALSE(none.max.value);

  std::vector<double> one = {7};
  const Distribution single = describe(one);
  CHECK(single.mean.value == 7.0);
  CHECK_FALSE(single.mean.lower);
  CHECK(single.p50.value == 7.0);
  CHECK_FALSE(single.p50.lower);
  CHECK(single.max.value == 7.0);
}

TEST_CASE("describe sorts") {
  std::vector<double> samples = {3, 1, 2};
  const Distribution d = describe(samples);
  CHECK(d.p50.value == 2.0);
  CHECK(d.max.value == 3.0);
}

}  // namespace
}  // namespace longhaul
