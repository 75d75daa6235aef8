#pragma once

/// What rate the message slots of a queue pair can carry.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/time.h"

namespace longhaul {

/// A sentence when messages of `message_bytes`, as many as can be live, do not fill the path of
/// `rate_bps` and `round_trip`: the limit, the rate that it leaves, and what would help. Nothing
/// when they do, or when the path or a message holds nothing. `generations`: 1 to kMaxGenerations.
///
/// Two things limit: how many messages can be armed at once (live_message_limit), each for a round
/// trip; and how many slots there are at all, each being taken for a round trip and then resting
/// for `quarantine`.
std::optional<std::string> ceiling_note(uint32_t generations, uint64_t message_bytes,
                                        uint64_t rate_bps, Duration round_trip,
                                        Duration quarantine);

}  // namespace longhaul
