#pragma once

/// Reading a recording record by record. Any bytes are accepted: what cannot be read is said in
/// words, and nothing is allocated that the bytes at hand do not hold.

#include <optional>
#include <string>
#include <variant>

#include "core/backend.h"
#include "core/sdr/queue_pair_attributes.h"
#include "core/transfer/recording_format.h"
#include "core/wire/bytes.h"

namespace longhaul {

/// Why a recording cannot be used, and where.
struct RecordingError {
  uint64_t position = 0;  ///< byte at which the refused header or record begins
  std::string what;
  std::string remedy;
};

struct RecordingHeader {
  uint8_t control_version = 0;  ///< of the control messages in it
  QueuePairAttributes attributes;
  Capabilities capabilities;
};

struct RecordedPost {
  recording::Post post{};
  Instant now{};  ///< forget_*: of the call before
  MemoryHandle handle{};
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint32_t user_immediate = 0;
  uint64_t id = 0;
  uint64_t first = 0;
  uint64_t count = 0;
};

struct RecordedTurn {
  Instant now{};
};

struct RecordedOutcome {
  uint64_t commands = 0;
  uint64_t digest = 0;            ///< when there are commands
  std::optional<uint64_t> taken;  ///< by the backend; absent: all that waited
};

struct RecordedChecksum {
  uint64_t value = 0;
};
struct RecordedDecode {
  uint64_t packets = 0;
};
struct RecordedHandle {
  MemoryHandle handle{};
};
struct RecordedSlot {
  bool found = false;
};
struct RecordedEnd {};

using RecordedItem = std::variant<RecordedEnd, RecordedPost, RecordedTurn, RecordedOutcome,
                                  RecordedChecksum, RecordedDecode, RecordedHandle, RecordedSlot>;

class RecordingReader {
 public:
  /// Reads the header and the first record. `bytes` outlives it.
  explicit RecordingReader(std::span<const std::byte> bytes);

  const RecordingHeader& header() const { return header_; }
  /// Set as soon as something could not be read; there is no current record from then on.
  const std::optional<RecordingError>& error() const { return error_; }
  /// The current record if it is a T, else null.
  template <class T>
  const T* current() const {
    return error_ ? nullptr : std::get_if<T>(&item_);
  }
  /// The events of the current turn, which go to `into`.
  void take_events(EventBatch& into) { std::swap(into, events_); }
  /// Byte at which the current record begins.
  uint64_t position() const { return position_; }
  /// Goes to the next record; at the end, or after an error, nothing happens.
  void next();

 private:
  uint64_t at() const { return size_ - reader_.left(); }
  void fail(std::string what, std::string remedy);
  void fail_damaged(const char* what);
  bool cut_short_or_invalid(const char* what);
  void read_header();
  void read_attributes();
  void read_post(uint8_t flags);
  void read_turn();
  void read_outcome(uint8_t flags);
  void read_packets(uint8_t flags, Instant now);
  bool read_event(Instant now);
  Instant read_time();
  Instant read_before(Instant later);
  uint32_t read_u32();
  Duration read_duration();

  std::span<const std::byte> bytes_;
  uint64_t size_;
  ByteReader reader_;
  uint64_t position_ = 0;
  RecordingHeader header_;
  RecordedItem item_;
  EventBatch events_;
  std::optional<RecordingError> error_;
  Instant time_{};
  PacketsArrived packets_;  ///< the last ones
  uint8_t completed_channel_ = 0;
};

}  // namespace longhaul
