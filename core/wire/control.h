#pragma once

/// Control messages: what both ends of a connection tell each other beside the data.
///
/// All are unreliable, idempotent and repeated until their effect is seen. This is the only place
/// that parses bytes from the network; `parse_control` accepts any bytes and either returns a
/// message whose every field is in range or says why not. Integers are big-endian or LEB128.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/base/time.h"

namespace longhaul {

/// Version of the wire format; a peer with another one is refused.
inline constexpr uint8_t kControlVersion = 1;

enum class MessageRole : uint8_t { data = 0, parity = 1 };

/// Clear-to-send, from the receiver: message `segment` of a transfer is armed in (generation,
/// slot).
struct ClearToSend {
  uint32_t transfer = 0;
  MessageRole role = MessageRole::data;
  uint32_t segment = 0;
  uint8_t generation = 0;
  uint16_t slot = 0;
  uint64_t armed_bytes = 0;
  uint32_t key = 0;  ///< where the backend needs one per slot, else 0
};

/// From the sender: what is coming. Repeated until the receiver shows that it has it, which is how
/// messages of zero bytes, or of fewer than 8 packets, get their length and immediate across.
struct Begin {
  uint32_t transfer = 0;
  uint64_t bytes = 0;
  uint32_t user_immediate = 0;
  uint8_t data_count = 0;    ///< k of the code in use, 0 when there is none
  uint8_t parity_count = 0;  ///< m
  uint32_t stripes = 0;
};

/// Half-open range of packets of a transfer.
struct PacketRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool operator==(const PacketRange&) const = default;
};

/// A stretch of the transfer's data that a FEEDBACK describes completely: packets in `missing` are
/// wanted, all others in [begin, end) are not (any more).
struct FeedbackSection {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::vector<PacketRange> missing;  ///< ascending, disjoint, within [begin, end)
};

/// From the receiver, periodically.
struct Feedback {
  uint32_t transfer = 0;
  bool has_begin = false;         ///< BEGIN has arrived
  bool repair_requested = false;  ///< a code gave up decoding: please repair what is missing
  uint64_t cumulative = 0;        ///< all data packets below it are not wanted any more
  uint64_t highest_end = 0;       ///< one past the highest data packet seen
  uint64_t received_packets = 0;  ///< data and parity packets that arrived, without duplicates
  /// The packet that arrived last and how long ago, for the round-trip time and for RACK-like loss
  /// detection (RFC 8985); absent when nothing has arrived.
  bool has_echo = false;
  MessageRole echo_role = MessageRole::data;
  uint64_t echo_packet = 0;
  Duration echo_hold{};
  std::vector<FeedbackSection> sections;
};

/// From the sender, when all is sent and nothing comes back: "what do you have?"
struct Probe {
  uint32_t transfer = 0;
  uint32_t sequence = 0;
};

enum class CompletionStatus : uint8_t { delivered = 0, partial = 1, failed = 2 };

/// From the receiver: the transfer has ended. Answered again to any later PROBE.
struct Complete {
  uint32_t transfer = 0;
  CompletionStatus status = CompletionStatus::delivered;
  uint64_t checksum = 0;  ///< over the delivered memory, end to end
};

using ControlMessage = std::variant<ClearToSend, Begin, Feedback, Probe, Complete>;

/// Payload bytes of an encoded COMPLETE: part of what a message's completion time is made of.
inline constexpr uint32_t kCompleteBytes = 1 + 1 + 8 + 4 + 1 + 8;

/// Appends the encoding to `out`.
void encode_control(uint64_t connection, const ControlMessage& message,
                    std::vector<std::byte>& out);

struct ParsedControl {
  uint64_t connection = 0;
  ControlMessage message;
};

/// Why bytes were refused.
enum class ControlError : uint8_t { truncated, version, type, value, trailing_bytes };

std::variant<ParsedControl, ControlError> parse_control(std::span<const std::byte> bytes);

/// Encoded size of a FEEDBACK without ranges in the worst case, two sections included.
inline constexpr size_t kMaxFeedbackFixedBytes = 128;

}  // namespace longhaul
