#include "core/sdr/schedule.h"

#include <algorithm>
#include <limits>

namespace longhaul {
namespace {

template <class When>
constexpr When kNever = std::numeric_limits<When>::max();
template <>
constexpr Instant kNever<Instant> = Instant::never();

}  // namespace

void Turn::send_control(const ControlMessage& message) const {
  const size_t offset = out.control_bytes.size();
  encode_control(connection, message, out.control_bytes);
  const size_t bytes = out.control_bytes.size() - offset;
  out.commands.emplace_back(
      SendControl{static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
  wire.send_control(now, bytes);
  ++counters.control_packets;
}

/// Keeps the node, so that moving an entry allocates nothing.
template <class When>
void Schedule::move(std::set<Entry<When>>& set, Activity& activity, When& from, When to) {
  if (from == to) return;
  const Entry<When> entry{to, activity.order_, &activity};
  if (from == kNever<When>) {
    set.insert(entry);
  } else {
    auto node = set.extract(Entry<When>{from, activity.order_, &activity});
    if (to != kNever<When>) {
      node.value() = entry;
      set.insert(std::move(node));
    }
  }
  from = to;
}

void Schedule::add(Activity& activity) {
  activity.order_ = next_order_++;
  activity.added_ = true;
  touch(activity);
}

void Schedule::remove(Activity& activity) {
  if (!activity.added_) return;
  move(deadlines_, activity, activity.deadline_, Instant::never());
  move(wanted_, activity, activity.wanted_, kNever<uint64_t>);
  if (activity.ready_) ready_.erase(activity.order_);
  if (activity.touched_) std::erase(touched_, &activity);
  activity.added_ = activity.touched_ = activity.ready_ = false;
}

void Schedule::touch(Activity& activity) {
  if (activity.touched_ || !activity.added_) return;
  activity.touched_ = true;
  touched_.push_back(&activity);
}

void Schedule::refresh(Activity& activity) {
  move(deadlines_, activity, activity.deadline_, activity.next_deadline());
  move(wanted_, activity, activity.wanted_, activity.arrivals_wanted());
  if (const bool ready = activity.wants_wire(); ready != activity.ready_) {
    activity.ready_ = ready;
    if (ready) {
      ready_.emplace(activity.order_, &activity);
    } else {
      ready_.erase(activity.order_);
    }
  }
}

void Schedule::give_turn(Activity& activity, const Turn& turn) {
  activity.touched_ = false;
  activity.turn(turn);
  refresh(activity);
}

void Schedule::run(const Turn& turn) {
  for (auto due = deadlines_.begin(); due != deadlines_.end() && due->when <= turn.now; ++due)
    touch(*due->activity);
  round_.swap(touched_);
  std::ranges::sort(round_, {}, [](const Activity* a) { return a->order_; });
  // Two lists in order: those with something due, and those that wait for the wire.
  auto next = round_.begin();
  uint64_t from = 0;
  while (true) {
    Activity* chosen = next == round_.end() ? nullptr : *next;
    if (turn.wire.room() > 0) {
      const auto ready = ready_.lower_bound(from);
      if (ready != ready_.end() && (chosen == nullptr || ready->first < chosen->order_))
        chosen = ready->second;
    }
    if (chosen == nullptr) break;
    if (next != round_.end() && chosen == *next) ++next;
    from = chosen->order_ + 1;
    give_turn(*chosen, turn);
  }
  round_.clear();
}

}  // namespace longhaul
