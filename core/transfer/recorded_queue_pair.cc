#include "core/transfer/recording.h"

namespace longhaul {

RecordedQueuePair::RecordedQueuePair(const QueuePairAttributes& attributes, Backend& backend,
                                     std::vector<std::byte>& out, Coder& coder)
    : recorder_(attributes, backend.capabilities(), out),
      backend_(backend, recorder_),
      coder_(coder, recorder_),
      queue_pair_(attributes, backend_, coder_) {}

uint64_t RecordedQueuePair::transfer_send(Instant now, const MemorySlice& source,
                                          uint32_t user_immediate) {
  recorder_.transfer_send(now, source, user_immediate);
  return queue_pair_.transfer_send(now, source, user_immediate);
}

uint64_t RecordedQueuePair::transfer_recv(Instant now, const MemorySlice& buffer) {
  recorder_.transfer_recv(now, buffer);
  return queue_pair_.transfer_recv(now, buffer);
}

uint64_t RecordedQueuePair::send_start(Instant now, const MemorySlice& source,
                                       uint32_t user_immediate) {
  recorder_.send_start(now, source, user_immediate);
  return queue_pair_.send_start(now, source, user_immediate);
}

void RecordedQueuePair::send_continue(Instant now, uint64_t id, uint64_t first, uint64_t count) {
  recorder_.send_continue(now, id, first, count);
  queue_pair_.send_continue(now, id, first, count);
}

void RecordedQueuePair::send_end(Instant now, uint64_t id) {
  recorder_.send_end(now, id);
  queue_pair_.send_end(now, id);
}

std::optional<uint64_t> RecordedQueuePair::recv_post(Instant now, const MemorySlice& buffer) {
  recorder_.recv_post(now, buffer);
  const auto id = queue_pair_.recv_post(now, buffer);
  recorder_.slot(id.has_value());
  return id;
}

void RecordedQueuePair::recv_complete(Instant now, uint64_t id) {
  recorder_.recv_complete(now, id);
  queue_pair_.recv_complete(now, id);
}

void RecordedQueuePair::forget_send(uint64_t id) {
  recorder_.forget_send(id);
  queue_pair_.forget_send(id);
}

void RecordedQueuePair::forget_recv(uint64_t id) {
  recorder_.forget_recv(id);
  queue_pair_.forget_recv(id);
}

void RecordedQueuePair::forget_send_message(uint64_t id) {
  recorder_.forget_send_message(id);
  queue_pair_.forget_send_message(id);
}

}  // namespace longhaul
