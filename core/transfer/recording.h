#pragma once

/// Recording a queue pair, so that its run can be repeated without network and payload.
///
/// A queue pair is a pure function of its attributes, the backend's capabilities, what is posted,
/// its turns, and what the coder and the backend answer. A recording holds these, and of the
/// commands a count and a hash a turn; `replay.h` gives the same inputs to a queue pair again. No
/// payload and no address is in it.

#include <cstddef>
#include <vector>

#include "core/transfer/queue_pair.h"
#include "core/transfer/recording_format.h"
#include "core/wire/bytes.h"

namespace longhaul {

/// Writes a recording. Appends to `out`, which outlives it, and looks at nothing there: the caller
/// may move the bytes to a file and clear `out` at any time. Sans-IO.
class Recorder {
 public:
  Recorder(const QueuePairAttributes& attributes, const Capabilities& capabilities,
           std::vector<std::byte>& out);

  // What the queue pair is about to be given ------------------------------------------------------

  void transfer_send(Instant now, const MemorySlice& source, uint32_t user_immediate);
  void transfer_recv(Instant now, const MemorySlice& buffer);
  void send_start(Instant now, const MemorySlice& source, uint32_t user_immediate);
  void send_continue(Instant now, uint64_t id, uint64_t first, uint64_t count);
  void send_end(Instant now, uint64_t id);
  void recv_post(Instant now, const MemorySlice& buffer);
  void recv_complete(Instant now, uint64_t id);
  void forget_send(uint64_t id) { forget(recording::Post::forget_send, id); }
  void forget_recv(uint64_t id) { forget(recording::Post::forget_recv, id); }
  void forget_send_message(uint64_t id) { forget(recording::Post::forget_send_message, id); }
  void turn(Instant now, const EventBatch& events);

  // What came of it -------------------------------------------------------------------------------

  void slot(bool found);  ///< of the `recv_post` before
  void checksum(uint64_t value);
  void decoded(uint64_t packets);
  void handle(MemoryHandle handle);
  /// Of the `turn` before: the commands that it appended, and how many of all that wait were taken.
  void outcome(uint64_t commands, uint64_t digest, uint64_t waiting, uint64_t taken);
  /// Nothing more is recorded. A recording without it counts as cut short.
  void finish();

 private:
  void post(recording::Post post, Instant now);
  void forget(recording::Post post, uint64_t id);
  void slice(const MemorySlice& slice);
  void time(Instant now);
  void event(const PacketsArrived& event, Instant now);
  void event(const WritesCompleted& event);

  ByteWriter writer_;
  Instant time_{};
  PacketsArrived packets_;  ///< the last ones
  uint8_t completed_channel_ = 0;
};

/// Passes everything on to another backend, and records what the queue pair sees and does: for
/// `drive`.
class RecordingBackend final : public Backend {
 public:
  /// Both outlive it.
  RecordingBackend(Backend& backend, Recorder& recorder) : backend_(backend), recorder_(recorder) {}

  const Capabilities& capabilities() const override { return backend_.capabilities(); }
  MemoryHandle register_memory(const MemoryRegion& region) override;
  void deregister_memory(MemoryHandle handle) override { backend_.deregister_memory(handle); }
  size_t submit(Instant now, std::span<const Command> commands,
                std::span<const std::byte> control_bytes) override;
  void poll(Instant now, EventBatch& events) override;
  Instant next_event(const Wakeup& wakeup) override { return backend_.next_event(wakeup); }

 private:
  Backend& backend_;
  Recorder& recorder_;
  // What `submit` did not take is offered again, in front of the next turn's.
  size_t commands_left_ = 0;
  size_t control_bytes_left_ = 0;
};

/// Passes everything on to another coder, and records what it answers.
class RecordingCoder final : public Coder {
 public:
  /// Both outlive it.
  RecordingCoder(Coder& coder, Recorder& recorder) : coder_(coder), recorder_(recorder) {}

  uint64_t checksum(const MemorySlice& slice, uint64_t bytes) override;
  void encode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
              std::span<std::byte> parity) override {
    coder_.encode(code, data, bytes, parity);
  }
  uint64_t decode(const TransferCode& code, const MemorySlice& data, uint64_t bytes,
                  const PacketBitmap& arrived, std::span<const std::byte> parity,
                  const PacketBitmap& parity_arrived) override;

 private:
  Coder& coder_;
  Recorder& recorder_;
};

/// A queue pair that records itself, in place of a QueuePair: the same posts, the same `drive`, and
/// `queue_pair()` for everything that only looks. `drive` may be given no other backend than the
/// one that it was made with.
class RecordedQueuePair {
 public:
  /// `backend`, `out` and `coder` outlive it. `out`: see Recorder.
  RecordedQueuePair(const QueuePairAttributes& attributes, Backend& backend,
                    std::vector<std::byte>& out, Coder& coder = host_coder());

  uint64_t transfer_send(Instant now, const MemorySlice& source, uint32_t user_immediate);
  uint64_t transfer_recv(Instant now, const MemorySlice& buffer);
  uint64_t send_start(Instant now, const MemorySlice& source, uint32_t user_immediate);
  void send_continue(Instant now, uint64_t id, uint64_t first, uint64_t count);
  void send_end(Instant now, uint64_t id);
  std::optional<uint64_t> recv_post(Instant now, const MemorySlice& buffer);
  void recv_complete(Instant now, uint64_t id);
  void forget_send(uint64_t id);
  void forget_recv(uint64_t id);
  void forget_send_message(uint64_t id);

  /// As the function of this name.
  size_t drive(Instant now, EventBatch& events, CommandBatch& pending) {
    return longhaul::drive(now, queue_pair_, backend_, events, pending);
  }
  Wakeup next_wakeup() const { return queue_pair_.next_wakeup(); }
  const QueuePair& queue_pair() const { return queue_pair_; }
  /// Ends the recording; nothing may be posted or driven after it.
  void finish() { recorder_.finish(); }

 private:
  Recorder recorder_;
  RecordingBackend backend_;
  RecordingCoder coder_;
  QueuePair queue_pair_;
};

}  // namespace longhaul
