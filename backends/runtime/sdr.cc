/// The C interface over Context and RuntimeQueuePair: handles, thread-local texts, and no exception
/// beyond this file.

#include "core/sdr/sdr.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <set>

#include "backends/runtime/context.h"

using namespace longhaul;

struct longhaul_context {
  std::unique_ptr<Context> context;
};

struct longhaul_mr {
  std::unique_ptr<RegisteredMemory> memory;
  Context* context = nullptr;
};

/// A handle belongs to its queue pair and goes with it.
struct longhaul_transfer {
  longhaul_qp* qp;
  TransferId id;
};
struct longhaul_send {
  longhaul_qp* qp;
  uint64_t id;
};
struct longhaul_recv {
  longhaul_qp* qp;
  uint64_t id;
};

namespace {

/// The handles of one kind. Posting and freeing may happen on several threads.
template <class Handle>
class Handles {
 public:
  Handle* add(Handle handle) {
    const std::lock_guard lock(mutex_);
    const auto [place, fresh] = handles_.emplace(std::make_unique<Handle>(handle));
    return place->get();
  }
  void remove(Handle* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(handle);
    if (found != handles_.end()) handles_.erase(found);
  }

 private:
  struct Before {
    using is_transparent = void;
    static const Handle* plain(const std::unique_ptr<Handle>& handle) { return handle.get(); }
    static const Handle* plain(const Handle* handle) { return handle; }
    bool operator()(const auto& a, const auto& b) const {
      return std::less<const Handle*>()(plain(a), plain(b));
    }
  };
  std::mutex mutex_;
  std::set<std::unique_ptr<Handle>, Before> handles_;
};

}  // namespace

struct longhaul_qp {
  std::unique_ptr<RuntimeQueuePair> queue_pair;
  Handles<longhaul_transfer> transfers;
  Handles<longhaul_send> sends;
  Handles<longhaul_recv> recvs;
};

namespace {

thread_local std::string last_error;

longhaul_status say(longhaul_status status, std::string text) {
  last_error = std::move(text);
  return status;
}

longhaul_status answer(const Outcome& outcome) {
  switch (outcome.status) {
    case Status::ok:
      return LONGHAUL_OK;
    case Status::retry:
      return say(LONGHAUL_RETRY, outcome.text());
    case Status::error:
      break;
  }
  return say(LONGHAUL_ERROR, outcome.text());
}

/// Runs `call`; whatever it throws becomes LONGHAUL_ERROR with its text.
template <class Call>
longhaul_status guarded(Call&& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return say(LONGHAUL_ERROR, error.what());
  } catch (...) {
    return say(LONGHAUL_ERROR, "an unknown exception");
  }
}

/// The same, after refusing null arguments: name, pointer, name, pointer, ...
bool any_null() { return false; }
template <class... Rest>
bool any_null(const char* name, const void* pointer, Rest... rest) {
  if (pointer != nullptr) return any_null(rest...);
  last_error = std::string(name) + " is null; pass one that was created";
  return true;
}

/// Attributes of the caller, which may be those of an older header and then shorter.
template <class Attributes>
bool read_attributes(const Attributes* given, Attributes& attributes, const char* init) {
  if (given == nullptr) return true;
  if (given->size < sizeof(size_t) || given->size > sizeof(Attributes)) {
    last_error = "the attributes' size is " + std::to_string(given->size) +
                 ", this library knows " + std::to_string(sizeof(Attributes)) +
                 " bytes; fill them by " + init +
                 ", and do not use a library older than the header";
    return false;
  }
  std::memcpy(&attributes, given, given->size);
  return true;
}

ContextOptions options_of(const longhaul_context_attr& attr) {
  ContextOptions options;
  options.channels = attr.channels;
  options.workers = attr.workers;
  options.progress_thread = attr.progress_thread != 0;
  return options;
}

QueuePairOptions options_of(const longhaul_qp_attr& attr) {
  QueuePairOptions options;
  if (attr.policy != nullptr) options.policy = attr.policy;
  options.mtu_bytes = attr.mtu_bytes;
  options.chunk_packets = attr.chunk_packets;
  options.generations = attr.generations;
  options.max_messages = attr.max_messages;
  options.max_bytes = attr.max_bytes;
  options.rate_bps = attr.rate_bps;
  options.message_bytes = attr.message_bytes;
  options.round_trip = {attr.round_trip_ps};
  options.reordering = {attr.reordering_ps};
  options.give_up = {attr.give_up_ps};
  return options;
}

