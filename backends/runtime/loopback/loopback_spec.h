#pragma once

/// The name of a loopback device, read.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace longhaul {

/// "loopback:NAME?rate=100Gb/s&delay=1ms&loss=1e-3&control_loss=0&seed=1&mtu=4096&receives=4096".
struct LoopbackSpec {
  std::string name;
  uint64_t rate_bps = 100'000'000'000;  ///< 1 kb/s to 10 Tb/s
  Duration delay{};                     ///< one way, up to 10 s
  double loss = 0;                      ///< share of data packets, 0 to below 1
  double control_loss = 0;              ///< the same for control messages
  uint64_t seed = 1;                    ///< of the losses
  uint32_t mtu_bytes = 4096;            ///< 1024, 2048, 4096 or 8192
  uint32_t receives = 4096;  ///< posted on each internal queue pair, 1 to 2^20: a receiver that
                             ///< lags behind by more loses packets, as on a NIC

  bool operator==(const LoopbackSpec&) const = default;
};

/// Throws SetupError: what is wrong with which key, and what would be right.
LoopbackSpec parse_loopback(std::string_view device);

}  // namespace longhaul
