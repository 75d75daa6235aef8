#include "tools/longhaul/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "tools/longhaul/text.h"

namespace longhaul {

namespace {

constexpr int kBarWidth = 30;

std::string seconds_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_line(uint64_t finished, uint64_t wanted, double seconds) {
  const double share =
      wanted == 0 ? 1 : static_cast<double>(finished) / static_cast<double>(wanted);
  const int filled = static_cast<int>(share * kBarWidth);
  std::string line =
      fmt::format("[{}{}] {:3} %  {} of {} samples", std::string(static_cast<size_t>(filled), '#'),
                  std::string(static_cast<size_t>(kBarWidth - filled), '-'),
                  static_cast<int>(share * 100), finished, wanted);
  if (finished == 0 || seconds <= 0) return line;
  const double rate = static_cast<double>(finished) / seconds;
  const double left = static_cast<double>(wanted - finished) / rate;
  return line + fmt::format(", {} samples/s, about {} left", format_significant(rate, 3),
                            seconds_text(left));
}

Progress::Progress(std::FILE* stream, bool enabled)
    : stream_(stream), enabled_(enabled && isatty(fileno(stream)) == 1) {}

Progress::~Progress() { clear(); }

void Progress::show(uint64_t finished, uint64_t wanted, double seconds) {
  if (!enabled_) return;
  drawn_ = true;
  // Return to column 1, draw, erase to the end of the line (ECMA-48 EL).
  std::fputs(fmt::format("\r{}\x1b[K", progress_line(finished, wanted, seconds)).c_str(), stream_);
  std::fflush(stream_);
}

void Progress::clear() {
  if (!drawn_) return;
  drawn_ = false;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
}

}  // namespace longhaul
