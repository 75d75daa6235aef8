#include "backends/runtime/recording_file.h"

#include <cerrno>
#include <system_error>

#include "core/base/error.h"

namespace longhaul {
namespace {

constexpr size_t kFlushBytes = size_t{64} << 10;

}  // namespace

std::ofstream RecordingFile::open(const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) {
    throw SetupError(path,
                     "the recording cannot be written: " + std::generic_category().message(errno),
                     "Name a file in a folder that exists and can be written to.");
  }
  return file;
}

RecordingFile::RecordingFile(std::ofstream file, const QueuePairAttributes& attributes,
                             Backend& backend, Coder& coder)
    : file_(std::move(file)),
      recorder_(attributes, backend.capabilities(), bytes_),
      backend_(backend, recorder_),
      coder_(coder, recorder_) {}

RecordingFile::~RecordingFile() {
  recorder_.finish();
  flush();
}

void RecordingFile::flush_if_full() {
  if (bytes_.size() >= kFlushBytes) flush();
}

void RecordingFile::flush() {
  // Streams are in characters; bytes may be written through them.
  file_.write(reinterpret_cast<const char*>(bytes_.data()),
              static_cast<std::streamsize>(bytes_.size()));
  file_.flush();
  bytes_.clear();
}

}  // namespace longhaul
