#pragma once

/// Loss models of a link direction: what is asked for (LossSpec) and what draws it (LossProcess).
///
/// A loss belongs to a transmission slot (start of transmission / wire time of an MTU packet), not
/// to a packet: a sender that waits outlasts a burst, and every policy meets the same weather at
/// the same seed. Only `scripted` goes by packet number.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace longhaul {

enum class LossModel { none, bernoulli, gilbert_elliott, scripted };

/// What a scenario asks for. Plain data; `validate` says whether it makes sense.
struct LossSpec {
  LossModel model = LossModel::none;

  /// bernoulli: probability that a slot is lost, in [0, 1).
  double rate = 0;

  /// gilbert_elliott (Gilbert 1960, Elliott 1963): transition probabilities per slot, and the loss
  /// probability within each state. The literature's p, r, 1-k, 1-h.
  double good_to_bad = 0;
  double bad_to_good = 1;
  double loss_in_good = 0;
  double loss_in_bad = 1;

  /// scripted: numbers of the data packets to lose, counted from 0 over all transmissions in this
  /// direction, retransmissions included; and the same for control packets.
  std::vector<uint64_t> drop_data;
  std::vector<uint64_t> drop_control;

  static LossSpec none() { return {}; }
  static LossSpec bernoulli(double rate);
  /// A bad state that loses everything and lasts `burst` slots on average (>= 1), entered so often
  /// that the mean loss is `rate`.
  static LossSpec bursts(double rate, double burst);
  static LossSpec gilbert_elliott(double good_to_bad, double bad_to_good, double loss_in_good,
                                  double loss_in_bad);
  static LossSpec scripted(std::vector<uint64_t> drop_data,
                           std::vector<uint64_t> drop_control = {});

  /// Long-run share of slots lost; 0 for scripted.
  double mean_loss() const;
  /// Empty when usable, else what is wrong, for a message to the user.
  std::string validate() const;
};

/// Draws the lost slots of one link direction, in order. Sans-IO, deterministic, no libm.
class LossProcess {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  virtual ~LossProcess() = default;

  /// The first lost slot >= `slot`, or kNever. Queries must not go back: `slot` never falls below
  /// an earlier answer's query. Costs time per loss (or state change), not per slot.
  virtual uint64_t next_lost(uint64_t slot) = 0;
};

/// A process for slots: none, bernoulli, gilbert_elliott. `rng` should be forked for this link and
/// direction. For `scripted` it answers for data packet numbers.
std::unique_ptr<LossProcess> make_loss_process(const LossSpec& spec, Rng rng);

/// The process over control packet numbers of a scripted spec.
std::unique_ptr<LossProcess> make_scripted_control_process(const LossSpec& spec);

}  // namespace longhaul
