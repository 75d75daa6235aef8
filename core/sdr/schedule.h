#pragma once

/// Who gets a turn when: thousands of transfers and messages may be alive in a queue pair, and a
/// turn costs what is due in it, not what is alive.

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core/backend.h"
#include "core/sdr/counters.h"
#include "core/sdr/wire_clock.h"
#include "core/wire/control.h"

namespace longhaul {

/// What an activity works with during its turn.
struct Turn {
  Instant now;
  uint64_t connection = 0;
  WireClock& wire;
  QueuePairCounters& counters;
  CommandBatch& out;

  /// Appends a control message and counts it.
  void send_control(const ControlMessage& message) const;
};

/// One live thing of a queue pair: an end of a transfer or of a message. It gets a turn when an
/// event has touched it, when its deadline has come, or when it wants the wire and there is room.
class Activity {
 public:
  virtual ~Activity() = default;
  Activity() = default;
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Harmless when nothing is due.
  virtual void turn(const Turn& turn) = 0;
  /// Without side effect; Instant::never() when nothing is waited for.
  virtual Instant next_deadline() const = 0;
  /// A sender: it would send more if the wire had room.
  virtual bool wants_wire() const { return false; }
  /// A receiver: packets that must arrive before there is anything to decide; ~0: only time
  /// matters.
  virtual uint64_t arrivals_wanted() const { return ~uint64_t{0}; }

 private:
  friend class Schedule;
  friend class SlotQueue;
  uint64_t order_ = 0;
  bool added_ = false;
  bool touched_ = false;
  Instant deadline_ = Instant::never();
  bool ready_ = false;
  bool waits_for_slot_ = false;
  uint64_t wanted_ = ~uint64_t{0};
};

/// Turns are given in posting order, earlier posts first: they also get the wire first.
class Schedule {
 public:
  void add(Activity& activity);
  void remove(Activity& activity);
  /// It gets a turn in the next `run`.
  void touch(Activity& activity);

  bool has_touched() const { return !touched_.empty(); }
  /// Turns for everything touched or due, and, while the wire has room, for all that want it.
  void run(const Turn& turn);

  Instant next_deadline() const {
    return deadlines_.empty() ? Instant::never() : deadlines_.begin()->when;
  }
  bool wants_wire() const { return !ready_.empty(); }
  uint64_t arrivals_wanted() const {
    return wanted_.empty() ? ~uint64_t{0} : wanted_.begin()->when;
  }

 private:
  template <class When>
  struct Entry {
    When when;
    uint64_t order;
    Activity* activity;
    auto operator<=>(const Entry& other) const {
      if (const auto by_time = when <=> other.when; by_time != 0) return by_time;
      return order <=> other.order;
    }
    bool operator==(const Entry& other) const { return order == other.order; }
  };
  template <class When>
  static void move(std::set<Entry<When>>& set, Activity& activity, When& from, When to);

  void give_turn(Activity& activity, const Turn& turn);
  void refresh(Activity& activity);

  uint64_t next_order_ = 0;
  std::vector<Activity*> touched_;
  std::vector<Activity*> round_;  ///< scratch
  std::set<Entry<Instant>> deadlines_;
  std::set<Entry<uint64_t>> wanted_;
  std::map<uint64_t, Activity*> ready_;  ///< by order
};

}  // namespace longhaul
