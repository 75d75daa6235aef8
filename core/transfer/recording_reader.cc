#include "core/transfer/recording_reader.h"

#include <algorithm>
#include <limits>

namespace longhaul {

using recording::Post;
using recording::Record;

namespace {

/// Times on either side of this leave room for sums of times: 53 days in picoseconds.
constexpr int64_t kLatest = int64_t{1} << 62;

}  // namespace

RecordingReader::RecordingReader(std::span<const std::byte> bytes)
    : bytes_(bytes), size_(bytes.size()), reader_(bytes) {
  read_header();
  if (!error_) next();
}

void RecordingReader::fail(std::string what, std::string remedy) {
  if (!error_) error_ = RecordingError{position_, std::move(what), std::move(remedy)};
}

void RecordingReader::fail_damaged(const char* what) {
  fail(what, "The file is damaged: copy or record it again.");
}

/// True when what was just read does not count.
bool RecordingReader::cut_short_or_invalid(const char* what) {
  if (reader_.truncated) {
    fail("the recording is cut short",
         "Record again, and let the program finish: the last record says that it has.");
  } else if (reader_.invalid) {
    fail_damaged(what);
  }
  return error_.has_value();
}

// Header -----------------------------------------------------------------------------------------

void RecordingReader::read_header() {
  const size_t known = std::min(size_, recording::kMagic.size());
  const bool magic = std::equal(
      recording::kMagic.begin(), recording::kMagic.begin() + static_cast<std::ptrdiff_t>(known),
      bytes_.begin(), [](char c, std::byte b) { return b == static_cast<std::byte>(c); });
  if (!magic || size_ == 0) {
    return fail("this is not a recording", "Name a file that a Longhaul recorder has written.");
  }
  reader_.raw(recording::kMagic.size());
  const auto version = reader_.fixed<uint8_t>();
  if (cut_short_or_invalid("")) return;
  if (version != recording::kVersion) {
    return fail("the recording has version " + std::to_string(version) +
                    ", and this program reads version " + std::to_string(recording::kVersion),
                "Replay it with the program that recorded it, or record again.");
  }
  header_.control_version = reader_.fixed<uint8_t>();
  read_attributes();
  cut_short_or_invalid("a field of the header is out of range");
}

void RecordingReader::read_attributes() {
  QueuePairAttributes& attributes = header_.attributes;
  PolicySpec& policy = attributes.policy;
  const auto kind = reader_.fixed<uint8_t>();
  const auto detection = reader_.fixed<uint8_t>();
  reader_.invalid |= kind > 1 || detection > 1;
  policy.kind = static_cast<PolicySpec::Kind>(kind & 1);
  policy.detection = static_cast<PolicySpec::Detection>(detection & 1);
  policy.rto_millirtt = read_u32();
  policy.data_count = read_u32();
  policy.parity_count = read_u32();
  policy.fallback_millirtt = read_u32();
  attributes.connection = reader_.fixed<uint64_t>();
  attributes.chunk_packets = read_u32();
  attributes.generations = reader_.fixed<uint8_t>();
  attributes.channels = reader_.fixed<uint8_t>();
  attributes.max_messages = read_u32();
  attributes.round_trip = read_duration();
  attributes.reordering = read_duration();
  const auto has_quarantine = reader_.fixed<uint8_t>();
  reader_.invalid |= has_quarantine > 1;
  const Duration quarantine = read_duration();
  if (has_quarantine != 0) attributes.quarantine = quarantine;
  attributes.give_up = read_duration();
  attributes.ahead = read_duration();
  Capabilities& capabilities = header_.capabilities;
  capabilities.mtu_bytes = read_u32();
  capabilities.max_run_packets = read_u32();
  capabilities.rate_bps = reader_.varint();
  capabilities.header_bytes = read_u32();
  capabilities.max_control_bytes = read_u32();
  const auto fence = reader_.fixed<uint8_t>();
  reader_.invalid |= fence > 1;
  capabilities.late_write_fence = fence != 0;
}

uint32_t RecordingReader::read_u32() {
  const uint64_t value = reader_.varint();
  reader_.invalid |= value > std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(value);
}

Duration RecordingReader::read_duration() {
  return {static_cast<int64_t>(recording::unzigzag(reader_.varint()))};
}

/// Of a post or turn.
Instant RecordingReader::read_time() {
  time_ = recording::later_by(time_, recording::unzigzag(reader_.varint()));
  reader_.invalid |= time_.ps < 0 || time_.ps > kLatest;
  return time_;
}

/// Of an arrival.
Instant RecordingReader::read_before(Instant later) {
  const Instant time = recording::later_by(later, -recording::unzigzag(reader_.varint()));
  reader_.invalid |= time.ps < 0 || time.ps > kLatest;
  return time;
}

// Records ----------------------------------------------------------------------------------------

void RecordingReader::next() {
  if (error_ || (position_ != 0 && std::holds_alternative<RecordedEnd>(item_))) return;
  position_ = at();
  const auto tag = reader_.fixed<uint8_t>();
  const auto flags = static_cast<uint8_t>(tag >> 4);
  bool known_flags = flags == 0;
  switch (static_cast<Record>(tag & 15)) {
    case Record::turn:
      read_turn();
      break;
    case Record::outcome:
      known_flags = flags <= (recording::kNoCommands | recording::kAllTaken);
      read_outcome(flags);
      break;
    case Record::checksum:
      item_ = RecordedChecksum{reader_.fixed<uint64_t>()};
      break;
    case Record::decoded:
      item_ = RecordedDecode{reader_.varint()};
      break;
    case Record::handle:
      item_ = RecordedHandle{static_cast<MemoryHandle>(read_u32())};
      break;
    case Record::post:
      known_flags = flags < recording::kPosts;
      read_post(flags);
      break;
    case Record::slot:
      known_flags = flags <= recording::kFound;
      item_ = RecordedSlot{flags == recording::kFound};
      break;
    case Record::end:
      item_ = RecordedEnd{};
      if (reader_.left() != 0) fail_damaged("bytes follow the end of the recording");
      break;
    default:
      if (!reader_.truncated) fail_damaged("there is no such record here");
  }
  if (!known_flags) reader_.invalid = true;
  cut_short_or_invalid("a field of the record is out of range");
}

void RecordingReader::read_post(uint8_t flags) {
  RecordedPost post;
  post.post = static_cast<Post>(flags);
  const bool forget = post.post >= Post::forget_send;
  post.now = forget ? time_ : read_time();
  switch (post.post) {
    case Post::transfer_send:
    case Post::send_start:
    case Post::transfer_recv:
    case Post::recv_post:
      post.handle = static_cast<MemoryHandle>(read_u32());
      post.offset = reader_.varint();
      post.bytes = reader_.varint();
      if (post.post == Post::transfer_send || post.post == Post::send_start)
        post.user_immediate = reader_.fixed<uint32_t>();
      break;
    default:
      post.id = reader_.varint();
      if (post.post != Post::send_continue) break;
      post.first = reader_.varint();
      post.count = reader_.varint();
  }
  item_ = post;
}

void RecordingReader::read_outcome(uint8_t flags) {
  RecordedOutcome outcome;
  if ((flags & recording::kNoCommands) == 0) {
    outcome.commands = reader_.varint();
    outcome.digest = reader_.fixed<uint64_t>();
    reader_.invalid |= outcome.commands == 0;
  }
  if ((flags & recording::kAllTaken) == 0) outcome.taken = reader_.varint();
  item_ = outcome;
}

void RecordingReader::read_turn() {
  events_.clear();
  const Instant now = read_time();
  while (read_event(now)) {
  }
  item_ = RecordedTurn{now};
}

/// False when what comes next is no event.
bool RecordingReader::read_event(Instant now) {
  if (reader_.left() == 0 || reader_.invalid) return false;
  const auto tag = std::to_integer<uint8_t>(bytes_[at()]);
  const auto flags = static_cast<uint8_t>(tag >> 4);
  switch (static_cast<Record>(tag & 15)) {
    case Record::packets:
      reader_.raw(1);
      read_packets(flags, now);
      return true;
    case Record::control: {
      reader_.raw(1);
      reader_.invalid |= flags != 0;
      const uint32_t bytes = read_u32();
      const auto message = reader_.raw(bytes);
      auto& all = events_.control_bytes;
      events_.events.emplace_back(ControlArrived{static_cast<uint32_t>(all.size()), bytes});
      all.insert(all.end(), message.begin(), message.end());
      reader_.invalid |= all.size() > std::numeric_limits<uint32_t>::max();
      return true;
    }
    case Record::completed:
      reader_.raw(1);
      reader_.invalid |= flags > recording::kSameChannel;
      if (flags == 0) completed_channel_ = reader_.fixed<uint8_t>();
      events_.events.emplace_back(WritesCompleted{completed_channel_, read_u32()});
      return true;
    case Record::fault:
      reader_.raw(1);
      reader_.invalid |= flags > static_cast<uint8_t>(FaultRaised::Kind::peer_gone);
      events_.events.emplace_back(FaultRaised{static_cast<FaultRaised::Kind>(flags), read_u32()});
      return true;
    default:
      return false;
  }
}

void RecordingReader::read_packets(uint8_t flags, Instant now) {
  PacketsArrived packets = packets_;
  if ((flags & recording::kSameMessage) == 0) {
    packets.channel = reader_.fixed<uint8_t>();
    packets.generation = reader_.fixed<uint8_t>();
    const uint64_t slot = reader_.varint();
    reader_.invalid |= slot > std::numeric_limits<uint16_t>::max();
    packets.slot = static_cast<uint16_t>(slot);
    packets.user_immediate = reader_.fixed<uint32_t>();
  }
  const uint64_t expected = uint64_t{packets_.first_packet} + packets_.packet_count;
  const uint64_t first = expected + recording::unzigzag(reader_.varint());
  reader_.invalid |= first > std::numeric_limits<uint32_t>::max();
  packets.first_packet = static_cast<uint32_t>(first);
  packets.packet_count = (flags & recording::kOnePacket) != 0 ? 1 : read_u32();
  packets.last_arrival = (flags & recording::kLastNow) != 0 ? now : read_before(now);
  packets.first_arrival = (flags & recording::kOneInstant) != 0 ? packets.last_arrival
                                                                : read_before(packets.last_arrival);
  packets_ = packets;
  events_.events.emplace_back(packets);
}

}  // namespace longhaul
