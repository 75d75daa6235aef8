#include "backends/runtime/recording_file.h"

#include <cerrno>
#include <system_error>

#include "core/base/error.h"

namespace longhaul {
namespace {

constexpr size_t kFlushBytes = size_t{64} << 10;

}  // namespace

RecordingFile::RecordingFile(const std::string& path, const QueuePairAttributes& attributes,
                             Backend& backend, Coder& coder)
    : file_(path, std::ios::binary | std::ios::trunc),
      recorder_(attributes, backend.capabilities(), bytes_),
      backend_(backend, recorder_),
      coder_(coder, recorder_) {
  if (file_) return;
  throw SetupError(path,
                   "the recording cannot be written: " + std::generic_category().message(errno),
                   "Name a file in a folder that exists and can be written to.");
}

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
