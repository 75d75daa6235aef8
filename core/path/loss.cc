#include "core/path/loss.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/check.h"
#include "core/base/logarithm.h"

namespace longhaul {
namespace {

constexpr uint64_t kNever = LossProcess::kNever;

/// Above this, losses are so much rarer than state changes that fewer than one in 5,000 shares a
/// bad state with another: independent loss in all but the work of drawing it.
constexpr double kMaxStateChangesPerLoss = 1e4;

/// first + second, or kNever when that is beyond the last slot.
uint64_t add_slots(uint64_t first, uint64_t second) {
  return second >= kNever - first ? kNever : first + second;
}

/// Number of failures before the first success, each with probability `success`.
class GeometricGap {
 public:
  explicit GeometricGap(double success)
      : success_(success), scale_(success > 0 && success < 1 ? 1 / natural_log1p(-success) : 0) {}

  /// kNever when success never comes or lies 2^63 or more away. Takes nothing from `rng` when the
  /// answer is certain.
  uint64_t draw(Rng& rng) const {
    if (success_ <= 0) return kNever;
    if (success_ >= 1) return 0;
    const double gap = natural_log(rng.open_unit()) * scale_;
    return gap < 0x1p63 ? static_cast<uint64_t>(gap) : kNever;
  }

  bool certain() const { return success_ >= 1; }

 private:
  double success_;
  double scale_;
};

/// Holds callers to the rule that queries do not go back.
class QueryOrder {
 public:
  void advance(uint64_t slot) {
    LONGHAUL_CHECK(slot >= last_);
    last_ = slot;
  }

 private:
  uint64_t last_ = 0;
};

class NoLoss final : public LossProcess {
 public:
  uint64_t next_lost(uint64_t) override { return kNever; }
};

class BernoulliLoss final : public LossProcess {
 public:
  BernoulliLoss(double rate, Rng rng) : gap_(rate), rng_(rng), next_(gap_.draw(rng_)) {}

  uint64_t next_lost(uint64_t slot) override {
    order_.advance(slot);
    while (next_ < slot) next_ = add_slots(next_ + 1, gap_.draw(rng_));
    return next_;
  }

 private:
  GeometricGap gap_;
  Rng rng_;
  uint64_t next_;
  QueryOrder order_;
};

double stationary_bad_share(const LossSpec& spec) {
  const double changes = spec.good_to_bad + spec.bad_to_good;
  return changes > 0 ? spec.good_to_bad / changes : 0;
}

class GilbertElliottLoss final : public LossProcess {
 public:
  GilbertElliottLoss(const LossSpec& spec, Rng rng)
      : good_{GeometricGap(spec.loss_in_good), GeometricGap(spec.good_to_bad)},
        bad_{GeometricGap(spec.loss_in_bad), GeometricGap(spec.bad_to_good)},
        rng_(rng) {
    enter(rng_.open_unit() < stationary_bad_share(spec) ? bad_ : good_, 0);
    find_from(0);
  }

  GilbertElliottLoss(const GilbertElliottLoss&) = delete;
  GilbertElliottLoss& operator=(const GilbertElliottLoss&) = delete;

  uint64_t next_lost(uint64_t slot) override {
    order_.advance(slot);
    while (next_ < slot) {
      // Where every slot is lost nothing is drawn, so a whole burst can be passed at once.
      find_from(state_->loss.certain() ? std::min(slot, state_end_) : next_ + 1);
    }
    return next_;
  }

 private:
  struct State {
    GeometricGap loss;
    GeometricGap leave;
  };

  void enter(const State& state, uint64_t slot) {
    state_ = &state;
    state_end_ = add_slots(slot + 1, state.leave.draw(rng_));
  }

  /// Sets next_ to the first lost slot >= `slot`, which lies in the present state or at its end.
  void find_from(uint64_t slot) {
    for (;;) {
      next_ = add_slots(slot, state_->loss.draw(rng_));
      if (next_ < state_end_) return;
      if (state_end_ == kNever) {
        next_ = kNever;
        return;
      }
      // The gap reached past the state: gaps have no memory, so the next state draws its own.
      slot = state_end_;
      enter(state_ == &good_ ? bad_ : good_, slot);
    }
  }

