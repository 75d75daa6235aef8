#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/path/loss.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

constexpr uint64_t kNever = LossProcess::kNever;

struct Named {
  const char* name;
  LossSpec spec;
};

std::vector<Named> samples() {
  return {{"bernoulli 1e-3", LossSpec::bernoulli(1e-3)},
          {"bernoulli 0.3", LossSpec::bernoulli(0.3)},
          {"bernoulli 0.999", LossSpec::bernoulli(0.999)},
          {"bursts of 1", LossSpec::bursts(0.1, 1)},
          {"bursts of 50", LossSpec::bursts(0.05, 50)},
          {"both states lossy", LossSpec::gilbert_elliott(0.02, 0.1, 0.01, 0.6)},
          {"good is the lossy one", LossSpec::gilbert_elliott(0.2, 0.1, 1, 0.05)},
          {"alternating", LossSpec::gilbert_elliott(1, 1, 0, 1)},
          {"never leaves bad", LossSpec::gilbert_elliott(0.01, 0, 0, 0.5)},
          {"scripted", LossSpec::scripted({0, 1, 5, 99, 100, 4321})}};
}

std::vector<uint64_t> losses_below(const LossSpec& spec, uint64_t seed, uint64_t end) {
  const auto process = make_loss_process(spec, Rng(seed));
  std::vector<uint64_t> lost;
  for (uint64_t slot = process->next_lost(0); slot < end; slot = process->next_lost(slot + 1)) {
    lost.push_back(slot);
  }
  return lost;
}

TEST_CASE("The lost slots do not depend on which queries were made") {
  constexpr uint64_t kEnd = 20'000;
  for (const Named& sample : samples()) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      CAPTURE(sample.name, seed);
      const std::vector<uint64_t> lost = losses_below(sample.spec, seed, kEnd);
      const auto truth = [&](uint64_t slot) {
        const auto found = std::lower_bound(lost.begin(), lost.end(), slot);
        return found == lost.end() ? kEnd : *found;
      };
      for (const uint64_t stride : {1u, 2u, 30u, 3000u}) {
        const auto process = make_loss_process(sample.spec, Rng(seed));
        Rng walk = Rng(seed).fork(stride);
        uint64_t disagreements = 0;
        for (uint64_t slot = 0; slot < kEnd;) {
          const uint64_t answer = process->next_lost(slot);
          disagreements += std::min(answer, kEnd) != truth(slot) ? 1 : 0;
          // Stride 1 asks at every slot; the others repeat queries and skip.
          slot += stride == 1 ? 1 : walk.below(stride + 1);
        }
        CAPTURE(stride);
        CHECK(disagreements == 0);
      }
    }
  }
}

TEST_CASE("The same seed gives the same losses, another seed others") {
  for (const Named& sample : samples()) {
    if (sample.spec.model == LossModel::scripted) continue;
    CAPTURE(sample.name);
    CHECK(losses_below(sample.spec, 1, 10'000) == losses_below(sample.spec, 1, 10'000));
    if (std::string(sample.name) == "alternating") continue;
    CHECK(losses_below(sample.spec, 1, 10'000) != losses_below(sample.spec, 2, 10'000));
  }
}

// Computed apart from this code, from the definitions. Whoever changes the sampler, the generator
// or the arithmetic changes every result ever published for a seed, and should know it.
TEST_CASE("Known losses of seed 1") {
  const auto first = [](size_t count, const LossSpec& spec) {
    std::vector<uint64_t> lost;
    const auto process = make_loss_process(spec, Rng(1));
    for (uint64_t slot = 0; lost.size() < count; ++slot) {
      lost.push_back(slot = process->next_lost(slot));
    }
    return lost;
  };
  CHECK(first(5, LossSpec::bernoulli(1e-9)) ==
        std::vector<uint64_t>{208732689, 500282611, 2801359805, 3094098815, 4783237228});
  CHECK(first(3, LossSpec::bernoulli(1e-12)) ==
        std::vector<uint64_t>{208732689770, 500282611171, 2801359806276});
  CHECK(first(14, LossSpec::bursts(1e-6, 3)) ==
        std::vector<uint64_t>{874649, 874650, 874651, 874652, 874653, 874654, 1752872, 1752873,
                              1752874, 1752875, 1752876, 3333340, 5275470, 5275471});
  CHECK(first(14, LossSpec::gilbert_elliott(0.02, 0.1, 0.01, 0.6)) ==
        std::vector<uint64_t>{16, 17, 51, 53, 56, 58, 61, 64, 65, 66, 67, 68, 70, 158});
}

