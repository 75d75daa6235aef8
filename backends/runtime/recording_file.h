#pragma once

/// Writes down all that a queue pair is given, into a file that `longhaul replay` repeats.

#include <fstream>
#include <string>
#include <vector>

#include "core/transfer/recording.h"

namespace longhaul {

class RecordingFile {
 public:
  /// Throws SetupError when the file cannot be written.
  static std::ofstream open(const std::string& path);
  /// `file`: from `open`. `backend` and `coder`: what the queue pair would use without a recording;
  /// both outlive it.
  RecordingFile(std::ofstream file, const QueuePairAttributes& attributes, Backend& backend,
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

 private:
  void flush();

  std::vector<std::byte> bytes_;
  std::ofstream file_;
  Recorder recorder_;
  RecordingBackend backend_;
  RecordingCoder coder_;
};

}  // namespace longhaul
