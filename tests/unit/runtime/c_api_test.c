/* The C interface, from C: transfers, plain messages, and what is refused. */

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/sdr/sdr.h"

static int failures = 0;

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      ++failures;                                                                              \
      fprintf(stderr, "%s:%d: CHECK failed: %s\n  longhaul_error(): %s\n", __FILE__, __LINE__, \
              #condition, longhaul_error());                                                   \
    }                                                                                          \
  } while (0)

#define REQUIRE(condition)                   \
  do {                                       \
    const int failed_before_ = failures;     \
    CHECK(condition);                        \
    if (failures != failed_before_) exit(1); \
  } while (0)

#define CHECK_ERROR(call, part)                      \
  do {                                               \
    CHECK((call) == LONGHAUL_ERROR);                 \
    CHECK(strstr(longhaul_error(), (part)) != NULL); \
  } while (0)

enum { kLength = 300000, kPackets = 74, kChunks = 5, kGiveUpSeconds = 60 };

static longhaul_context* contexts[2];
static longhaul_qp* qps[2];
static longhaul_mr* mrs[2];
static unsigned char* memory[2];

/* Makes progress until the call has another answer than LONGHAUL_RETRY. */
#define WAIT_FOR(status, call)                         \
  do {                                                 \
    const time_t begun_ = time(NULL);                  \
    while (((status) = (call)) == LONGHAUL_RETRY) {    \
      if (time(NULL) - begun_ > kGiveUpSeconds) break; \
      (void)longhaul_context_progress(contexts[0]);    \
      (void)longhaul_context_progress(contexts[1]);    \
    }                                                  \
  } while (0)

static void connect_pair(const char* device, const char* policy, uint32_t workers, int thread) {
  longhaul_context_attr context_attr;
  longhaul_qp_attr qp_attr;
  longhaul_context_attr_init(&context_attr);
  context_attr.workers = workers;
  context_attr.progress_thread = thread;
  longhaul_qp_attr_init(&qp_attr);
  qp_attr.policy = policy;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(longhaul_context_create(device, &context_attr, &contexts[i]) == LONGHAUL_OK);
    REQUIRE(longhaul_qp_create(contexts[i], &qp_attr, &qps[i]) == LONGHAUL_OK);
    memory[i] = malloc(kLength);
    REQUIRE(memory[i] != NULL);
    for (size_t j = 0; j < kLength; ++j)
      memory[i][j] = (unsigned char)(i == 0 ? j * 7 + j / 251 : 0);
    REQUIRE(longhaul_mr_reg(contexts[i], memory[i], kLength, LONGHAUL_MEMORY_HOST, &mrs[i]) ==
            LONGHAUL_OK);
  }
  for (int i = 0; i < 2; ++i) {
    unsigned char blob[8192];
    size_t length = 0;
    CHECK(strcmp(longhaul_qp_describe(qps[i]), "") == 0);
    REQUIRE(longhaul_qp_info_get(qps[1 - i], NULL, &length) == LONGHAUL_OK);
    REQUIRE(length > 0 && length <= sizeof blob);
    size_t too_short = length - 1;
    CHECK_ERROR(longhaul_qp_info_get(qps[1 - i], blob, &too_short), "there is room for");
    CHECK(too_short == length);
    length = sizeof blob;
    REQUIRE(longhaul_qp_info_get(qps[1 - i], blob, &length) == LONGHAUL_OK);
    CHECK_ERROR(longhaul_qp_connect(qps[i], blob, length - 1), "cut short");
    REQUIRE(longhaul_qp_connect(qps[i], blob, length) == LONGHAUL_OK);
    CHECK_ERROR(longhaul_qp_connect(qps[i], blob, length), "connected already");
    CHECK(strstr(longhaul_qp_describe(qps[i]), "late-write fence: yes") != NULL);
    CHECK(strstr(longhaul_context_describe(contexts[i]), "loopback:") != NULL);
  }
}

static void disconnect_pair(void) {
  for (int i = 0; i < 2; ++i) {
    CHECK_ERROR(longhaul_context_destroy(contexts[i]), "1 queue pairs and 1 memory registrations");
    CHECK(longhaul_qp_destroy(qps[i]) == LONGHAUL_OK);
    CHECK(longhaul_mr_dereg(mrs[i]) == LONGHAUL_OK);
    CHECK(longhaul_context_destroy(contexts[i]) == LONGHAUL_OK);
    free(memory[i]);
  }
}

static void test_transfer(void) {
  longhaul_transfer *sent = NULL, *received = NULL;
  longhaul_transfer_result result;
  longhaul_status status = LONGHAUL_RETRY;
  REQUIRE(longhaul_transfer_recv(qps[1], mrs[1], 0, kLength, &received) == LONGHAUL_OK);
  REQUIRE(longhaul_transfer_send(qps[0], mrs[0], 5, kLength - 5, 77, &sent) == LONGHAUL_OK);
  WAIT_FOR(status, longhaul_transfer_poll(received, &result));
  CHECK(status == LONGHAUL_OK && result.state == LONGHAUL_TRANSFER_DELIVERED);
  CHECK(result.bytes == kLength - 5 && result.user_immediate == 77);
  CHECK(strcmp(result.reason, "") == 0);
  WAIT_FOR(status, longhaul_transfer_poll(sent, &result));
  CHECK(status == LONGHAUL_OK && result.state == LONGHAUL_TRANSFER_DELIVERED);
  CHECK(memcmp(memory[0] + 5, memory[1], kLength - 5) == 0);
  CHECK(longhaul_transfer_free(sent) == LONGHAUL_OK);
  CHECK(longhaul_transfer_free(received) == LONGHAUL_OK);
}

