/// Any bytes from the network: the parser must refuse or understand them, and the engine survive.

#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/wire/control.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = longhaul::parse_control(std::as_bytes(std::span(data, size)));
  if (const auto* control = std::get_if<longhaul::ParsedControl>(&parsed)) {
    // What was understood must be sayable, and mean the same.
    std::vector<std::byte> again;
    longhaul::encode_control(control->connection, control->message, again);
    const auto reparsed = longhaul::parse_control(again);
    const auto* same = std::get_if<longhaul::ParsedControl>(&reparsed);
    if (same == nullptr || same->message.index() != control->message.index()) std::abort();
  }
  return 0;
}
