#include "core/wire/control.h"

#include <limits>

#include "core/base/check.h"
#include "core/wire/bytes.h"
#include "core/wire/immediate.h"

namespace longhaul {
namespace {

enum class Type : uint8_t {
  clear_to_send = 1,
  begin = 2,
  feedback = 3,
  probe = 4,
  complete = 5,
  retired = 6
};

constexpr uint8_t kHasBegin = 1;
constexpr uint8_t kRepairRequested = 2;

void write_name(ByteWriter& w, MessageRole role, uint64_t id) {
  w.fixed(static_cast<uint8_t>(role));
  w.fixed(id);
}

void write(ByteWriter& w, const ClearToSend& m) {
  write_name(w, m.role, m.id);
  w.fixed(m.segment);
  w.fixed(m.generation);
  w.fixed(m.slot);
  w.fixed(m.armed_bytes);
  w.fixed(m.key);
}

void write(ByteWriter& w, const Begin& m) {
  write_name(w, m.role, m.id);
  w.fixed(m.bytes);
  w.fixed(m.user_immediate);
  w.fixed(m.data_count);
  w.fixed(m.parity_count);
  w.fixed(m.stripes);
}

void write(ByteWriter& w, const Feedback& m) {
  write_name(w, m.role, m.id);
  w.fixed(static_cast<uint8_t>((m.has_begin ? kHasBegin : 0) |
                               (m.repair_requested ? kRepairRequested : 0)));
  w.varint(m.cumulative);
  w.varint(m.highest_end);
  w.varint(m.received_packets);
  w.varint(m.echoes.size());
  for (const FeedbackEcho& echo : m.echoes) {
    w.fixed(echo.channel);
    w.varint(echo.packet);
  }
  w.varint(static_cast<uint64_t>(m.echo_hold.ps));
  w.varint(m.sections.size());
  for (const FeedbackSection& section : m.sections) {
    w.varint(section.begin);
    w.varint(section.end - section.begin);
    w.varint(section.missing.size());
    uint64_t at = section.begin;
    for (const PacketRange& range : section.missing) {
      w.varint(range.begin - at);
      w.varint(range.end - range.begin);
      at = range.end;
    }
  }
}

void write(ByteWriter& w, const Probe& m) {
  w.fixed(m.id);
  w.fixed(m.sequence);
}

void write(ByteWriter& w, const Complete& m) {
  write_name(w, m.role, m.id);
  w.fixed(static_cast<uint8_t>(m.status));
  w.fixed(m.checksum);
}

void write(ByteWriter& w, const Retired& m) { write_name(w, m.role, m.id); }

MessageRole read_role(ByteReader& r) {
  const auto role = r.fixed<uint8_t>();
  r.invalid |= role > static_cast<uint8_t>(MessageRole::plain);
  return static_cast<MessageRole>(role);
}

/// Where a message speaks of a transfer as a whole, its role is `data`.
MessageRole read_whole(ByteReader& r) {
  const MessageRole role = read_role(r);
  r.invalid |= role == MessageRole::parity;
  return role;
}

ClearToSend read_clear_to_send(ByteReader& r) {
  ClearToSend m;
  m.role = read_role(r);
  m.id = r.fixed<uint64_t>();
  m.segment = r.fixed<uint32_t>();
  m.generation = r.fixed<uint8_t>();
  m.slot = r.fixed<uint16_t>();
  m.armed_bytes = r.fixed<uint64_t>();
  m.key = r.fixed<uint32_t>();
  r.invalid |= m.slot >= kSlotsPerGeneration || m.generation >= kMaxGenerations;
  return m;
}

Begin read_begin(ByteReader& r) {
  Begin m;
  m.role = read_whole(r);
  m.id = r.fixed<uint64_t>();
  m.bytes = r.fixed<uint64_t>();
  m.user_immediate = r.fixed<uint32_t>();
  m.data_count = r.fixed<uint8_t>();
  m.parity_count = r.fixed<uint8_t>();
  m.stripes = r.fixed<uint32_t>();
  r.invalid |= m.data_count + m.parity_count > 255;
  r.invalid |=
      (m.data_count == 0) != (m.stripes == 0) || (m.data_count == 0) != (m.parity_count == 0);
  r.invalid |= m.role == MessageRole::plain && m.data_count != 0;
  return m;
}

FeedbackSection read_section(ByteReader& r) {
  FeedbackSection section;
  section.begin = r.varint();
  const uint64_t length = r.varint();
  r.invalid |= length > std::numeric_limits<uint64_t>::max() - section.begin;
  section.end = section.begin + length;
  const uint64_t count = r.varint();
  // A range takes at least two bytes: a larger count is a lie, and must not size an allocation.
  if (r.invalid || count > r.left() / 2) {
    r.invalid |= !r.truncated;
    return section;
  }
  section.missing.reserve(count);
  uint64_t at = section.begin;
  for (uint64_t i = 0; i < count && !r.invalid && !r.truncated; ++i) {
    const uint64_t gap = r.varint();
    const uint64_t packets = r.varint();
    r.invalid |= packets == 0 || gap > section.end - at || packets > section.end - at - gap;
    section.missing.push_back({at + gap, at + gap + packets});
    at += gap + packets;
  }
  return section;
}

Feedback read_feedback(ByteReader& r) {
  Feedback m;
  m.role = read_whole(r);
  m.id = r.fixed<uint64_t>();
  const auto flags = r.fixed<uint8_t>();
  r.invalid |= flags > (kHasBegin | kRepairRequested);
  m.has_begin = flags & kHasBegin;
  m.repair_requested = flags & kRepairRequested;
  m.cumulative = r.varint();
  m.highest_end = r.varint();
  m.received_packets = r.varint();
  const uint64_t echoes = r.varint();
  r.invalid |= echoes > kMaxChannels;
  for (uint64_t i = 0; i < echoes && !r.invalid && !r.truncated; ++i) {
    const auto channel = r.fixed<uint8_t>();
    r.invalid |= channel >= kMaxChannels;
    m.echoes.push_back({channel, r.varint()});
  }
  const uint64_t hold_ps = r.varint();
  r.invalid |= hold_ps > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  m.echo_hold = {static_cast<int64_t>(hold_ps)};
  const uint64_t sections = r.varint();
  for (uint64_t i = 0; i < sections && !r.invalid && !r.truncated; ++i) {
    m.sections.push_back(read_section(r));
  }
  return m;
}

Probe read_probe(ByteReader& r) {
  Probe m;
  m.id = r.fixed<uint64_t>();
  m.sequence = r.fixed<uint32_t>();
  return m;
}

Complete read_complete(ByteReader& r) {
  Complete m;
  m.role = read_whole(r);
  m.id = r.fixed<uint64_t>();
  const auto status = r.fixed<uint8_t>();
  r.invalid |= status > static_cast<uint8_t>(CompletionStatus::failed);
  m.status = static_cast<CompletionStatus>(status);
  m.checksum = r.fixed<uint64_t>();
  return m;
}

Retired read_retired(ByteReader& r) {
  Retired m;
  m.role = read_whole(r);
  m.id = r.fixed<uint64_t>();
  return m;
}

}  // namespace

void encode_control(uint64_t connection, const ControlMessage& message,
                    std::vector<std::byte>& out) {
  ByteWriter w(out);
  w.fixed(kControlVersion);
  w.fixed(static_cast<uint8_t>(message.index() + 1));
  w.fixed(connection);
  std::visit([&](const auto& m) { write(w, m); }, message);
}

std::variant<ParsedControl, ControlError> parse_control(std::span<const std::byte> bytes) {
  ByteReader r(bytes);
  const auto version = r.fixed<uint8_t>();
  const auto type = r.fixed<uint8_t>();
  ParsedControl parsed;
  parsed.connection = r.fixed<uint64_t>();
  if (r.truncated) return ControlError::truncated;
  if (version != kControlVersion) return ControlError::version;
  switch (static_cast<Type>(type)) {
    case Type::clear_to_send:
      parsed.message = read_clear_to_send(r);
      break;
    case Type::begin:
      parsed.message = read_begin(r);
      break;
    case Type::feedback:
      parsed.message = read_feedback(r);
      break;
    case Type::probe:
      parsed.message = read_probe(r);
      break;
    case Type::complete:
      parsed.message = read_complete(r);
      break;
    case Type::retired:
      parsed.message = read_retired(r);
      break;
    default:
      return ControlError::type;
  }
  if (r.truncated) return ControlError::truncated;
  if (r.invalid) return ControlError::value;
  if (r.left() != 0) return ControlError::trailing_bytes;
  return parsed;
}

}  // namespace longhaul