/// Posts, and makes the handle.
template <class Handle, class Post>
longhaul_status post(longhaul_qp* qp, longhaul_mr* mr, Handles<Handle> longhaul_qp::*handles,
                     Handle** handle, Post&& call) {
  if (any_null("the queue pair", qp, "the memory", mr, "the place for the handle", handle))
    return LONGHAUL_ERROR;
  return guarded([&] {
    const auto posted = call(*qp->queue_pair, *mr->memory);
    if (posted.ok()) *handle = (qp->*handles).add(Handle{qp, posted.id});
    return answer(posted);
  });
}

}  // namespace

extern "C" {

const char* longhaul_error(void) { return last_error.c_str(); }
const char* longhaul_version(void) { return LONGHAUL_VERSION; }

// Context ----------------------------------------------------------------------------------------

void longhaul_context_attr_init(longhaul_context_attr* attr) {
  if (attr == nullptr) return;
  const ContextOptions defaults;
  *attr = {sizeof *attr, defaults.channels, defaults.workers, defaults.progress_thread ? 1 : 0};
}

longhaul_status longhaul_context_create(const char* device, const longhaul_context_attr* attr,
                                        longhaul_context** context) {
  if (any_null("the device", device, "the place for the context", context)) return LONGHAUL_ERROR;
  return guarded([&] {
    longhaul_context_attr attributes;
    longhaul_context_attr_init(&attributes);
    if (!read_attributes(attr, attributes, "longhaul_context_attr_init")) return LONGHAUL_ERROR;
    auto made = std::make_unique<longhaul_context>();
    made->context = std::make_unique<Context>(device, options_of(attributes));
    *context = made.release();
    return LONGHAUL_OK;
  });
}

longhaul_status longhaul_context_destroy(longhaul_context* context) {
  if (any_null("the context", context)) return LONGHAUL_ERROR;
  return guarded([&] {
    const uint32_t queue_pairs = context->context->queue_pairs();
    const uint32_t registrations = context->context->registrations();
    if (queue_pairs != 0 || registrations != 0) {
      return say(LONGHAUL_ERROR, std::to_string(queue_pairs) + " queue pairs and " +
                                     std::to_string(registrations) +
                                     " memory registrations of the context are left; destroy "
                                     "them before");
    }
    delete context;
    return LONGHAUL_OK;
  });
}

size_t longhaul_context_progress(longhaul_context* context) {
  return context == nullptr ? 0 : context->context->progress();
}

const char* longhaul_context_describe(longhaul_context* context) {
  return context == nullptr ? "" : context->context->describe().c_str();
}

// Memory -----------------------------------------------------------------------------------------

longhaul_status longhaul_mr_reg(longhaul_context* context, void* address, uint64_t length,
                                uint32_t flags, longhaul_mr** mr) {
  if (any_null("the context", context, "the place for the registration", mr)) return LONGHAUL_ERROR;
  return guarded([&] {
    if (flags != LONGHAUL_MEMORY_HOST) {
      return say(LONGHAUL_ERROR, "memory flags " + std::to_string(flags) +
                                     " are unknown; this build has LONGHAUL_MEMORY_HOST");
    }
    auto made = std::make_unique<longhaul_mr>();
    made->context = context->context.get();
    made->memory = made->context->register_memory(address, length);
    *mr = made.release();
    return LONGHAUL_OK;
  });
}

longhaul_status longhaul_mr_dereg(longhaul_mr* mr) {
  if (any_null("the memory", mr)) return LONGHAUL_ERROR;
  return guarded([&] {
    const longhaul_status status = answer(mr->context->deregister_memory(mr->memory));
    if (status == LONGHAUL_OK) delete mr;
    return status;
  });
}

// Queue pair -------------------------------------------------------------------------------------

void longhaul_qp_attr_init(longhaul_qp_attr* attr) {
  if (attr == nullptr) return;
  const QueuePairOptions defaults;
  *attr = {sizeof *attr,           "sr(nack)",
           defaults.mtu_bytes,     defaults.chunk_packets,
           defaults.generations,   defaults.max_messages,
           defaults.max_bytes,     defaults.rate_bps,
           defaults.message_bytes, defaults.round_trip.ps,
           defaults.reordering.ps, defaults.give_up.ps};
}

longhaul_status longhaul_qp_create(longhaul_context* context, const longhaul_qp_attr* attr,
                                   longhaul_qp** qp) {
  if (any_null("the context", context, "the place for the queue pair", qp)) return LONGHAUL_ERROR;
  return guarded([&] {
    longhaul_qp_attr attributes;
    longhaul_qp_attr_init(&attributes);
    if (!read_attributes(attr, attributes, "longhaul_qp_attr_init")) return LONGHAUL_ERROR;
    auto made = std::make_unique<longhaul_qp>();
    made->queue_pair = context->context->create_queue_pair(options_of(attributes));
    *qp = made.release();
    return LONGHAUL_OK;
  });
}

longhaul_status longhaul_qp_destroy(longhaul_qp* qp) {
  if (any_null("the queue pair", qp)) return LONGHAUL_ERROR;
  delete qp;
  return LONGHAUL_OK;
}

longhaul_status longhaul_qp_info_get(longhaul_qp* qp, void* blob, size_t* length) {
  if (any_null("the queue pair", qp, "the length", length)) return LONGHAUL_ERROR;
  return guarded([&] {
    const auto bytes = qp->queue_pair->connect_info();
    const size_t room = std::exchange(*length, bytes.size());
    if (blob == nullptr) return LONGHAUL_OK;
    if (room < bytes.size()) {
      return say(LONGHAUL_ERROR, "the blob has " + std::to_string(bytes.size()) +
                                     " bytes, and there is room for " + std::to_string(room));
    }
    std::memcpy(blob, bytes.data(), bytes.size());
    return LONGHAUL_OK;
  });
}

longhaul_status longhaul_qp_connect(longhaul_qp* qp, const void* blob, size_t length) {
  if (any_null("the queue pair", qp, "the blob", blob)) return LONGHAUL_ERROR;
  return guarded([&] {
    qp->queue_pair->connect({static_cast<const std::byte*>(blob), length});
    return LONGHAUL_OK;
  });
}

const char* longhaul_qp_describe(longhaul_qp* qp) {
  return qp == nullptr ? "" : qp->queue_pair->describe().c_str();
}

longhaul_status longhaul_qp_counter(longhaul_qp* qp, const char* name, uint64_t* value) {
  if (any_null("the queue pair", qp, "the name", name, "the value", value)) return LONGHAUL_ERROR;
  return guarded([&] {
    for (const CounterField& field : counter_fields()) {
      if (std::strcmp(field.name, name) != 0) continue;
      *value = qp->queue_pair->counters().*field.value;
      return LONGHAUL_OK;
    }
    return say(LONGHAUL_ERROR,
               "there is no counter \"" + std::string(name) + "\"; core/sdr/counters.h lists them");
  });
}

// Reliable transfers -----------------------------------------------------------------------------

longhaul_status longhaul_transfer_send(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                       uint64_t length, uint32_t user_immediate,
                                       longhaul_transfer** transfer) {
  return post(qp, mr, &longhaul_qp::transfers, transfer, [&](auto& queue_pair, auto& memory) {
    return queue_pair.transfer_send(memory, offset, length, user_immediate);
  });
}

longhaul_status longhaul_transfer_recv(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                       uint64_t length, longhaul_transfer** transfer) {
  return post(qp, mr, &longhaul_qp::transfers, transfer, [&](auto& queue_pair, auto& memory) {
    return queue_pair.transfer_recv(memory, offset, length);
  });
}

longhaul_status longhaul_transfer_poll(longhaul_transfer* transfer,
                                       longhaul_transfer_result* result) {
  if (any_null("the transfer", transfer)) return LONGHAUL_ERROR;
  return guarded([&] {
    TransferResult found;
    const Outcome outcome = transfer->qp->queue_pair->transfer_poll(transfer->id, &found);
    if (result != nullptr) {
      *result = {static_cast<longhaul_transfer_state>(found.state), found.bytes,
                 found.user_immediate, found.reason};
    }
    return answer(outcome);
  });
}

longhaul_status longhaul_transfer_free(longhaul_transfer* transfer) {
  if (any_null("the transfer", transfer)) return LONGHAUL_ERROR;
  return guarded([&] {
    const longhaul_status status = answer(transfer->qp->queue_pair->transfer_free(transfer->id));
    if (status == LONGHAUL_OK) transfer->qp->transfers.remove(transfer);
    return status;
  });
}

// Plain messages: sending ------------------------------------------------------------------------

longhaul_status longhaul_send_post(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                   uint64_t length, uint32_t user_immediate, longhaul_send** send) {
  return post(qp, mr, &longhaul_qp::sends, send, [&](auto& queue_pair, auto& memory) {
    return queue_pair.send_post(memory, offset, length, user_immediate);
  });
}

longhaul_status longhaul_send_stream_start(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                           uint64_t length, uint32_t user_immediate,
                                           longhaul_send** send) {
  return post(qp, mr, &longhaul_qp::sends, send, [&](auto& queue_pair, auto& memory) {
    return queue_pair.send_start(memory, offset, length, user_immediate);
  });
}

longhaul_status longhaul_send_stream_continue(longhaul_send* send, uint64_t first_packet,
                                              uint64_t packet_count) {
  if (any_null("the message", send)) return LONGHAUL_ERROR;
  return guarded([&] {
    return answer(send->qp->queue_pair->send_continue(send->id, first_packet, packet_count));
  });
}

longhaul_status longhaul_send_stream_end(longhaul_send* send) {
  if (any_null("the message", send)) return LONGHAUL_ERROR;
  return guarded([&] { return answer(send->qp->queue_pair->send_end(send->id)); });
}

longhaul_status longhaul_send_poll(longhaul_send* send) {
  if (any_null("the message", send)) return LONGHAUL_ERROR;
  return guarded([&] { return answer(send->qp->queue_pair->send_poll(send->id)); });
}

longhaul_status longhaul_send_completed(longhaul_send* send, int* all_chunks) {
  if (any_null("the message", send)) return LONGHAUL_ERROR;
  return guarded([&] {
    bool all = false;
    const Outcome outcome = send->qp->queue_pair->send_completed(send->id, &all);
    if (outcome.ok() && all_chunks != nullptr) *all_chunks = all ? 1 : 0;
    return answer(outcome);
  });
}

longhaul_status longhaul_send_free(longhaul_send* send) {
  if (any_null("the message", send)) return LONGHAUL_ERROR;
  return guarded([&] {
    const longhaul_status status = answer(send->qp->queue_pair->send_free(send->id));
    if (status == LONGHAUL_OK) send->qp->sends.remove(send);
    return status;
  });
}

// Plain messages: receiving ----------------------------------------------------------------------

longhaul_status longhaul_recv_post(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                   uint64_t length, longhaul_recv** recv) {
  return post(qp, mr, &longhaul_qp::recvs, recv, [&](auto& queue_pair, auto& memory) {
    return queue_pair.recv_post(memory, offset, length);
  });
}

longhaul_status longhaul_recv_bitmap_get(longhaul_recv* recv, const uint64_t** bitmap,
                                         size_t* chunks) {
  if (any_null("the message", recv, "the place for the bitmap", bitmap, "the place for its size",
               chunks))
    return LONGHAUL_ERROR;
  return guarded([&] {
    const BitmapView view = recv->qp->queue_pair->recv_bitmap(recv->id);
    *bitmap = view.words;
    *chunks = view.chunks;
    return LONGHAUL_OK;
  });
}

longhaul_status longhaul_recv_length_get(longhaul_recv* recv, uint64_t* bytes, size_t* chunks) {
  if (any_null("the message", recv)) return LONGHAUL_ERROR;
  return guarded([&] {
    uint64_t length = 0;
    size_t count = 0;
    const Outcome outcome = recv->qp->queue_pair->recv_length(recv->id, length, count);
    if (outcome.ok() && bytes != nullptr) *bytes = length;
    if (outcome.ok() && chunks != nullptr) *chunks = count;
    return answer(outcome);
  });
}

longhaul_status longhaul_recv_imm_get(longhaul_recv* recv, uint32_t* user_immediate) {
  if (any_null("the message", recv, "the place for the immediate", user_immediate))
    return LONGHAUL_ERROR;
  return guarded(
      [&] { return answer(recv->qp->queue_pair->recv_immediate(recv->id, *user_immediate)); });
}

longhaul_status longhaul_recv_complete(longhaul_recv* recv) {
  if (any_null("the message", recv)) return LONGHAUL_ERROR;
  return guarded([&] {
    recv->qp->queue_pair->recv_complete(recv->id);
    recv->qp->recvs.remove(recv);
    return LONGHAUL_OK;
  });
}

}  // extern "C"