TEST_CASE("A process without loss never answers") {
  for (const LossSpec& spec :
       {LossSpec::none(), LossSpec::bernoulli(0), LossSpec::bursts(0, 10), LossSpec::scripted({}),
        LossSpec::gilbert_elliott(0, 0.5, 0, 1), LossSpec::gilbert_elliott(0.5, 0.5, 0, 0)}) {
    const auto process = make_loss_process(spec, Rng(1));
    for (const uint64_t slot : {uint64_t{0}, uint64_t{1} << 40, kNever - 1, kNever}) {
      CHECK(process->next_lost(slot) == kNever);
    }
  }
}

TEST_CASE("Rates too small for 64-bit slots end at never, not in a wrapped number") {
  uint64_t never = 0;
  for (const double rate : {1e-300, 1e-25, 1e-19, 1e-18, 1e-12}) {
    CAPTURE(rate);
    for (uint64_t seed = 0; seed < 50; ++seed) {
      for (const LossSpec& spec : {LossSpec::bernoulli(rate), LossSpec::bursts(rate, 3)}) {
        const auto process = make_loss_process(spec, Rng(seed));
        uint64_t last = process->next_lost(0);
        for (int i = 0; i < 100 && last != kNever; ++i) {
          const uint64_t next = process->next_lost(last + 1);
          REQUIRE(next > last);
          last = next;
        }
        if (last == kNever) ++never;
        if (rate < 1e-22) CHECK(process->next_lost(uint64_t{1} << 62) == kNever);
      }
    }
  }
  CHECK(never >= 200);  // at 1e-300 and 1e-25 always
}

TEST_CASE("A rate of 1e-12 has gaps near 1e12") {
  const auto process = make_loss_process(LossSpec::bernoulli(1e-12), Rng(4));
  uint64_t slot = 0;
  for (int i = 0; i < 10'000; ++i) slot = process->next_lost(slot + 1);
  // The sum of 10,000 gaps deviates by 1 % (one standard deviation).
  CHECK(static_cast<double>(slot) == Approx(1e16).epsilon(0.04));
}

TEST_CASE("A long burst is passed in one step") {
  // Bursts of 1e9 slots: a process that walked them would not return in time.
  const auto process = make_loss_process(LossSpec::bursts(0.5, 1e9), Rng(2));
  uint64_t lost = 0;
  for (uint64_t slot = 0; slot < 1'000'000'000'000; slot += 10'000'000) {
    lost += process->next_lost(slot) == slot ? 1 : 0;
  }
  CHECK(lost > 30'000);
  CHECK(lost < 70'000);
}

TEST_CASE("scripted answers by packet number, data and control apart") {
  const LossSpec spec = LossSpec::scripted({7, 2, 7}, {0});
  const auto data = make_loss_process(spec, Rng(1));
  CHECK(data->next_lost(0) == 2);
  CHECK(data->next_lost(2) == 2);
  CHECK(data->next_lost(3) == 7);
  CHECK(data->next_lost(8) == kNever);
  const auto control = make_scripted_control_process(spec);
  CHECK(control->next_lost(0) == 0);
  CHECK(control->next_lost(1) == kNever);
  // A specification filled in by hand need not be sorted.
  LossSpec by_hand;
  by_hand.model = LossModel::scripted;
  by_hand.drop_data = {5, 1, 5};
  const auto process = make_loss_process(by_hand, Rng(1));
  CHECK(process->next_lost(0) == 1);
  CHECK(process->next_lost(2) == 5);
  CHECK(process->next_lost(6) == kNever);
}

}  // namespace
}  // namespace longhaul