  State good_;
  State bad_;
  Rng rng_;
  const State* state_ = nullptr;
  uint64_t state_end_ = 0;  ///< first slot after the present state
  uint64_t next_ = 0;
  QueryOrder order_;
};

void sort_and_deduplicate(std::vector<uint64_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

class ScriptedLoss final : public LossProcess {
 public:
  explicit ScriptedLoss(std::vector<uint64_t> numbers) : numbers_(std::move(numbers)) {
    sort_and_deduplicate(numbers_);
  }

  uint64_t next_lost(uint64_t slot) override {
    order_.advance(slot);
    while (position_ < numbers_.size() && numbers_[position_] < slot) ++position_;
    return position_ < numbers_.size() ? numbers_[position_] : kNever;
  }

 private:
  std::vector<uint64_t> numbers_;
  size_t position_ = 0;
  QueryOrder order_;
};

std::string text_of(double value) {
  char buffer[32];
  // 12 digits: the inverse of an inverse then reads as it was written.
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 12);
  return std::string(buffer, result.ptr);
}

std::string check_rate(double rate) {
  if (rate >= 0 && rate < 1) return {};
  return "loss rate " + text_of(rate) +
         " is out of range: it must be at least 0 and below 1 (at 1 nothing would ever arrive)";
}

std::string check_probability(const char* name, double value) {
  if (value >= 0 && value <= 1) return {};
  return std::string(name) + " " + text_of(value) +
         " is out of range: a probability lies between 0 and 1";
}

std::string check_gilbert_elliott(const LossSpec& spec) {
  if (std::string problem = check_rate(spec.rate); !problem.empty()) return problem;
  if (spec.bad_to_good > 1 || spec.bad_to_good < 0) {
    return "a mean burst of " + text_of(1 / spec.bad_to_good) +
           " slots is too short: a burst lasts at least 1 slot (bad_to_good is its inverse)";
  }
  if (spec.rate > 0 && spec.good_to_bad > 1) {
    return "a mean burst of " + text_of(1 / spec.bad_to_good) +
           " slots is too short for a loss rate of " + text_of(spec.rate) +
           ": bursts are at least one slot apart, so they must last at least " +
           text_of(spec.rate / (1 - spec.rate)) + " slots on average";
  }
  const std::pair<const char*, double> probabilities[] = {{"good_to_bad", spec.good_to_bad},
                                                          {"bad_to_good", spec.bad_to_good},
                                                          {"loss_in_good", spec.loss_in_good},
                                                          {"loss_in_bad", spec.loss_in_bad}};
  for (const auto& [name, value] : probabilities) {
    if (std::string problem = check_probability(name, value); !problem.empty()) return problem;
  }
  if (spec.good_to_bad == 0 && spec.bad_to_good == 0) {
    return "good_to_bad and bad_to_good are both 0: the state never changes, so the share of bad "
           "slots has no meaning; use bernoulli for a constant loss rate";
  }
  const double loss = spec.mean_loss();
  if (loss >= 1) return "every slot would be lost: nothing would ever arrive";
  const double changes =
      2 * spec.good_to_bad * spec.bad_to_good / (spec.good_to_bad + spec.bad_to_good);
  if (loss > 0 && changes > kMaxStateChangesPerLoss * loss) {
    return "the state changes " + text_of(changes / loss) +
           " times for each loss, so that losses are as good as independent; use bernoulli with "
           "rate " +
           text_of(loss);
  }
  return {};
}

}  // namespace

LossSpec LossSpec::bernoulli(double rate) {
  LossSpec spec;
  spec.model = LossModel::bernoulli;
  spec.rate = rate;
  return spec;
}

LossSpec LossSpec::bursts(double rate, double burst) {
  LossSpec spec;
  spec.model = LossModel::gilbert_elliott;
  // Kept for validate's messages, which then speak of what was asked for.
  spec.rate = rate;
  spec.bad_to_good = 1 / burst;
  spec.good_to_bad = rate / (1 - rate) / burst;
  // Bursts exactly one slot apart are possible; rounding must not make them impossible.
  if (spec.good_to_bad > 1 && spec.good_to_bad < 1 + 1e-12) spec.good_to_bad = 1;
  return spec;
}

LossSpec LossSpec::gilbert_elliott(double good_to_bad, double bad_to_good, double loss_in_good,
                                   double loss_in_bad) {
  LossSpec spec;
  spec.model = LossModel::gilbert_elliott;
  spec.good_to_bad = good_to_bad;
  spec.bad_to_good = bad_to_good;
  spec.loss_in_good = loss_in_good;
  spec.loss_in_bad = loss_in_bad;
  return spec;
}

LossSpec LossSpec::scripted(std::vector<uint64_t> drop_data, std::vector<uint64_t> drop_control) {
  LossSpec spec;
  spec.model = LossModel::scripted;
  spec.drop_data = std::move(drop_data);
  spec.drop_control = std::move(drop_control);
  sort_and_deduplicate(spec.drop_data);
  sort_and_deduplicate(spec.drop_control);
  return spec;
}

double LossSpec::mean_loss() const {
  if (model == LossModel::bernoulli) return rate;
  if (model != LossModel::gilbert_elliott) return 0;
  const double bad = stationary_bad_share(*this);
  return bad * loss_in_bad + (1 - bad) * loss_in_good;
}

std::string LossSpec::validate() const {
  switch (model) {
    case LossModel::none:
      return {};
    case LossModel::bernoulli:
      return check_rate(rate);
    case LossModel::gilbert_elliott:
      return check_gilbert_elliott(*this);
    case LossModel::scripted:
      break;
  }
  for (const auto* numbers : {&drop_data, &drop_control}) {
    if (std::ranges::find(*numbers, kNever) != numbers->end()) {
      return "packet number " + std::to_string(kNever) + " is out of range: the last is one lower";
    }
  }
  return {};
}

std::unique_ptr<LossProcess> make_loss_process(const LossSpec& spec, Rng rng) {
  LONGHAUL_CHECK(spec.validate().empty());
  if (spec.model == LossModel::scripted) return std::make_unique<ScriptedLoss>(spec.drop_data);
  if (spec.mean_loss() <= 0) return std::make_unique<NoLoss>();
  if (spec.model == LossModel::bernoulli) return std::make_unique<BernoulliLoss>(spec.rate, rng);
  return std::make_unique<GilbertElliottLoss>(spec, rng);
}

std::unique_ptr<LossProcess> make_scripted_control_process(const LossSpec& spec) {
  LONGHAUL_CHECK(spec.validate().empty());
  return std::make_unique<ScriptedLoss>(spec.drop_control);
}

}  // namespace longhaul
