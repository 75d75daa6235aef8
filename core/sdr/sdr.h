#ifndef LONGHAUL_CORE_SDR_SDR_H
#define LONGHAUL_CORE_SDR_SDR_H

/**
 * The C interface of Longhaul: reliable transfers, and plain SDR messages, over long-haul RDMA.
 *
 * SDR (software-defined reliability; Khalilov et al., "SDR-RDMA", SC'25) moves messages by
 * unreliable zero-copy writes and shows the receiver, in a bitmap, which chunks have landed. What
 * to do about the others is software: `longhaul_transfer_*` does it for you, by the policy that you
 * name; with `longhaul_send_*` and `longhaul_recv_*` you do it yourself.
 *
 * How it goes:
 *   1. `longhaul_context_create` opens a device; `longhaul_mr_reg` registers memory.
 *   2. `longhaul_qp_create` at both ends; each gets its blob by `longhaul_qp_info_get`, hands it to
 *      the other by any way there is (a socket, a file), and calls `longhaul_qp_connect` with it.
 *   3. The receiver posts buffers, the sender posts sends; the n-th send goes into the n-th buffer.
 *   4. Somebody makes progress: a thread of the context, or you by `longhaul_context_progress`.
 *
 * Every call returns at once, and one of:
 *   LONGHAUL_OK     done, or under way
 *   LONGHAUL_RETRY  not now: not ready yet, or nothing free; nothing has changed, call again later
 *   LONGHAUL_ERROR  it cannot be done; `longhaul_error()` says what is wrong and what to do
 *
 * Calls may be made from any thread; calls on one queue pair wait for each other. Attribute structs
 * begin with their own size, so that programs built against an older header go on working: always
 * fill them by their `_init` function. Times are picoseconds, sizes bytes, rates bits per second.
 *
 * This header is plain C11 and also C++. It lives beside the SDR layer that it names; the
 * implementation is in backends/runtime, which owns the clock and the threads.
 */

/* NOLINTBEGIN(modernize-*): C has neither these headers nor these forms. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct longhaul_context longhaul_context;
typedef struct longhaul_mr longhaul_mr;
typedef struct longhaul_qp longhaul_qp;
typedef struct longhaul_send longhaul_send;
typedef struct longhaul_recv longhaul_recv;
typedef struct longhaul_transfer longhaul_transfer;

typedef enum longhaul_status {
  LONGHAUL_OK = 0,
  LONGHAUL_RETRY = 1,
  LONGHAUL_ERROR = -1
} longhaul_status;

/** Why the last call of this thread returned LONGHAUL_ERROR or LONGHAUL_RETRY. Valid until the
 * thread's next call; never null. */
const char* longhaul_error(void);

/** Version of the library, "0.1.0". Static. */
const char* longhaul_version(void);

/* Context ----------------------------------------------------------------------------------- */

typedef struct longhaul_context_attr {
  size_t size;         /**< set by longhaul_context_attr_init */
  uint32_t channels;   /**< internal queue pairs per generation, 1..64; default 8 */
  uint32_t workers;    /**< threads that take completions off the channels, at most one a channel;
                            default 0: whoever makes progress does it */
  int progress_thread; /**< default 1: the context makes progress by itself; 0: by
                            longhaul_context_progress only */
} longhaul_context_attr;

void longhaul_context_attr_init(longhaul_context_attr* attr);

/**
 * Opens `device` and takes a reference to nothing of the caller's. `attr` may be null for defaults.
 *
 * Devices: "loopback" or "loopback:NAME?KEY=VALUE&...": an emulated link within this process,
 * between all contexts that name the same NAME. Keys, with their defaults: rate=100Gb/s; delay=0ms,
 * one way; loss=0, share of data packets such as 1e-3; control_loss=0, the same for control
 * messages; seed=1; mtu=4096; receives=4096, posted for each channel and generation: a receiver
 * that lags behind by more loses packets. All contexts of one NAME must give the same keys.
 *
 * An unknown device is refused with the list of those that this build has.
 */
longhaul_status longhaul_context_create(const char* device, const longhaul_context_attr* attr,
                                        longhaul_context** context);

/** Closes a context. Its queue pairs and memory registrations must have been destroyed. */
longhaul_status longhaul_context_destroy(longhaul_context* context);

/** Does what is due on all queue pairs of the context and returns how many events it took in. For
 * contexts without a progress thread; harmless with one. Never blocks. */
size_t longhaul_context_progress(longhaul_context* context);

/** One line about what is really in use: device, MTU, channels, workers, late-write fence. Valid
 * as long as the context. */
