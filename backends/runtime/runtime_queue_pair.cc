#include "backends/runtime/runtime_queue_pair.h"

#include <algorithm>

#include "backends/runtime/context.h"
#include "core/base/error.h"

namespace longhaul {
namespace {

std::string text(uint64_t value) { return std::to_string(value); }

}  // namespace

// Life -------------------------------------------------------------------------------------------

RuntimeQueuePair::RuntimeQueuePair(Context& context, const QueuePairOptions& options)
    : context_(context),
      options_(options),
      local_(describe_end(options, static_cast<uint8_t>(context.options().channels),
                          context.device())),
      port_attributes_{local_.channels, local_.generations, local_.mtu_bytes, options.rate_bps,
                       context.doorbells()},
      port_(context.device().open_port(port_attributes_)),
      handed_over_(local_.channels) {
  local_.root_keys = port_->root_keys();
  local_.backend_bytes = port_->connect_bytes();
  ++context_.queue_pairs_;
}

RuntimeQueuePair::~RuntimeQueuePair() {
  if (core_) context_.detach(*this);
  port_->close();
  --context_.queue_pairs_;
}

void RuntimeQueuePair::connect(std::span<const std::byte> blob) {
  {
    const std::lock_guard lock(gate_);
    constexpr const char* kWhere = "connect";
    if (core_) throw SetupError(kWhere, "the queue pair is connected already");
    const auto parsed = parse_connect_info(blob);
    if (const auto* problem = std::get_if<std::string>(&parsed)) throw SetupError(kWhere, *problem);
    const auto& peer = std::get<ConnectInfo>(parsed);
    agreement_ = agree(local_, peer);
    std::string problems;
    for (const std::string& problem : agreement_.problems) {
      if (!problems.empty()) problems += '\n';
      problems += problem;
    }
    if (!problems.empty()) throw SetupError(kWhere, problems);
    const bool recorded = !options_.recording.empty();
    std::ofstream recording_file;
    if (recorded) recording_file = RecordingFile::open(options_.recording);
    port_->connect(peer, agreement_.mtu_bytes);

    const QueuePairAttributes attributes = core_attributes(options_, local_, agreement_);
    backend_ = std::make_unique<PortBackend>(context_.device(), *port_, context_.doorbells(),
                                             port_attributes_, local_.chunk_packets,
                                             context_.options().workers != 0);
    coder_ = std::make_unique<FencingCoder>(*backend_, host_coder());
    if (recorded) {
      recording_ = std::make_unique<RecordingFile>(std::move(recording_file), attributes, *backend_,
                                                   *coder_);
    }
    core_ = recorded ? std::make_unique<QueuePair>(attributes, recording_->backend(),
                                                   recording_->coder())
                     : std::make_unique<QueuePair>(attributes, *backend_, *coder_);
    description_ = describe_connection(options_, core_->attributes(), port_->capabilities());
  }
  context_.attach(*this);
}

bool RuntimeQueuePair::connected() const {
  const std::lock_guard lock(gate_);
  return core_ != nullptr;
}

QueuePairCounters RuntimeQueuePair::counters() const {
  const std::lock_guard lock(gate_);
  if (!core_) return {};
  // What the table turns away never becomes an event.
  QueuePairCounters counters = core_->counters();
  const ArrivalCounters arrivals = backend_->arrival_counters();
  counters.late_packets += arrivals.late;
  counters.duplicate_packets += arrivals.duplicate;
  counters.beyond_packets += arrivals.beyond_message;
  return counters;
}

// Progress ---------------------------------------------------------------------------------------

Instant RuntimeQueuePair::now() const { return context_.clock().now(); }

void RuntimeQueuePair::touched() {
  next_due_ = {};
  context_.doorbells()->progress().ring();
}

size_t RuntimeQueuePair::progress(bool over_and_over) {
  if (over_and_over) {
    const LastInGate lock(gate_);
    return turn(now());
  }
  const std::lock_guard lock(gate_);
  return turn(now());
}

Instant RuntimeQueuePair::next_due() {
  const std::lock_guard lock(gate_);
  return next_due_;
}

/// The core's `drive`, with what the port needs to know of it.
size_t RuntimeQueuePair::turn(Instant now) {
  Backend& backend = recording_ ? recording_->backend() : *backend_;
  events_.clear();
  backend.poll(now, events_);
  const size_t before = pending_.commands.size();
  coder_->set_in_turn(true);
  core_->turn(now, events_, pending_);
  coder_->set_in_turn(false);
  const auto appended = std::span<const Command>(pending_.commands).subspan(before);
  backend_->resume(appended);
  for (const Command& command : appended) {
    if (const auto* write = std::get_if<WriteRun>(&command))
      handed_over_[write->channel] += write->packet_count;
  }
  const size_t accepted = backend.submit(now, pending_.commands, pending_.control_bytes);
  if (recording_) recording_->flush_if_full();
  if (accepted == pending_.commands.size()) {
    pending_.clear();
  } else {
    pending_.commands.erase(pending_.commands.begin(),
                            pending_.commands.begin() + static_cast<std::ptrdiff_t>(accepted));
  }
  note_lengths();
  publish_tails();
  sweep_orphans();
  next_due_ = backend_->next_event(core_->next_wakeup());
  if (!pending_.commands.empty()) next_due_ = std::min(next_due_, port_->next_event(1));
  return events_.events.size() + accepted;
}

void RuntimeQueuePair::sweep_orphans() {
  std::erase_if(orphans_, [&](uint64_t id) {
    const SendState state = core_->send_message_status(id).state;
    if (state != SendState::completed && state != SendState::failed) return false;
    record([&](Recorder& recorder) { recorder.forget_send_message(id); });
    core_->forget_send_message(id);
    return true;
  });
}

bool RuntimeQueuePair::uses(const RegisteredMemory& memory) {
  const std::lock_guard lock(gate_);
  const auto any = [&](Posts& posts, auto&& in_use) {
    return std::ranges::any_of(posts, [&](auto& entry) {
      return entry.second.memory == &memory && in_use(entry.first, entry.second);
    });
  };
  return any(transfers_out_, [&](uint64_t id, Post&) { return !core_->send_released(id); }) ||
         any(transfers_in_,
             [&](uint64_t id, Post&) {
               return core_->recv_status(id).state == TransferState::active;
             }) ||
         any(messages_out_,
             [&](uint64_t id, Post& post) {
               const SendStatus status = core_->send_message_status(id);
               const bool may_go_on = status.state == SendState::injected && !status.stream_ended;
               return may_go_on || !has_left(id, post);
             }) ||
         any(messages_in_, [](uint64_t, Post&) { return true; });
}

// What is refused --------------------------------------------------------------------------------

Outcome RuntimeQueuePair::check_post(Direction way, const RegisteredMemory& memory, uint64_t offset,
                                     uint64_t length) const {
  if (options_.direction != Direction::both && options_.direction != way) {
    return Outcome::error(way == Direction::send
                              ? "this end only receives; set its direction to both, or to send"
                              : "this end only sends; set its direction to both, or to receive");
  }
  if (memory.context != &context_) {
    return Outcome::error(
        "the memory is registered with another context; register it with that of the queue pair");
  }
  if (offset > memory.region.bytes || length > memory.region.bytes - offset) {
    return Outcome::error("offset " + text(offset) + " and length " + text(length) +
                          " go beyond the registration of " + text(memory.region.bytes) +
                          " bytes; register more, or post less");
  }
  if (!core_) return Outcome::retry("the queue pair is not connected yet");
  return {};
}

Outcome RuntimeQueuePair::check_slots(uint64_t length) const {
  const uint64_t needed = core_->slots_needed(length);
  const uint64_t there = core_->slots().max_armed();
  if (needed <= there) return {};
  return Outcome::error("a transfer of " + text(length) + " bytes takes " + text(needed) +
                        " message slots with " + local_.policy + ", and only " + text(there) +
                        " can be armed at once; transfer it in parts, or raise max_messages and "
                        "generations at both ends");
}

Outcome RuntimeQueuePair::check_receive(uint64_t length) const {
  const uint64_t most = agreement_.max_bytes;
  if (most == ~uint64_t{0}) return {};
  if (length > most) {
    return Outcome::error("a receive of " + text(length) +
                          " bytes can never be posted: max_bytes, "
                          "the smaller one of both ends, is " +
                          text(most) + "; raise it, or post less at once");
  }
  if (length > most - posted_for_receiving())
    return Outcome::retry("max_bytes are posted for receiving; complete some first");
  return {};
}

uint64_t RuntimeQueuePair::posted_for_receiving() const {
  uint64_t bytes = 0;
  for (const auto& [id, post] : messages_in_) bytes += post.bytes;
  for (const auto& [id, post] : transfers_in_) {
    if (core_->recv_status(id).state == TransferState::active) bytes += post.bytes;
  }
  return bytes;
}

// Transfers --------------------------------------------------------------------------------------

Posted<TransferId> RuntimeQueuePair::transfer_send(const RegisteredMemory& memory, uint64_t offset,
                                                   uint64_t length, uint32_t user_immediate) {
  const std::lock_guard lock(gate_);
  if (Outcome problem = check_post(Direction::send, memory, offset, length); !problem.ok())
    return problem;
  if (Outcome problem = check_slots(length); !problem.ok()) return problem;
  const MemorySlice slice{memory.handle, memory.region, offset, length};
  const Instant when = now();
  record([&](Recorder& recorder) { recorder.transfer_send(when, slice, user_immediate); });
  const uint64_t id = core_->transfer_send(when, slice, user_immediate);
  transfers_out_.emplace(id, Post{&memory, length, user_immediate, {}});
  touched();
  return Posted(TransferId{true, id});
}

Posted<TransferId> RuntimeQueuePair::transfer_recv(const RegisteredMemory& memory, uint64_t offset,
                                                   uint64_t length) {
  const std::lock_guard lock(gate_);
  if (Outcome problem = check_post(Direction::receive, memory, offset, length); !problem.ok())
    return problem;
  if (Outcome problem = check_slots(length); !problem.ok()) return problem;
  if (Outcome problem = check_receive(length); !problem.ok()) return problem;
  const MemorySlice slice{memory.handle, memory.region, offset, length};
  const Instant when = now();
  record([&](Recorder& recorder) { recorder.transfer_recv(when, slice); });
  const uint64_t id = core_->transfer_recv(when, slice);
  transfers_in_.emplace(id, Post{&memory, length, 0, {}});
  touched();
  return Posted(TransferId{false, id});
}

Outcome RuntimeQueuePair::transfer_poll(TransferId id, TransferResult* result) const {
  const std::lock_guard lock(gate_);
  const Posts& posts = id.sends ? transfers_out_ : transfers_in_;
  const auto found = posts.find(id.number);
  LONGHAUL_CHECK(found != posts.end());
  const TransferStatus& status =
      id.sends ? core_->send_status(id.number) : core_->recv_status(id.number);
  const bool over =
      id.sends ? core_->send_released(id.number) : status.state != TransferState::active;
  const auto as_result = [&]() -> TransferResult {
    if (!over) return {};
    const bool delivered = status.state == TransferState::delivered;
    if (id.sends) {
      return {status.state, delivered ? found->second.bytes : 0, found->second.user_immediate,
              status.reason};
    }
    const ReceiveTransfer& receive = core_->recv(id.number);
    return {status.state, delivered ? receive.bytes() : 0, receive.user_immediate(), status.reason};
  };
  if (result != nullptr) *result = as_result();
  return over ? Outcome{} : Outcome::retry("the transfer has not ended");
}

Outcome RuntimeQueuePair::transfer_free(TransferId id) {
  if (Outcome active = transfer_poll(id, nullptr); !active.ok()) return active;
  const std::lock_guard lock(gate_);
  if (id.sends) {
    record([&](Recorder& recorder) { recorder.forget_send(id.number); });
    core_->forget_send(id.number);
    transfers_out_.erase(id.number);
  } else {
    record([&](Recorder& recorder) { recorder.forget_recv(id.number); });
    core_->forget_recv(id.number);
    transfers_in_.erase(id.number);
  }
  return {};
}

}  // namespace longhaul
