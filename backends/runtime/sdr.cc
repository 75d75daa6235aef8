/// The C interface: contexts, memory and queue pairs. Posts and polls are in sdr_posts.cc.

#include <cstring>
#include <utility>

#include "backends/runtime/sdr_handles.h"
#include "core/base/error.h"

using namespace longhaul;
using namespace longhaul::c_interface;

namespace {

thread_local std::string last_error;

/// Attributes of the caller, which may be those of an older header and then shorter.
template <class Attributes>
bool read_attributes(const Attributes* given, Attributes& attributes, const char* init) {
  if (given == nullptr) return true;
  if (given->size < sizeof(size_t) || given->size > sizeof(Attributes)) {
    const std::string text = "the attributes' size is " + std::to_string(given->size) +
                             ", this library knows " + std::to_string(sizeof(Attributes)) +
                             " bytes; fill them by " + init +
                             ", and do not use a library older than the header";
    say(LONGHAUL_ERROR, text);
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
  options.direction = attr.direction <= LONGHAUL_DIRECTION_RECEIVE
                          ? static_cast<Direction>(attr.direction)
                          : throw SetupError("longhaul_qp_create",
                                             "direction is " + std::to_string(attr.direction) +
                                                 "; it must be a longhaul_direction, 0 to 2");
  if (attr.recording != nullptr) options.recording = attr.recording;
  return options;
}

}  // namespace

longhaul_status c_interface::say(longhaul_status status, std::string_view text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

extern "C" {

const char* longhaul_error() { return last_error.c_str(); }
const char* longhaul_version() { return LONGHAUL_VERSION; }

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
  size_t events = 0;
  if (any_null("the context", context)) return events;
  (void)guarded([&] {
    events = context->context->progress();
    return LONGHAUL_OK;
  });
  return events;
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
  *attr = {sizeof *attr,
           "sr(nack)",
           defaults.mtu_bytes,
           defaults.chunk_packets,
           defaults.generations,
           defaults.max_messages,
           defaults.max_bytes,
           defaults.rate_bps,
           defaults.message_bytes,
           defaults.round_trip.ps,
           defaults.reordering.ps,
           defaults.give_up.ps,
           LONGHAUL_DIRECTION_BOTH,
           nullptr};
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

}  // extern "C"
