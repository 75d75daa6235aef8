/// The C interface: transfers and plain messages.

#include "backends/runtime/sdr_handles.h"

using namespace longhaul;
using namespace longhaul::c_interface;

namespace {

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
