#pragma once

/// CHECK: our own bugs end the process, in every build type, with file, line and the values.
///
/// Never used for bad input: a file, a flag, a packet or a peer cannot trip it.

#include <cstdio>
#include <cstdlib>

namespace longhaul {

[[noreturn]] inline void check_failed(const char* file, int line, const char* expression) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, expression);
  std::abort();
}

[[noreturn]] inline void check_failed(const char* file, int line, const char* expression,
                                      long long left, long long right) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s (%lld and %lld)\n", file, line, expression, left,
               right);
  std::abort();
}

}  // namespace longhaul

#define LONGHAUL_CHECK(condition)                               \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::longhaul::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)

/// Compares two integers and prints both when the comparison does not hold.
#define LONGHAUL_CHECK_OP(left, op, right)                                   \
  do {                                                                       \
    const auto check_left_ = (left);                                         \
    const auto check_right_ = (right);                                       \
    if (!(check_left_ op check_right_)) [[unlikely]]                         \
      ::longhaul::check_failed(__FILE__, __LINE__, #left " " #op " " #right, \
                               static_cast<long long>(check_left_),          \
                               static_cast<long long>(check_right_));        \
  } while (false)
