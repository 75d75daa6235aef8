/// Any bytes from the network: refused, or a message whose own encoding is read back unchanged.

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/wire/control.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace longhaul;
  const auto first = parse_control(std::as_bytes(std::span(data, size)));
  const auto* accepted = std::get_if<ParsedControl>(&first);
  if (accepted == nullptr) return 0;

  std::vector<std::byte> bytes;
  encode_control(accepted->connection, accepted->message, bytes);
  const auto second = parse_control(bytes);
  const auto* reread = std::get_if<ParsedControl>(&second);
  LONGHAUL_CHECK(reread != nullptr);

  std::vector<std::byte> again;
  encode_control(reread->connection, reread->message, again);
  LONGHAUL_CHECK(bytes == again);
  return 0;
}
