#include "tools/longhaul/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace longhaul {

namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "signal handlers may only touch lock-free atomics");

struct sigaction previous_int, previous_term;

// Async-signal-safe: an atomic, write(2) and _exit(2) only.
void on_signal(int) {
  constexpr char kNotice[] =
      "\nstopping: the samples under way are finished and written; Ctrl-C again ends at once\n";
  if (stop.exchange(true)) _exit(130);
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, kNotice, sizeof kNotice - 1);
}

}  // namespace

const std::atomic<bool>& interrupted() { return stop; }

InterruptGuard::InterruptGuard() {
  stop = false;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &previous_int);
  sigaction(SIGTERM, &action, &previous_term);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &previous_int, nullptr);
  sigaction(SIGTERM, &previous_term, nullptr);
}

}  // namespace longhaul