const char* longhaul_context_describe(longhaul_context* context);

/* Memory ------------------------------------------------------------------------------------ */

enum {
  LONGHAUL_MEMORY_HOST = 0 /**< ordinary memory of this process */
};

/** Registers memory, which must stay until longhaul_mr_dereg. Any number of posts may use parts of
 * it. `flags`: LONGHAUL_MEMORY_HOST. */
longhaul_status longhaul_mr_reg(longhaul_context* context, void* address, uint64_t length,
                                uint32_t flags, longhaul_mr** mr);
/** Nothing posted may use it any more: LONGHAUL_RETRY while something does. */
longhaul_status longhaul_mr_dereg(longhaul_mr* mr);

/* Queue pair -------------------------------------------------------------------------------- */

typedef enum longhaul_direction {
  LONGHAUL_DIRECTION_BOTH = 0,
  LONGHAUL_DIRECTION_SEND = 1,
  LONGHAUL_DIRECTION_RECEIVE = 2
} longhaul_direction;

typedef struct longhaul_qp_attr {
  size_t size;            /**< set by longhaul_qp_attr_init */
  const char* policy;     /**< of transfers: "sr(nack)" (default), "sr(rto=3rtt)", "ec(32,8)";
                               the same at both ends */
  uint32_t mtu_bytes;     /**< at most; default 0: the device's. The smaller one of both ends
                               is used */
  uint32_t chunk_packets; /**< packets that a bit of the receive bitmap stands for; default 16;
                               the same at both ends */
  uint32_t generations;   /**< 1..16, default 4: 1024 slots each, of which one generation is
                               always draining; the same at both ends */
  uint32_t max_messages;  /**< armed at once; default 0: 1024 x (generations - 1). The smaller
                               one of both ends is used */
  uint64_t max_bytes;     /**< posted for receiving at once; default 0: no limit */
  uint64_t rate_bps;      /**< injected at most; default 0: the device's rate */
  uint64_t message_bytes; /**< expected size of messages, for the warning when slots cannot fill
                               the path; default 0: unknown */
  int64_t round_trip_ps;  /**< expected; default 1 ms */
  int64_t reordering_ps;  /**< how much later than its successors a packet may come; default
                               1 ms */
  int64_t give_up_ps;     /**< a transfer fails this long after it was posted; default 60 s */
  uint32_t direction;     /**< longhaul_direction: what may be posted at this end; default both */
  const char* recording;  /**< file to write a recording into, which `longhaul replay FILE`
                               repeats offline; default null: none */
} longhaul_qp_attr;

void longhaul_qp_attr_init(longhaul_qp_attr* attr);

/** Makes a queue pair. `attr` may be null for defaults; strings are copied. */
longhaul_status longhaul_qp_create(longhaul_context* context, const longhaul_qp_attr* attr,
                                   longhaul_qp** qp);
/** Ends everything on it as failed and frees its handles, which are invalid from then on. Memory
 * stays the caller's, and is not touched any more when this returns. */
longhaul_status longhaul_qp_destroy(longhaul_qp* qp);

/**
 * What the peer needs to know. With `blob` null, only `*length` is set. Else up to `*length` bytes
 * are written and `*length` becomes the size; LONGHAUL_ERROR when it was too small.
 */
longhaul_status longhaul_qp_info_get(longhaul_qp* qp, void* blob, size_t* length);

/** Connects with the peer whose blob this is. Everything that must agree is compared, and each
 * mismatch has its message; after a failure another blob may be tried. Once only. */
longhaul_status longhaul_qp_connect(longhaul_qp* qp, const void* blob, size_t length);

/** What a connected queue pair uses: MTU, timers, policy, slots, and a warning when the slots
 * cannot fill the path. Valid as long as the queue pair; empty before it is connected. */
const char* longhaul_qp_describe(longhaul_qp* qp);

/** A counter by name ("retransmitted_packets", "late_packets", ...; core/sdr/counters.h has them
 * all). LONGHAUL_ERROR when there is no such counter. */
longhaul_status longhaul_qp_counter(longhaul_qp* qp, const char* name, uint64_t* value);

/* Reliable transfers ------------------------------------------------------------------------ */

typedef enum longhaul_transfer_state {
  LONGHAUL_TRANSFER_ACTIVE = 0,
  LONGHAUL_TRANSFER_DELIVERED = 1, /**< complete at both ends, checksums compared */
  LONGHAUL_TRANSFER_FAILED = 2
} longhaul_transfer_state;

