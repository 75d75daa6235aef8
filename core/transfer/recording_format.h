#pragma once

/// The bytes of a recording: what its writer (`recording.h`) and its reader (`recording_reader.h`)
/// share.
///
/// Magic, version, then a header, then records up to `Record::end`. A record begins with one byte,
/// kind in the low and flags in the high four bits; times are differences to the time before.
/// Integers are LEB128 where small ones are usual, else big-endian.

#include <array>
#include <cstdint>
#include <span>

#include "core/backend.h"

namespace longhaul::recording {

inline constexpr std::array<char, 8> kMagic = {'l', 'o', 'n', 'g', 'h', 'a', 'u', 'l'};
/// Grows with every change of what follows it.
inline constexpr uint8_t kVersion = 1;

enum class Record : uint8_t {
  turn = 1,  ///< followed by its events, the answers asked for in it, its outcome
  packets,   ///< events of the turn
  control,
  completed,
  fault,  ///< flags: its kind
  outcome,
  checksum,  ///< answers, to the post or turn before
  decoded,
  handle,    ///< also without a question: the user has registered memory
  post,      ///< flags: Post
  slot,      ///< flags: whether the recv_post before found one
  end = 15,  ///< nothing follows
};

enum class Post : uint8_t {
  transfer_send,
  transfer_recv,
  send_start,
  send_continue,
  send_end,
  recv_post,
  recv_complete,
  forget_send,
  forget_recv,
  forget_send_message,
};
inline constexpr unsigned kPosts = 10;

/// Flags of `packets`.
inline constexpr uint8_t kSameMessage = 1;  ///< channel, generation, slot, immediate: as before
inline constexpr uint8_t kOnePacket = 2;
inline constexpr uint8_t kLastNow = 4;     ///< last_arrival is the time of the turn
inline constexpr uint8_t kOneInstant = 8;  ///< first_arrival is last_arrival
/// Of `completed`.
inline constexpr uint8_t kSameChannel = 1;
/// Of `outcome`.
inline constexpr uint8_t kNoCommands = 1;
inline constexpr uint8_t kAllTaken = 2;  ///< nothing waits for the backend any more
/// Of `slot`.
inline constexpr uint8_t kFound = 1;

constexpr uint8_t tag(Record record, uint8_t flags = 0) {
  return static_cast<uint8_t>(static_cast<uint8_t>(record) | flags << 4);
}

/// Differences of either sign as small LEB128: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
constexpr uint64_t zigzag(uint64_t difference) {
  return difference << 1 ^ (difference >> 63 != 0 ? ~uint64_t{0} : 0);
}
constexpr uint64_t unzigzag(uint64_t code) {
  return code >> 1 ^ ((code & 1) != 0 ? ~uint64_t{0} : 0);
}

/// Of two times, or any two integers; wraps, so that no value is out of range.
constexpr uint64_t difference(Instant later, Instant earlier) {
  return static_cast<uint64_t>(later.ps) - static_cast<uint64_t>(earlier.ps);
}
constexpr Instant later_by(Instant earlier, uint64_t difference) {
  return {static_cast<int64_t>(static_cast<uint64_t>(earlier.ps) + difference)};
}

/// Hash over every field of the commands and over the control bytes that they name. `offset` of a
/// SendControl counts from `control_begin`, so that commands left over from earlier do not matter.
uint64_t command_digest(std::span<const Command> commands, std::span<const std::byte> control_bytes,
                        size_t control_begin);

}  // namespace longhaul::recording
