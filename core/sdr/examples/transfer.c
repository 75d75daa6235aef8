/* A reliable transfer over a link that loses one packet in a hundred. */

#include <string.h>

#include "ends.h"

int main(void) {
  enum { kBytes = 20000000 };
  unsigned char* source = malloc(kBytes);
  unsigned char* buffer = calloc(kBytes, 1);
  if (source == NULL || buffer == NULL) return 1;
  for (size_t i = 0; i < kBytes; ++i) source[i] = (unsigned char)(i * 2654435761u >> 24);

  longhaul_qp_attr attr;
  longhaul_qp_attr_init(&attr);
  attr.policy = "sr(nack)";
  attr.round_trip_ps = 4000000000; /* 4 ms */
  const char* device = "loopback:transfer?rate=10Gb/s&delay=2ms&loss=1e-2&seed=1";
  struct end sender = open_end(device, &attr, source, kBytes);
  struct end receiver = open_end(device, &attr, buffer, kBytes);
  connect_to(&sender, &receiver);
  connect_to(&receiver, &sender);
  printf("%s\n%s\n", longhaul_context_describe(sender.context), longhaul_qp_describe(sender.qp));

  longhaul_transfer* send;
  longhaul_transfer* receive;
  must(longhaul_transfer_recv(receiver.qp, receiver.mr, 0, kBytes, &receive), "transfer_recv");
  must(longhaul_transfer_send(sender.qp, sender.mr, 0, kBytes, 42, &send), "transfer_send");
  longhaul_transfer_result sent;
  longhaul_transfer_result received;
  while (longhaul_transfer_poll(send, &sent) == LONGHAUL_RETRY ||
         longhaul_transfer_poll(receive, &received) == LONGHAUL_RETRY)
    progress(&sender, &receiver);
  must(longhaul_transfer_poll(receive, &received), "transfer_poll");

  uint64_t retransmitted = 0;
  must(longhaul_qp_counter(sender.qp, "retransmitted_packets", &retransmitted), "qp_counter");
  const int intact = sent.state == LONGHAUL_TRANSFER_DELIVERED && received.bytes == kBytes &&
                     received.user_immediate == 42 && memcmp(source, buffer, kBytes) == 0;
  printf("%s: %llu bytes, %llu packets sent again\n", intact ? "delivered" : sent.reason,
         (unsigned long long)received.bytes, (unsigned long long)retransmitted);
  must(longhaul_transfer_free(send), "transfer_free");
  must(longhaul_transfer_free(receive), "transfer_free");
  close_end(&sender);
  close_end(&receiver);
  free(source);
  free(buffer);
  return intact ? 0 : 1;
}
