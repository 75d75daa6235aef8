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
inline constexpr uint8_t kControlVersion = 2;

/// What a message is part of. Transfers and plain messages are numbered apart, each from 0 in
/// posting order, which is how the n-th send finds the n-th receive; 64 bits never wrap.
enum class MessageRole : uint8_t {
  data = 0,    ///< a segment of a transfer's data
  parity = 1,  ///< a segment of a transfer's parity
  plain = 2    ///< an SDR message of the user's own, without a reliability layer
};

/// Clear-to-send, from the receiver: message `segment` of transfer (or plain message) `id` is armed
/// in (generation, slot).
struct ClearToSend {
  MessageRole role = MessageRole::data;
  uint64_t id = 0;
  uint32_t segment = 0;
  uint8_t generation = 0;
  uint16_t slot = 0;
  uint64_t armed_bytes = 0;
  uint32_t key = 0;  ///< where the backend needs one per slot, else 0
};

/// From the sender: what is coming. Repeated until the receiver shows that it has it, which is how
/// messages of zero bytes, or of fewer than 8 packets, get their length and immediate across.
struct Begin {
  MessageRole role = MessageRole::data;  ///< data (for the whole transfer) or plain
  uint64_t id = 0;
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

/// The data packet that arrived last on a channel.
struct FeedbackEcho {
  uint8_t channel = 0;
  uint64_t packet = 0;
};

/// From the receiver, periodically; for a plain message in answer to a BEGIN only.
struct Feedback {
  MessageRole role = MessageRole::data;
  uint64_t id = 0;
  bool has_begin = false;         ///< BEGIN has arrived
  bool repair_requested = false;  ///< a code gave up decoding: please repair what is missing
  uint64_t cumulative = 0;        ///< all data packets below it are not wanted any more
  uint64_t highest_end = 0;       ///< one past the highest data packet seen
  uint64_t received_packets = 0;  ///< data and parity packets that arrived, without duplicates
  /// For RACK-like loss detection (RFC 8985) within each channel, since channels overtake each
  /// other. The first one is the latest of all and arrived `echo_hold` ago: for the round-trip
  /// time.
  std::vector<FeedbackEcho> echoes;
  Duration echo_hold{};
  std::vector<FeedbackSection> sections;
};

/// From the sender, when all is sent and nothing comes back: "what do you have?"
struct Probe {
  uint64_t id = 0;  ///< of a transfer
  uint32_t sequence = 0;
};

enum class CompletionStatus : uint8_t { delivered = 0, partial = 1, failed = 2 };

/// From the receiver: the transfer or plain message has ended. Repeated until RETIRED is in.
struct Complete {
  MessageRole role = MessageRole::data;
  uint64_t id = 0;
  CompletionStatus status = CompletionStatus::delivered;
  uint64_t checksum = 0;  ///< over the delivered memory, end to end; plain messages: 0
};

/// From the sender: it has seen COMPLETE and will send nothing of this any more, so that its slots
/// may be armed again once what is still in flight has landed.
struct Retired {
  MessageRole role = MessageRole::data;
  uint64_t id = 0;
};

using ControlMessage = std::variant<ClearToSend, Begin, Feedback, Probe, Complete, Retired>;

/// Payload bytes of an encoded COMPLETE: part of what a message's completion time is made of.
inline constexpr uint32_t kCompleteBytes = 1 + 1 + 8 + 1 + 8 + 1 + 8;

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
constexpr size_t max_feedback_fixed_bytes(size_t channels) { return 128 + channels * 11; }

}  // namespace longhaul
