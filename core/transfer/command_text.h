#pragma once

/// Commands and events in words, for people who look for a difference.

#include <string>

#include "core/backend.h"

namespace longhaul {

/// "write 16 packets from 32 to slot 3 of generation 0, channel 1". `control_bytes`: of the batch.
std::string describe(const Command& command, std::span<const std::byte> control_bytes);
std::string describe(const Event& event, std::span<const std::byte> control_bytes);

}  // namespace longhaul
