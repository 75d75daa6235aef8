#include "core/sdr/tombstone.h"

#include <algorithm>

namespace longhaul {
namespace {

/// COMPLETE is sent again after 1, 2, 4, ... feedback periods, so that losing one costs little;
/// then whenever RETIRED is overdue.
constexpr int kQuickRepeats = 4;
/// The wait between two of the later ones stops doubling at 2^6 round trips.
constexpr int kMaxDoublings = 6;

}  // namespace

Tombstone::Tombstone(Engine& engine, Instant now, Ending ending)
    : engine_(engine),
      ending_(std::move(ending)),
      // A sender gives up at this time at the latest: it had posted before the end.
      expires_(now + engine.attributes.give_up),
      complete_deadline_(now) {}

Tombstone::~Tombstone() {
  if (!ending_.parity_memory.empty()) engine_.backend.deregister_memory(ending_.parity_handle);
}

void Tombstone::on_retired(Instant now) {
  if (done_) return;
  done_ = true;
  for (const SlotId slot : ending_.slots) engine_.slots.retire(slot, now);
  engine_.retired.emplace_back(ending_.role, ending_.id);
}

void Tombstone::turn(const Turn& turn) {
  if (done_) return;
  if (turn.now >= expires_) return on_retired(turn.now);
  if (!asked_ && turn.now < complete_deadline_) return;
  asked_ = false;
  turn.send_control(Complete{ending_.role, ending_.id, ending_.status, ending_.checksum});
  if (turn.now < complete_deadline_) return;
  const Duration wait =
      completes_sent_ < kQuickRepeats
          ? engine_.round_trip.feedback_period() * (int64_t{1} << completes_sent_)
          : engine_.round_trip.overdue() *
                (int64_t{1} << std::min(completes_sent_ - kQuickRepeats, kMaxDoublings));
  complete_deadline_ = turn.now + wait;
  ++completes_sent_;
}

Instant Tombstone::next_deadline() const {
  return done_ ? Instant::never() : std::min(complete_deadline_, expires_);
}

}  // namespace longhaul
