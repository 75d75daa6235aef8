#pragma once

/// Repeats a recording: gives a queue pair of its own what the recorded one was given, and compares
/// the commands.
///
/// On the core that recorded, they are the same, byte for byte. After a change of the core, the
/// first difference shows where its decisions changed. Needs no network and no payload.

#include <functional>
#include <optional>
#include <string>

#include "core/sdr/counters.h"
#include "core/transfer/recording_reader.h"

namespace longhaul {

/// What a recording may ask of the replaying machine; beyond it, it is refused. The defaults are
/// far above what hardware records.
struct ReplayLimits {
  /// Of bitmaps and parity. Payload is not there in a replay, and a parity packet takes one byte.
  uint64_t memory_bytes = uint64_t{1} << 30;
  /// Of the attributes' times, and of the time between two turns while something is live.
  Duration longest{int64_t{1} << 52};
};

/// A turn as the replay saw it; valid during the call.
struct ReplayedTurn {
  uint64_t number;  ///< from 0
  Instant now;
  const EventBatch& events;
  const CommandBatch& commands;
  bool same;
};

struct ReplayOptions {
  ReplayLimits limits;
  /// Goes on after the first difference, with answers of zero where the recording has none.
  bool keep_going = false;
  /// Hears of every turn, if set.
  std::function<void(const ReplayedTurn&)> on_turn;
};

struct ReplayDifference {
  uint64_t turn = 0;  ///< number of the turn, from 0; of a post: of the turn that would follow
  Instant now{};
  uint64_t recorded_commands = 0;
  uint64_t replayed_commands = 0;
  std::string what;
};

struct ReplayReport {
  RecordingHeader header;
  uint64_t turns = 0;  ///< compared
  uint64_t posts = 0;
  uint64_t events = 0;
  uint64_t commands = 0;        ///< of the replay
  uint64_t commands_taken = 0;  ///< by the recorded backend
  Instant first{};              ///< time of the first post or turn
  Instant last{};
  QueuePairCounters counters;
  std::optional<ReplayDifference> difference;  ///< the first one
  /// The recording cannot be used from there on; what was before it has been replayed.
  std::optional<RecordingError> error;

  Duration covered() const { return last - first; }
};

/// Any bytes are accepted: what makes no sense is an `error`, in words.
ReplayReport replay(std::span<const std::byte> recording, const ReplayOptions& options = {});

}  // namespace longhaul