typedef struct longhaul_transfer_result {
  longhaul_transfer_state state;
  uint64_t bytes;          /**< delivered length; a receive may get less than it has room for */
  uint32_t user_immediate; /**< of the sender */
  const char* reason;      /**< why it failed; else empty. Static */
} longhaul_transfer_result;

/** Sends [offset, offset + length) of `mr`, reliably, any length. The memory must not change until
 * the transfer has ended. */
longhaul_status longhaul_transfer_send(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                       uint64_t length, uint32_t user_immediate,
                                       longhaul_transfer** transfer);
/** Receives into [offset, offset + length) of `mr`; what comes may be shorter. */
longhaul_status longhaul_transfer_recv(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                       uint64_t length, longhaul_transfer** transfer);
/** LONGHAUL_OK once the transfer has ended, delivered or failed (see `result`): the memory is the
 * user's again. LONGHAUL_RETRY before that. `result` may be null. */
longhaul_status longhaul_transfer_poll(longhaul_transfer* transfer,
                                       longhaul_transfer_result* result);
/** Forgets an ended transfer; the handle is invalid from then on. LONGHAUL_RETRY while it is
 * active. */
longhaul_status longhaul_transfer_free(longhaul_transfer* transfer);

/* Plain SDR messages: sending --------------------------------------------------------------- */

/** Sends [offset, offset + length) of `mr` once, without any repair: at most 2^18 packets. */
longhaul_status longhaul_send_post(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                   uint64_t length, uint32_t user_immediate, longhaul_send** send);

/** Opens a message that is sent piece by piece. */
longhaul_status longhaul_send_stream_start(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                           uint64_t length, uint32_t user_immediate,
                                           longhaul_send** send);
/** Sends packets [first_packet, first_packet + packet_count) of the message, in any order, and
 * again if they were sent before: this is how a retransmission goes out. LONGHAUL_ERROR once the
 * receiver has completed the message. */
longhaul_status longhaul_send_stream_continue(longhaul_send* send, uint64_t first_packet,
                                              uint64_t packet_count);
/** No more pieces will come. */
longhaul_status longhaul_send_stream_end(longhaul_send* send);

/** LONGHAUL_OK when everything asked for so far has left and the memory may change: this says
 * nothing about delivery. LONGHAUL_RETRY before that. LONGHAUL_ERROR when the message failed. */
longhaul_status longhaul_send_poll(longhaul_send* send);
/** LONGHAUL_OK when the receiver has called recv_complete; `*all_chunks` is then 0 if it went on
 * without some. LONGHAUL_RETRY before that. */
longhaul_status longhaul_send_completed(longhaul_send* send, int* all_chunks);
/** Forgets a message that has left and that was ended, failed, or completed by the receiver.
 * LONGHAUL_RETRY before that. */
longhaul_status longhaul_send_free(longhaul_send* send);

/* Plain SDR messages: receiving ------------------------------------------------------------- */

/** Takes a message slot for [offset, offset + length) of `mr` and tells the sender that it may
 * send. LONGHAUL_RETRY when no slot is free. At most 2^18 packets. */
longhaul_status longhaul_recv_post(longhaul_qp* qp, longhaul_mr* mr, uint64_t offset,
                                   uint64_t length, longhaul_recv** recv);
/**
 * The receive bitmap: bit i % 64 of word i / 64 is set once chunk i is in memory, all of it. Called
 * once; the caller then polls that memory, by atomic loads with acquire order. Chunks at the end
 * of the buffer that a shorter message does not reach stay clear; of one that it reaches in part,
 * that part counts, once the length is known. Valid until recv_complete.
 */
longhaul_status longhaul_recv_bitmap_get(longhaul_recv* recv, const uint64_t** bitmap,
                                         size_t* chunks);
/** How many chunks the message has; LONGHAUL_RETRY until the sender has said so. */
longhaul_status longhaul_recv_length_get(longhaul_recv* recv, uint64_t* bytes, size_t* chunks);
/** The user's 32-bit immediate; LONGHAUL_RETRY until it is known. */
longhaul_status longhaul_recv_imm_get(longhaul_recv* recv, uint32_t* user_immediate);
/** Required once for each receive; the handle is invalid from then on. It may come early, with
 * chunks missing (*partial completion*): packets still in flight do not land any more where the
 * backend has a late-write fence, and the slot rests until they cannot be mistaken. Until this
 * returns, copies of packets that were sent again may land in chunks whose bit is set. */
longhaul_status longhaul_recv_complete(longhaul_recv* recv);

#ifdef __cplusplus
}
#endif

/* NOLINTEND(modernize-*) */

#endif
