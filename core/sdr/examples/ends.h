#ifndef LONGHAUL_EXAMPLES_ENDS_H
#define LONGHAUL_EXAMPLES_ENDS_H

/* Two ends of a connection in one process, for the examples. A real program has one end, and sends
 * its blob to the other by a socket. */

#include <longhaul/core/sdr/sdr.h>
#include <stdio.h>
#include <stdlib.h>

struct end {
  longhaul_context* context;
  longhaul_qp* qp;
  longhaul_mr* mr;
};

static void must(longhaul_status status, const char* what) {
  if (status == LONGHAUL_OK) return;
  fprintf(stderr, "%s: %s\n", what, longhaul_error());
  exit(1);
}

static struct end open_end(const char* device, const longhaul_qp_attr* attr, void* memory,
                           uint64_t length) {
  struct end end;
  longhaul_context_attr context_attr;
  longhaul_context_attr_init(&context_attr);
  context_attr.progress_thread = 0; /* the examples make progress themselves */
  must(longhaul_context_create(device, &context_attr, &end.context), "context_create");
  must(longhaul_qp_create(end.context, attr, &end.qp), "qp_create");
  must(longhaul_mr_reg(end.context, memory, length, LONGHAUL_MEMORY_HOST, &end.mr), "mr_reg");
  return end;
}

static void connect_to(struct end* end, struct end* peer) {
  unsigned char blob[8192];
  size_t length = sizeof blob;
  must(longhaul_qp_info_get(peer->qp, blob, &length), "qp_info_get");
  must(longhaul_qp_connect(end->qp, blob, length), "qp_connect");
}

static void progress(struct end* a, struct end* b) {
  longhaul_context_progress(a->context);
  longhaul_context_progress(b->context);
}

static void close_end(struct end* end) {
  must(longhaul_qp_destroy(end->qp), "qp_destroy");
  must(longhaul_mr_dereg(end->mr), "mr_dereg");
  must(longhaul_context_destroy(end->context), "context_destroy");
}

#endif
