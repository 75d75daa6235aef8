/* Partial completion: a gradient is useful with 99 % of it, and waiting a round trip of an ocean
 * for the rest is not worth it. The receiver takes what has come, puts zeros in place of what has
 * not, and goes on. */

#include <stdatomic.h>
#include <string.h>

#include "ends.h"

enum { kChunkFloats = 1024, kChunks = 4096, kFloats = kChunkFloats * kChunks };

static int chunk_arrived(const uint64_t* bitmap, size_t chunk) {
  const uint64_t word =
      atomic_load_explicit((const _Atomic uint64_t*)&bitmap[chunk / 64], memory_order_acquire);
  return (int)(word >> (chunk % 64) & 1);
}

static size_t count_arrived(const uint64_t* bitmap, size_t chunks) {
  size_t count = 0;
  for (size_t chunk = 0; chunk < chunks; ++chunk) count += (size_t)chunk_arrived(bitmap, chunk);
  return count;
}

int main(void) {
  float* gradient = malloc(sizeof(float) * kFloats);
  float* received = malloc(sizeof(float) * kFloats);
  if (gradient == NULL || received == NULL) return 1;
  for (size_t i = 0; i < kFloats; ++i) gradient[i] = 1.0f;
  memset(received, 0xff, sizeof(float) * kFloats); /* what was there before must not be used */

  longhaul_qp_attr attr;
  longhaul_qp_attr_init(&attr);
  attr.chunk_packets = 1; /* a bit for each 4 KiB packet */
  attr.round_trip_ps = 50000000000; /* 50 ms */
  const char* device = "loopback:gradient?rate=10Gb/s&delay=25ms&loss=5e-3&seed=1";
  struct end sender = open_end(device, &attr, gradient, sizeof(float) * kFloats);
  struct end receiver = open_end(device, &attr, received, sizeof(float) * kFloats);
  connect_to(&sender, &receiver);
  connect_to(&receiver, &sender);

  longhaul_recv* receive;
  longhaul_send* send;
  must(longhaul_recv_post(receiver.qp, receiver.mr, 0, sizeof(float) * kFloats, &receive),
       "recv_post");
  must(longhaul_send_post(sender.qp, sender.mr, 0, sizeof(float) * kFloats, 7, &send), "send_post");
  const uint64_t* bitmap;
  size_t chunks;
  must(longhaul_recv_bitmap_get(receive, &bitmap, &chunks), "recv_bitmap_get");

  /* 99 % will do. */
  size_t arrived = 0;
  while (arrived * 100 < chunks * 99) {
    progress(&sender, &receiver);
    arrived = count_arrived(bitmap, chunks);
  }
  /* Decide for each chunk before the memory is given back: what comes later must not be half
   * there. */
  size_t zeroed = 0;
  unsigned char* missing = calloc(chunks, 1);
  if (missing == NULL) return 1;
  for (size_t chunk = 0; chunk < chunks; ++chunk) missing[chunk] = !chunk_arrived(bitmap, chunk);
  must(longhaul_recv_complete(receive), "recv_complete");
  for (size_t chunk = 0; chunk < chunks; ++chunk) {
    if (!missing[chunk]) continue;
    memset(received + chunk * kChunkFloats, 0, sizeof(float) * kChunkFloats);
    ++zeroed;
  }
  double sum = 0;
  for (size_t i = 0; i < kFloats; ++i) sum += received[i];

  /* The sender hears that its message was enough. */
  int all_chunks = 1;
  while (longhaul_send_completed(send, &all_chunks) == LONGHAUL_RETRY)
    progress(&sender, &receiver);
  const double expected = (double)(chunks - zeroed) * kChunkFloats;
  printf("accepted with %zu of %zu chunks (%.2f %%), zeros for %zu; sum %.0f of %d\n",
         chunks - zeroed, chunks, 100.0 * (double)(chunks - zeroed) / (double)chunks, zeroed, sum,
         kFloats);
  printf("the sender was told: %s\n", all_chunks ? "all chunks" : "some chunks missing");
  while (longhaul_send_free(send) == LONGHAUL_RETRY) progress(&sender, &receiver);
  close_end(&sender);
  close_end(&receiver);
  free(missing);
  free(gradient);
  free(received);
  return sum == expected && zeroed > 0 && !all_chunks ? 0 : 1;
}
