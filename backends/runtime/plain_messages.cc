#include <algorithm>

#include "backends/runtime/runtime_queue_pair.h"

namespace longhaul {
namespace {

constexpr const char* kGivenUp = "the sender has given up or is gone: nothing more will come";

std::string text(uint64_t value) { return std::to_string(value); }

}  // namespace

Outcome RuntimeQueuePair::check_message(Direction way, const RegisteredMemory& memory,
                                        uint64_t offset, uint64_t length) const {
  if (Outcome problem = check_post(way, memory, offset, length); !problem.ok()) return problem;
  if (packets_in(length) <= kMaxMessagePackets) return {};
  return Outcome::error("a message of " + text(length) + " bytes has " + text(packets_in(length)) +
                        " packets, and at most " + text(kMaxMessagePackets) +
                        " are possible; use transfer_send and transfer_recv, which take any "
                        "length, or send it in parts");
}

// Sending ----------------------------------------------------------------------------------------

Posted<uint64_t> RuntimeQueuePair::send_start(const RegisteredMemory& memory, uint64_t offset,
                                              uint64_t length, uint32_t user_immediate) {
  const std::lock_guard lock(gate_);
  if (Outcome problem = check_message(Direction::send, memory, offset, length); !problem.ok())
    return problem;
  const MemorySlice slice{memory.handle, memory.region, offset, length};
  const Instant when = now();
  record([&](Recorder& recorder) { recorder.send_start(when, slice, user_immediate); });
  const uint64_t id = core_->send_start(when, slice, user_immediate);
  messages_out_.emplace(id, Post{&memory, length, user_immediate, {}});
  touched();
  return Posted<uint64_t>(id);
}

Posted<uint64_t> RuntimeQueuePair::send_post(const RegisteredMemory& memory, uint64_t offset,
                                             uint64_t length, uint32_t user_immediate) {
  Posted<uint64_t> posted = send_start(memory, offset, length, user_immediate);
  if (!posted.ok()) return posted;
  // In between the message may have failed, or the receiver may have completed it: the next call
  // about it says so.
  (void)send_continue(posted.id, 0, packets_in(length));
  (void)send_end(posted.id);
  return posted;
}

Outcome RuntimeQueuePair::send_continue(uint64_t id, uint64_t first_packet, uint64_t packet_count) {
  const std::lock_guard lock(gate_);
  const auto found = messages_out_.find(id);
  LONGHAUL_CHECK(found != messages_out_.end());
  const SendStatus status = core_->send_message_status(id);
  if (status.state == SendState::failed) return Outcome::error(status.reason);
  if (status.state == SendState::completed) {
    return Outcome::error("the receiver has completed the message: nothing more of it can be sent");
  }
  if (status.stream_ended)
    return Outcome::error("the message has been ended: nothing more of it can be sent");
  const uint64_t packets = core_->send_message(id).packets();
  if (first_packet > packets || packet_count > packets - first_packet) {
    return Outcome::error("packets from " + text(first_packet) + " on, " + text(packet_count) +
                          " of them, are not within the message's " + text(packets));
  }
  const Instant when = now();
  record([&](Recorder& recorder) { recorder.send_continue(when, id, first_packet, packet_count); });
  core_->send_continue(when, id, first_packet, packet_count);
  touched();
  return {};
}

Outcome RuntimeQueuePair::send_end(uint64_t id) {
  const std::lock_guard lock(gate_);
  LONGHAUL_CHECK(messages_out_.contains(id));
  const Instant when = now();
  record([&](Recorder& recorder) { recorder.send_end(when, id); });
  core_->send_end(when, id);
  touched();
  return {};
}

/// Whether the NIC is done with all that was asked for.
bool RuntimeQueuePair::has_left(uint64_t id, Post& post) const {
  const SendState state = core_->send_message_status(id).state;
  if (state == SendState::waiting || state == SendState::injected)
    return state == SendState::injected;
  // It has ended in the middle; what it had handed over by then is still under way to the wire.
  if (!post.handed_over) post.handed_over = handed_over_;
  for (uint8_t channel = 0; channel < local_.channels; ++channel) {
    if (backend_->completed(channel) < (*post.handed_over)[channel]) return false;
  }
  return true;
}

Outcome RuntimeQueuePair::send_poll(uint64_t id) {
  const std::lock_guard lock(gate_);
  const auto found = messages_out_.find(id);
  LONGHAUL_CHECK(found != messages_out_.end());
  const SendStatus status = core_->send_message_status(id);
  if (status.state == SendState::failed) return Outcome::error(status.reason);
  if (has_left(id, found->second)) return {};
  return Outcome::retry("not all that was asked for has left");
}

Outcome RuntimeQueuePair::send_completed(uint64_t id, bool* all_chunks) const {
  const std::lock_guard lock(gate_);
  LONGHAUL_CHECK(messages_out_.contains(id));
  const SendStatus status = core_->send_message_status(id);
  if (status.state == SendState::failed) return Outcome::error(status.reason);
  if (status.state != SendState::completed)
    return Outcome::retry("the receiver has not completed the message");
  if (all_chunks != nullptr) *all_chunks = status.completion == CompletionStatus::delivered;
  return {};
}

Outcome RuntimeQueuePair::send_free(uint64_t id) {
  const std::lock_guard lock(gate_);
  const auto found = messages_out_.find(id);
  LONGHAUL_CHECK(found != messages_out_.end());
  const SendStatus status = core_->send_message_status(id);
  const bool over = status.state == SendState::completed || status.state == SendState::failed;
  if (!over && !status.stream_ended) return Outcome::retry("the message has not been ended");
  if (!has_left(id, found->second)) return Outcome::retry("not all that was asked for has left");
  messages_out_.erase(found);
  // The core goes on until the receiver has completed the message: it may yet have to repeat how
  // long the message is.
  orphans_.push_back(id);
  if (over) sweep_orphans();
  return {};
}

// Receiving --------------------------------------------------------------------------------------

Posted<uint64_t> RuntimeQueuePair::recv_post(const RegisteredMemory& memory, uint64_t offset,
                                             uint64_t length) {
  const std::lock_guard lock(gate_);
  if (Outcome problem = check_message(Direction::receive, memory, offset, length); !problem.ok())
    return problem;
  if (Outcome problem = check_receive(length); !problem.ok()) return problem;
  // A slot whose release still waits for the wire must not be armed by us before.
  if (std::ranges::any_of(pending_.commands, [](const Command& command) {
        return std::holds_alternative<ReleaseReceive>(command);
      })) {
    return Outcome::retry("released slots wait for the wire");
  }
  const MemorySlice slice{memory.handle, memory.region, offset, length};
  const Instant when = now();
  record([&](Recorder& recorder) { recorder.recv_post(when, slice); });
  const auto id = core_->recv_post(when, slice);
  record([&](Recorder& recorder) { recorder.slot(id.has_value()); });
  if (!id) return Outcome::retry("no message slot is free; complete receives, or wait");
  // The user may ask for the bitmap before the next turn arms the slot.
  backend_->arm_bitmap(core_->recv_message(*id).slot(), static_cast<uint32_t>(packets_in(length)));
  messages_in_.emplace(*id, Post{&memory, length, 0, {}});
  touched();
  return Posted<uint64_t>(*id);
}

BitmapView RuntimeQueuePair::recv_bitmap(uint64_t id) const {
  const std::lock_guard lock(gate_);
  const auto found = messages_in_.find(id);
  LONGHAUL_CHECK(found != messages_in_.end());
  const auto words = backend_->chunk_words(core_->recv_message(id).slot());
  return {words.data(), chunks_in(found->second.bytes)};
}

Outcome RuntimeQueuePair::recv_length(uint64_t id, uint64_t& bytes, size_t& chunks) const {
  const std::lock_guard lock(gate_);
  LONGHAUL_CHECK(messages_in_.contains(id));
  const ReceiveMessage& message = core_->recv_message(id);
  if (!message.bytes()) {
    if (message.abandoned()) return Outcome::error(kGivenUp);
    return Outcome::retry("the sender has not said how long the message is");
  }
  bytes = *message.bytes();
  chunks = chunks_in(bytes);
  return {};
}

Outcome RuntimeQueuePair::recv_immediate(uint64_t id, uint32_t& user_immediate) const {
  const std::lock_guard lock(gate_);
  LONGHAUL_CHECK(messages_in_.contains(id));
  const ReceiveMessage& message = core_->recv_message(id);
  const auto immediate = message.user_immediate();
  if (!immediate) {
    if (message.abandoned()) return Outcome::error(kGivenUp);
    return Outcome::retry("the user's immediate has not arrived");
  }
  user_immediate = *immediate;
  return {};
}

/// A message that is shorter than its buffer may end within a chunk, which the ArrivalTable then
/// never takes for complete: the turn publishes it.
void RuntimeQueuePair::note_lengths() {
  for (const Event& event : events_.events) {
    const auto* arrived = std::get_if<ControlArrived>(&event);
    if (arrived == nullptr || messages_in_.empty()) continue;
    const auto parsed =
        parse_control(std::span(events_.control_bytes).subspan(arrived->offset, arrived->bytes));
    const auto* control = std::get_if<ParsedControl>(&parsed);
    const auto* begin = control == nullptr ? nullptr : std::get_if<Begin>(&control->message);
    if (begin == nullptr || begin->role != MessageRole::plain) continue;
    if (std::ranges::find(tails_, begin->id) == tails_.end()) tails_.push_back(begin->id);
  }
}

void RuntimeQueuePair::publish_tails() {
  std::erase_if(tails_, [&](uint64_t id) {
    const auto found = messages_in_.find(id);
    if (found == messages_in_.end()) return true;
    const ReceiveMessage& message = core_->recv_message(id);
    if (!message.bytes()) return true;
    const uint64_t packets = packets_in(*message.bytes());
    const uint64_t tail = packets % local_.chunk_packets;
    if (tail == 0 || packets == packets_in(found->second.bytes)) return true;
    if (!message.bitmap().packets().all_set(packets - tail, tail)) return false;
    backend_->publish_chunk(message.slot(), static_cast<uint32_t>(packets / local_.chunk_packets));
    return true;
  });
}

void RuntimeQueuePair::recv_complete(uint64_t id) {
  const std::lock_guard lock(gate_);
  LONGHAUL_CHECK(messages_in_.contains(id));
  const SlotId slot = core_->recv_message(id).slot();
  const Instant when = now();
  const PacketBitmap& packets = core_->recv_message(id).bitmap().packets();
  record([&](Recorder& recorder) { recorder.recv_complete(when, id); });
  core_->recv_complete(when, id);
  // Before the fence: what a worker merges behind it has not landed.
  backend_->repeat_chunks(when, slot, packets);
  backend_->fence(slot);
  messages_in_.erase(id);
  touched();
}

}  // namespace longhaul
