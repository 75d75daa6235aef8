#pragma once

/// The progress bar on a terminal.

#include <cstdint>
#include <cstdio>
#include <string>

namespace longhaul {

/// "[#####-----]  50 %  1500 of 3000 samples, 240 samples/s, 6 s left". Without an end in sight the
/// time left is not guessed.
std::string progress_line(uint64_t finished, uint64_t wanted, double seconds);

/// Redraws one line of `stream`; silent when that is not a terminal or `enabled` is false.
class Progress {
 public:
  Progress(std::FILE* stream, bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(uint64_t finished, uint64_t wanted, double seconds);
  void clear();

 private:
  std::FILE* stream_;
  bool enabled_;
  bool drawn_ = false;
};

}  // namespace longhaul
