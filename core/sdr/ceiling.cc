#include "core/sdr/ceiling.h"

#include <algorithm>

#include "core/base/joined.h"
#include "core/base/quantity_text.h"
#include "core/sdr/slot_table.h"

namespace longhaul {
namespace {

/// Rounded up: as many are enough.
std::string kibibytes(uint64_t bytes) {
  return std::to_string(bytes / 1024 + (bytes % 1024 != 0 ? 1 : 0)) + " KiB";
}

using Wide = unsigned __int128;
constexpr uint64_t kSecondPs = 1'000'000'000'000;

/// Pieces of `piece` in what a path carries within a time, rounded up.
uint64_t messages_in(uint64_t rate_bps, Duration time, uint64_t piece) {
  const auto divided_up = [](Wide value, Wide divisor) { return (value + divisor - 1) / divisor; };
  const Wide bytes =
      divided_up(Wide{rate_bps} * static_cast<uint64_t>(time.ps), Wide{kSecondPs} * 8);
  return static_cast<uint64_t>(divided_up(bytes, piece));
}

/// What the slots of a queue pair can carry.
struct Ceiling {
  uint32_t generations;
  uint64_t message_bytes;
  Duration round_trip;
  Duration quarantine;

  uint64_t live() const { return live_message_limit(generations); }
  uint64_t slots() const { return uint64_t{generations} * kSlotsPerGeneration; }
  uint64_t armed_bps() const { return carried_bps(live(), round_trip); }
  uint64_t cycled_bps() const { return carried_bps(slots(), round_trip + quarantine); }

 private:
  uint64_t carried_bps(uint64_t messages, Duration time) const {
    return static_cast<uint64_t>(Wide{messages} * message_bytes * 8 * kSecondPs /
                                 static_cast<uint64_t>(time.ps));
  }
};

}  // namespace

std::optional<std::string> ceiling_note(uint32_t generations, uint64_t message_bytes,
                                        uint64_t rate_bps, Duration round_trip,
                                        Duration quarantine) {
  if (message_bytes == 0 || rate_bps == 0 || round_trip.ps <= 0) return {};
  const Ceiling here{generations, message_bytes, round_trip, quarantine};
  const uint64_t needed = messages_in(rate_bps, round_trip, message_bytes);
  if (here.live() >= needed && here.cycled_bps() >= rate_bps) return {};

  uint32_t enough = generations;
  const auto fills = [&](uint32_t g) {
    const Ceiling there{g, message_bytes, round_trip, quarantine};
    return there.live() >= needed && there.cycled_bps() >= rate_bps;
  };
  while (enough <= kMaxGenerations && !fills(enough)) ++enough;
  const uint64_t enough_bytes =
      std::max(messages_in(rate_bps, round_trip, here.live()),
               messages_in(rate_bps, round_trip + quarantine, here.slots()));
  const std::string larger = "messages of at least " + kibibytes(enough_bytes);
  return joined({
      std::to_string(here.live()),
      " messages can be live with ",
      std::to_string(generations),
      generations == 1 ? " generation" : " generations",
      "; of ",
      std::to_string(message_bytes),
      " bytes each, they carry at most ",
      rate_text(here.armed_bps()),
      " over a round trip of ",
      time_text(round_trip),
      ", and at most ",
      rate_text(here.cycled_bps()),
      " while a slot rests ",
      time_text(quarantine),
      " after each use; ",
      rate_text(rate_bps),
      " needs ",
      std::to_string(needed),
      " live messages. ",
      enough <= kMaxGenerations
          ? joined({"Set generations to ", std::to_string(enough), ", or send ", larger})
          : joined({"No number of generations is enough (there are at most ",
                    std::to_string(kMaxGenerations), "): send ", larger}),
  });
}

}  // namespace longhaul