static size_t count_chunks(const uint64_t* bitmap, size_t chunks) {
  size_t count = 0;
  for (size_t i = 0; i < chunks; ++i) {
    const uint64_t word =
        atomic_load_explicit((const _Atomic uint64_t*)&bitmap[i / 64], memory_order_acquire);
    count += (size_t)(word >> i % 64 & 1);
  }
  return count;
}

/* Sends until the bitmap is full. */
static void test_stream(void) {
  longhaul_send* sent = NULL;
  longhaul_recv* received = NULL;
  longhaul_status status = LONGHAUL_RETRY;
  const uint64_t* bitmap = NULL;
  size_t chunks = 0, arrived = 0;
  uint64_t bytes = 0;
  uint32_t immediate = 0;
  int all_chunks = 0;
  memset(memory[1], 0, kLength);
  REQUIRE(longhaul_recv_post(qps[1], mrs[1], 0, kLength, &received) == LONGHAUL_OK);
  REQUIRE(longhaul_recv_bitmap_get(received, &bitmap, &chunks) == LONGHAUL_OK);
  CHECK(chunks == kChunks);
  REQUIRE(longhaul_send_stream_start(qps[0], mrs[0], 0, kLength, 0x12345678, &sent) == LONGHAUL_OK);
  CHECK_ERROR(longhaul_send_stream_continue(sent, kPackets - 1, 2), "not within");
  for (int round = 0; round < 1000 && arrived < kChunks; ++round) {
    REQUIRE(longhaul_send_stream_continue(sent, 0, kPackets) == LONGHAUL_OK);
    WAIT_FOR(status, longhaul_send_poll(sent));
    REQUIRE(status == LONGHAUL_OK);
    arrived = count_chunks(bitmap, chunks);
  }
  CHECK(arrived == kChunks);
  WAIT_FOR(status, longhaul_recv_length_get(received, &bytes, &chunks));
  CHECK(status == LONGHAUL_OK && bytes == kLength && chunks == kChunks);
  WAIT_FOR(status, longhaul_recv_imm_get(received, &immediate));
  CHECK(status == LONGHAUL_OK && immediate == 0x12345678);
  CHECK(longhaul_send_completed(sent, &all_chunks) == LONGHAUL_RETRY);
  CHECK(longhaul_recv_complete(received) == LONGHAUL_OK);
  CHECK(memcmp(memory[0], memory[1], kLength) == 0);
  WAIT_FOR(status, longhaul_send_completed(sent, &all_chunks));
  CHECK(status == LONGHAUL_OK && all_chunks == 1);
  CHECK_ERROR(longhaul_send_stream_continue(sent, 0, 1), "completed");
  CHECK(longhaul_send_stream_end(sent) == LONGHAUL_OK);
  WAIT_FOR(status, longhaul_send_free(sent));
  CHECK(status == LONGHAUL_OK);
}

static void test_message(void) {
  longhaul_send* sent = NULL;
  longhaul_recv* received = NULL;
  longhaul_status status = LONGHAUL_RETRY;
  uint32_t immediate = 0;
  int all_chunks = 1;
  REQUIRE(longhaul_recv_post(qps[1], mrs[1], 0, kLength, &received) == LONGHAUL_OK);
  CHECK(longhaul_recv_imm_get(received, &immediate) == LONGHAUL_RETRY);
  CHECK(longhaul_mr_dereg(mrs[1]) == LONGHAUL_RETRY);
  REQUIRE(longhaul_send_post(qps[0], mrs[0], 0, 0, 9, &sent) == LONGHAUL_OK);
  WAIT_FOR(status, longhaul_recv_imm_get(received, &immediate));
  CHECK(status == LONGHAUL_OK && immediate == 9);
  CHECK(longhaul_recv_complete(received) == LONGHAUL_OK);
  WAIT_FOR(status, longhaul_send_completed(sent, &all_chunks));
  CHECK(status == LONGHAUL_OK && all_chunks == 1);
  WAIT_FOR(status, longhaul_send_free(sent));
  CHECK(status == LONGHAUL_OK);
}

