#pragma once

/// What is left of a receive that has ended: it says COMPLETE until the sender has heard it, and
/// then gives the slots back.

#include "core/sdr/engine.h"

namespace longhaul {

class Tombstone final : public Activity {
 public:
  /// `engine` outlives the tombstone.
  Tombstone(Engine& engine, Instant now, Ending ending);
  ~Tombstone() override;

  void on_probe() { asked_ = true; }
  /// The sender has heard, and sends nothing more.
  void on_retired(Instant now);
  void turn(const Turn& turn) override;
  Instant next_deadline() const override;

  const Ending& ending() const { return ending_; }
  /// Nothing is left to be done; the owner removes it.
  bool done() const { return done_; }

 private:
  Engine& engine_;
  Ending ending_;
  Instant expires_;
  bool asked_ = false;
  bool done_ = false;
  int completes_sent_ = 0;
  Instant complete_deadline_;
};

}  // namespace longhaul
