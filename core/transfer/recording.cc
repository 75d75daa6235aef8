#include "core/transfer/recording.h"

#include "core/base/hash.h"
#include "core/wire/bytes.h"

namespace longhaul {

using recording::difference;
using recording::Post;
using recording::Record;
using recording::tag;
using recording::zigzag;

namespace {

uint64_t packed(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

/// Every field of a command, folded into the hash a word at a time.
struct Digest {
  uint64_t value;
  std::span<const std::byte> control_bytes;
  size_t control_begin;

  void fold(uint64_t word) { value = mix64(value, word); }
  void name(uint8_t kind, uint8_t channel, uint8_t generation, uint16_t slot) {
    fold(uint64_t{kind} << 32 | uint64_t{channel} << 24 | uint64_t{generation} << 16 | slot);
  }
  void operator()(const WriteRun& write) {
    name(0, write.channel, write.generation, write.slot);
    fold(packed(write.first_packet, write.packet_count));
    fold(packed(write.last_packet_bytes, static_cast<uint32_t>(write.source)));
    fold(write.source_offset);
    fold(write.user_immediate);
  }
  void operator()(const ArmReceive& arm) {
    name(1, 0, arm.generation, arm.slot);
    fold(packed(static_cast<uint32_t>(arm.buffer), arm.packets));
    fold(arm.offset);
    fold(arm.bytes);
  }
  void operator()(const ReleaseReceive& release) { name(2, 0, release.generation, release.slot); }
  void operator()(const SendControl& control) {
    name(3, 0, 0, 0);
    fold(control.offset - control_begin);
    fold(control.bytes);
    fold(memory_checksum(control_bytes.subspan(control.offset, control.bytes)));
  }
};

}  // namespace

uint64_t recording::command_digest(std::span<const Command> commands,
                                   std::span<const std::byte> control_bytes, size_t control_begin) {
  Digest digest{commands.size(), control_bytes, control_begin};
  for (const Command& command : commands) std::visit(digest, command);
  return digest.value;
}

// Header -----------------------------------------------------------------------------------------

Recorder::Recorder(const QueuePairAttributes& attributes, const Capabilities& capabilities,
                   std::vector<std::byte>& out)
    : writer_(out) {
  const auto duration = [&](Duration d) { writer_.varint(zigzag(static_cast<uint64_t>(d.ps))); };
  for (const char c : recording::kMagic) writer_.fixed(static_cast<uint8_t>(c));
  writer_.fixed(recording::kVersion);
  writer_.fixed(kControlVersion);
  const PolicySpec& policy = attributes.policy;
  writer_.fixed(static_cast<uint8_t>(policy.kind));
  writer_.fixed(static_cast<uint8_t>(policy.detection));
  writer_.varint(policy.rto_millirtt);
  writer_.varint(policy.data_count);
  writer_.varint(policy.parity_count);
  writer_.varint(policy.fallback_millirtt);
  writer_.fixed(attributes.connection);
  writer_.varint(attributes.chunk_packets);
  writer_.fixed(attributes.generations);
  writer_.fixed(attributes.channels);
  writer_.varint(attributes.max_messages);
  duration(attributes.round_trip);
  duration(attributes.reordering);
  writer_.fixed(static_cast<uint8_t>(attributes.quarantine.has_value()));
  duration(attributes.quarantine.value_or(Duration{}));
  duration(attributes.give_up);
  duration(attributes.ahead);
  writer_.varint(capabilities.mtu_bytes);
  writer_.varint(capabilities.max_run_packets);
  writer_.varint(capabilities.rate_bps);
  writer_.varint(capabilities.header_bytes);
  writer_.varint(capabilities.max_control_bytes);
  writer_.fixed(static_cast<uint8_t>(capabilities.late_write_fence));
}

// Posts ------------------------------------------------------------------------------------------

void Recorder::time(Instant now) {
  writer_.varint(zigzag(difference(now, time_)));
  time_ = now;
}

void Recorder::post(Post post, Instant now) {
  writer_.fixed(tag(Record::post, static_cast<uint8_t>(post)));
  time(now);
}

void Recorder::forget(Post post, uint64_t id) {
  writer_.fixed(tag(Record::post, static_cast<uint8_t>(post)));
  writer_.varint(id);
}

void Recorder::slice(const MemorySlice& slice) {
  writer_.varint(static_cast<uint32_t>(slice.handle));
  writer_.varint(slice.offset);
  writer_.varint(slice.bytes);
}

void Recorder::transfer_send(Instant now, const MemorySlice& source, uint32_t user_immediate) {
  post(Post::transfer_send, now);
  slice(source);
  writer_.fixed(user_immediate);
}

void Recorder::transfer_recv(Instant now, const MemorySlice& buffer) {
  post(Post::transfer_recv, now);
  slice(buffer);
}

void Recorder::send_start(Instant now, const MemorySlice& source, uint32_t user_immediate) {
  post(Post::send_start, now);
  slice(source);
  writer_.fixed(user_immediate);
}

void Recorder::send_continue(Instant now, uint64_t id, uint64_t first, uint64_t count) {
  post(Post::send_continue, now);
  writer_.varint(id);
  writer_.varint(first);
  writer_.varint(count);
}

void Recorder::send_end(Instant now, uint64_t id) {
  post(Post::send_end, now);
  writer_.varint(id);
}

void Recorder::recv_post(Instant now, const MemorySlice& buffer) {
  post(Post::recv_post, now);
  slice(buffer);
}

void Recorder::recv_complete(Instant now, uint64_t id) {
  post(Post::recv_complete, now);
  writer_.varint(id);
}

// Turns ------------------------------------------------------------------------------------------

void Recorder::turn(Instant now, const EventBatch& events) {
  writer_.fixed(tag(Record::turn));
  time(now);
  for (const Event& any : events.events) {
    if (const auto* packets = std::get_if<PacketsArrived>(&any)) {
      event(*packets, now);
    } else if (const auto* control = std::get_if<ControlArrived>(&any)) {
      writer_.fixed(tag(Record::control));
      writer_.varint(control->bytes);
      writer_.raw(std::span(events.control_bytes).subspan(control->offset, control->bytes));
    } else if (const auto* completed = std::get_if<WritesCompleted>(&any)) {
      event(*completed);
    } else if (const auto* fault = std::get_if<FaultRaised>(&any)) {
      writer_.fixed(tag(Record::fault, static_cast<uint8_t>(fault->kind)));
      writer_.varint(fault->count);
    }
  }
}

void Recorder::event(const PacketsArrived& event, Instant now) {
  const bool same_message =
      event.channel == packets_.channel && event.generation == packets_.generation &&
      event.slot == packets_.slot && event.user_immediate == packets_.user_immediate;
  uint8_t flags = 0;
  if (same_message) flags |= recording::kSameMessage;
  if (event.packet_count == 1) flags |= recording::kOnePacket;
  if (event.last_arrival == now) flags |= recording::kLastNow;
  if (event.first_arrival == event.last_arrival) flags |= recording::kOneInstant;
  writer_.fixed(tag(Record::packets, flags));
  if (!same_message) {
    writer_.fixed(event.channel);
    writer_.fixed(event.generation);
    writer_.varint(event.slot);
    writer_.fixed(event.user_immediate);
  }
  // Mostly 0: it continues the run before.
  const uint64_t expected = uint64_t{packets_.first_packet} + packets_.packet_count;
  writer_.varint(zigzag(event.first_packet - expected));
  if (event.packet_count != 1) writer_.varint(event.packet_count);
  if (event.last_arrival != now) writer_.varint(zigzag(difference(now, event.last_arrival)));
  if (event.first_arrival != event.last_arrival)
    writer_.varint(zigzag(difference(event.last_arrival, event.first_arrival)));
  packets_ = event;
}

void Recorder::event(const WritesCompleted& event) {
  const bool same_channel = event.channel == completed_channel_;
  writer_.fixed(tag(Record::completed, same_channel ? recording::kSameChannel : 0));
  if (!same_channel) writer_.fixed(event.channel);
  writer_.varint(event.packet_count);
  completed_channel_ = event.channel;
}

void Recorder::outcome(uint64_t commands, uint64_t digest, uint64_t waiting, uint64_t taken) {
  uint8_t flags = 0;
  if (commands == 0) flags |= recording::kNoCommands;
  if (taken == waiting) flags |= recording::kAllTaken;
  writer_.fixed(tag(Record::outcome, flags));
  if (commands != 0) {
    writer_.varint(commands);
    writer_.fixed(digest);
  }
  if (taken != waiting) writer_.varint(taken);
}

// Answers ----------------------------------------------------------------------------------------

void Recorder::slot(bool found) { writer_.fixed(tag(Record::slot, found ? recording::kFound : 0)); }

void Recorder::checksum(uint64_t value) {
  writer_.fixed(tag(Record::checksum));
  writer_.fixed(value);
}

void Recorder::decoded(uint64_t packets) {
  writer_.fixed(tag(Record::decoded));
  writer_.varint(packets);
}

void Recorder::handle(MemoryHandle handle) {
  writer_.fixed(tag(Record::handle));
  writer_.varint(static_cast<uint32_t>(handle));
}

void Recorder::finish() { writer_.fixed(tag(Record::end)); }

MemoryHandle RecordingBackend::register_memory(const MemoryRegion& region) {
  const MemoryHandle handle = backend_.register_memory(region);
  recorder_.handle(handle);
  return handle;
}

void RecordingBackend::poll(Instant now, EventBatch& events) {
  backend_.poll(now, events);
  recorder_.turn(now, events);
}

size_t RecordingBackend::submit(Instant now, std::span<const Command> commands,
                                std::span<const std::byte> control_bytes) {
  const auto fresh = commands.subspan(commands_left_);
  const uint64_t digest = recording::command_digest(fresh, control_bytes, control_bytes_left_);
  const size_t taken = backend_.submit(now, commands, control_bytes);
  recorder_.outcome(fresh.size(), digest, commands.size(), taken);
  commands_left_ = commands.size() - taken;
  control_bytes_left_ = commands_left_ == 0 ? 0 : control_bytes.size();
  return taken;
}

uint64_t RecordingCoder::checksum(const MemorySlice& slice, uint64_t bytes) {
  const uint64_t value = coder_.checksum(slice, bytes);
  recorder_.checksum(value);
  return value;
}

uint64_t RecordingCoder::decode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
                                const PacketBitmap& arrived, std::span<const std::byte> parity,
                                const PacketBitmap& parity_arrived) {
  const uint64_t packets = coder_.decode(code, data, bytes, arrived, parity, parity_arrived);
  recorder_.decoded(packets);
  return packets;
}

}  // namespace longhaul