static void test_refusals(void) {
  longhaul_context* context = NULL;
  longhaul_context_attr context_attr;
  longhaul_qp_attr qp_attr;
  longhaul_qp* qp = NULL;
  longhaul_mr* mr = NULL;
  longhaul_transfer* transfer = NULL;
  longhaul_recv* recv = NULL;
  uint64_t value = 0;
  CHECK_ERROR(longhaul_context_create(NULL, NULL, &context), "the device is null");
  CHECK_ERROR(longhaul_context_create("loopback", NULL, NULL), "is null");
  CHECK_ERROR(longhaul_context_create("loop", NULL, &context), "This build has: loopback");
  longhaul_context_attr_init(&context_attr);
  context_attr.size = 0;
  CHECK_ERROR(longhaul_context_create("loopback", &context_attr, &context), "attr_init");
  /* An older header that knew channels only. */
  context_attr.size = offsetof(longhaul_context_attr, workers);
  context_attr.channels = 2;
  context_attr.workers = 99;
  REQUIRE(longhaul_context_create("loopback", &context_attr, &context) == LONGHAUL_OK);
  CHECK(strstr(longhaul_context_describe(context), "2 channels, 0 workers") != NULL);
  longhaul_qp_attr_init(&qp_attr);
  qp_attr.policy = "xr";
  CHECK_ERROR(longhaul_qp_create(context, &qp_attr, &qp), "did you mean sr?");
  CHECK_ERROR(longhaul_mr_reg(context, &value, sizeof value, 8, &mr), "memory flags 8");
  CHECK_ERROR(longhaul_mr_reg(context, NULL, 1, LONGHAUL_MEMORY_HOST, &mr), "address is null");
  REQUIRE(longhaul_qp_create(context, NULL, &qp) == LONGHAUL_OK);
  REQUIRE(longhaul_mr_reg(context, &value, sizeof value, LONGHAUL_MEMORY_HOST, &mr) == LONGHAUL_OK);
  CHECK(longhaul_transfer_send(qp, mr, 0, 1, 0, &transfer) == LONGHAUL_RETRY);
  CHECK(strstr(longhaul_error(), "not connected") != NULL);
  CHECK_ERROR(longhaul_transfer_send(qp, mr, 1, sizeof value, 0, &transfer), "registration of 8");
  CHECK_ERROR(longhaul_transfer_send(qp, NULL, 0, 1, 0, &transfer), "the memory is null");
  CHECK_ERROR(longhaul_transfer_poll(NULL, NULL), "the transfer is null");
  CHECK_ERROR(longhaul_recv_post(NULL, mr, 0, 1, &recv), "the queue pair is null");
  CHECK_ERROR(longhaul_recv_complete(NULL), "the message is null");
  CHECK_ERROR(longhaul_send_free(NULL), "the message is null");
  CHECK_ERROR(longhaul_qp_destroy(NULL), "is null");
  CHECK_ERROR(longhaul_qp_counter(qp, "no_such", &value), "no counter \"no_such\"");
  CHECK(longhaul_qp_counter(qp, "late_packets", &value) == LONGHAUL_OK && value == 0);
  CHECK(longhaul_context_progress(NULL) == 0);
  CHECK(longhaul_qp_destroy(qp) == LONGHAUL_OK);
  CHECK(longhaul_mr_dereg(mr) == LONGHAUL_OK);
  CHECK(longhaul_context_destroy(context) == LONGHAUL_OK);
}

/* Handles that are left go with their queue pair, and the peer hears of it. */
static void test_peer_gone(void) {
  longhaul_transfer *sent = NULL, *left = NULL;
  longhaul_send* also_left = NULL;
  longhaul_transfer_result result;
  longhaul_status status = LONGHAUL_RETRY;
  connect_pair("loopback:c-gone?delay=1ms", "sr(nack)", 0, 1);
  REQUIRE(longhaul_transfer_send(qps[0], mrs[0], 0, kLength, 0, &sent) == LONGHAUL_OK);
  REQUIRE(longhaul_transfer_send(qps[1], mrs[1], 0, kLength, 0, &left) == LONGHAUL_OK);
  REQUIRE(longhaul_send_post(qps[1], mrs[1], 0, kLength, 0, &also_left) == LONGHAUL_OK);
  CHECK(longhaul_transfer_free(left) == LONGHAUL_RETRY);
  CHECK(longhaul_qp_destroy(qps[1]) == LONGHAUL_OK);
  WAIT_FOR(status, longhaul_transfer_poll(sent, &result));
  CHECK(status == LONGHAUL_OK && result.state == LONGHAUL_TRANSFER_FAILED);
  CHECK(strcmp(result.reason, "the peer is gone") == 0);
  REQUIRE(longhaul_qp_create(contexts[1], NULL, &qps[1]) == LONGHAUL_OK);
  disconnect_pair();
}

int main(void) {
  static const char* const policies[] = {"sr(nack)", "sr(rto=3rtt)", "ec(32,8)"};
  CHECK(strcmp(longhaul_error(), "") == 0);
  CHECK(strcmp(longhaul_version(), "0.1.0") == 0);
  for (size_t i = 0; i < 3; ++i) {
    for (int thread = 0; thread < 2; ++thread) {
      connect_pair("loopback:c?delay=100us&loss=1e-2", policies[i], (uint32_t)i, thread);
      test_transfer();
      test_stream();
      test_message();
      disconnect_pair();
    }
  }
  test_refusals();
  test_peer_gone();
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
