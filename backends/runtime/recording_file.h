#pragma once

/// Writes down all that a queue pair is given, into a file that `longhaul replay` repeats.

#include <fstream>
#include <string>
#include <vector>

#include "core/transfer/recording.h"

namespace longhaul {

class RecordingFile {
 public:
  /// `backend` and `coder`: what the queue pair would use without it; both outlive it. Throws
  /// SetupError when the file cannot be written.
  RecordingFile(const std::string& path, const QueuePairAttributes& attributes, Backend& backend,
                Coder& coder);
  /// Ends the recording.
  ~RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  /// What the queue pair, and its turns, use instead.
  Backend& backend() { return backend_; }
  Coder& coder() { return coder_; }
  /// Hears of each post before the queue pair does.
  Recorder& recorder() { return recorder_; }
  /// After each turn: writes when there is enough.
  void flush_if_full();
  /// False once something could not be written; what follows is then missing.
  bool good() const { return file_.good(); }

 private:
  void flush();

  std::vector<std::byte> bytes_;
  std::ofstream file_;
  Recorder recorder_;
  RecordingBackend backend_;
  RecordingCoder coder_;
};

}  // namespace longhaul
