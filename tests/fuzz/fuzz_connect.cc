/// Any bytes as a connect blob: refused in words, or an end that encodes to the same bytes and can
/// be compared with another.
///
/// Input: one byte that says whether to repair length and checksum, then the blob.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/memory/memory.h"
#include "core/sdr/ceiling.h"
#include "core/sdr/connect.h"
#include "core/wire/bytes.h"

namespace {

using namespace longhaul;

/// Gives `blob`, which lacks its checksum, its own length and a checksum that fits.
void repair(std::vector<std::byte>& blob) {
  constexpr size_t kLengthAt = 5;
  if (blob.size() < kLengthAt + 2) return;
  const size_t length = blob.size() + 8;
  blob[kLengthAt] = static_cast<std::byte>(length >> 8);
  blob[kLengthAt + 1] = static_cast<std::byte>(length);
  ByteWriter(blob).fixed(memory_checksum(blob));
}

ConnectInfo local_info() {
  ConnectInfo info;
  info.connection = 1;
  info.max_bytes = 1 << 30;
  info.policy = "sr(nack)";
  info.root_keys = {2};
  info.backend = "loopback";
  return info;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  std::vector<std::byte> blob(input.begin(), input.end());
  if (data[0] % 2 == 1) repair(blob);

  const auto parsed = parse_connect_info(blob);
  if (const auto* refusal = std::get_if<std::string>(&parsed)) {
    LONGHAUL_CHECK(!refusal->empty());
    for (const char c : *refusal) LONGHAUL_CHECK(c >= ' ' && c <= '~');
    return 0;
  }
  const auto& peer = std::get<ConnectInfo>(parsed);
  LONGHAUL_CHECK(encode_connect_info(peer) == blob);

  const ConnectInfo local = local_info();
  const ConnectAgreement here = agree(local, peer);
  const ConnectAgreement there = agree(peer, local);
  LONGHAUL_CHECK(here.connection == there.connection);
  LONGHAUL_CHECK(here.mtu_bytes == there.mtu_bytes);
  LONGHAUL_CHECK_OP(here.problems.size(), ==, there.problems.size());
  ceiling_note(peer.generations, peer.max_bytes, peer.code_matrix_hash,
               {static_cast<int64_t>(peer.connection >> 2)},
               {static_cast<int64_t>(peer.root_keys.front() >> 2)});
  return 0;
}
