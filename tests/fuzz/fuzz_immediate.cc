/// Any 32-bit words: as immediates they decode and encode to themselves, and as immediates of users
/// they come together again from the fragments of a message's packets.

#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/wire/immediate.h"

namespace {

using namespace longhaul;

template <class Split>
void check_inverse(uint32_t word) {
  const Split split = Split::decode(word);
  LONGHAUL_CHECK(split.slot < Split::kSlots);
  LONGHAUL_CHECK(split.offset < Split::kPackets);
  LONGHAUL_CHECK_OP(split.encode(), ==, word);
  LONGHAUL_CHECK(Split::decode(split.encode()) == split);
}

/// As many packets of a message as carry every bit once, from any packet on.
template <class Split>
void check_fragments(uint32_t user_immediate, uint32_t place) {
  const uint32_t first = Split::decode(place).offset % (Split::kPackets - Split::kFragments);
  uint32_t rebuilt = 0;
  for (uint32_t packet = first; packet < first + Split::kFragments; ++packet) {
    const uint32_t fragment = Split::fragment_of(user_immediate, packet);
    const Split arrived = Split::decode(Split{0, packet, fragment}.encode());
    LONGHAUL_CHECK_OP(arrived.offset, ==, packet);
    const uint32_t bits = arrived.fragment << Split::shift_of(arrived.offset);
    LONGHAUL_CHECK((rebuilt & bits) == 0);
    rebuilt |= bits;
  }
  LONGHAUL_CHECK_OP(rebuilt, ==, user_immediate);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Wide = ImmediateSplit<8, 22>;
  uint32_t before = 0;
  for (size_t at = 0; at + 4 <= size; at += 4) {
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) word = word << 8 | data[at + i];
    check_inverse<Immediate>(word);
    check_inverse<Wide>(word);
    check_fragments<Immediate>(word, before);
    check_fragments<Wide>(word, before);
    before = word;
  }
  return 0;
}
