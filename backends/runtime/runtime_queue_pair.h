#pragma once

/// One end of a connection, driven by a real clock: the C++ form of what core/sdr/sdr.h describes.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/runtime/device.h"
#include "backends/runtime/fencing_coder.h"
#include "backends/runtime/gate.h"
#include "backends/runtime/options.h"
#include "backends/runtime/outcome.h"
#include "backends/runtime/port_backend.h"
#include "backends/runtime/recording_file.h"
#include "core/transfer/queue_pair.h"

namespace longhaul {

class Context;

/// Memory that a context has registered.
struct RegisteredMemory {
  const Context* context = nullptr;
  MemoryHandle handle{};
  MemoryRegion region;
};

/// An end of a transfer: what the post returned.
struct TransferId {
  bool sends = false;
  uint64_t number = 0;
};

struct TransferResult {
  TransferState state = TransferState::active;
  uint64_t bytes = 0;  ///< delivered; a receive may get less than it has room for
  uint32_t user_immediate = 0;
  const char* reason = "";  ///< why it failed; static
};

/// What the user of a plain message polls.
struct BitmapView {
  const uint64_t* words = nullptr;  ///< bit i % 64 of word i / 64: chunk i; see load_chunk_word
  size_t chunks = 0;                ///< of the buffer
};

/// Any thread may call anything; calls wait for each other. Nothing blocks, and nothing throws
/// unless it says so. Everything that is posted takes effect with the next progress of the context.
/// Ids are valid until they are forgotten, or completed; another one is CHECKed.
class RuntimeQueuePair {
 public:
  /// Use Context::create_queue_pair. Throws SetupError.
  RuntimeQueuePair(Context& context, const QueuePairOptions& options);
  /// Ends everything. Nothing lands in the user's memory any more; the peer hears that this end is
  /// gone.
  ~RuntimeQueuePair();
  RuntimeQueuePair(const RuntimeQueuePair&) = delete;
  RuntimeQueuePair& operator=(const RuntimeQueuePair&) = delete;

  // Connecting ------------------------------------------------------------------------------------

  /// The blob for the peer.
  std::vector<std::byte> connect_info() const { return encode_connect_info(local_); }
  /// Compares both ends and connects them. Throws SetupError with all that does not agree. Once
  /// only, but again after a failure.
  void connect(std::span<const std::byte> blob);
  bool connected() const;
  /// Lines about what is really in use; empty before it is connected.
  const std::string& describe() const { return description_; }
  QueuePairCounters counters() const;
  /// What was lost below the core; zeros before it is connected.
  PortCounters port_counters() const { return port_->counters(); }

  // Reliable transfers ----------------------------------------------------------------------------

  /// Sends [offset, offset + length), which must not change until the transfer has ended.
  Posted<TransferId> transfer_send(const RegisteredMemory& memory, uint64_t offset, uint64_t length,
                                   uint32_t user_immediate);
  Posted<TransferId> transfer_recv(const RegisteredMemory& memory, uint64_t offset,
                                   uint64_t length);
  /// Ok once it has ended, and its memory is the user's. `result` may be null.
  Outcome transfer_poll(TransferId id, TransferResult* result) const;
  /// Retry while it is active.
  Outcome transfer_free(TransferId id);

  // Plain messages: sending -----------------------------------------------------------------------

  /// Once, all of it; no more pieces can follow.
  Posted<uint64_t> send_post(const RegisteredMemory& memory, uint64_t offset, uint64_t length,
                             uint32_t user_immediate);
  /// Nothing is sent until `send_continue`.
  Posted<uint64_t> send_start(const RegisteredMemory& memory, uint64_t offset, uint64_t length,
                              uint32_t user_immediate);
  Outcome send_continue(uint64_t id, uint64_t first_packet, uint64_t packet_count);
  Outcome send_end(uint64_t id);
  /// Ok when all that was asked for has left.
  Outcome send_poll(uint64_t id);
  /// Ok when the receiver has completed the message; `all_chunks` may be null.
  Outcome send_completed(uint64_t id, bool* all_chunks) const;
  /// Retry until the message has ended and left.
  Outcome send_free(uint64_t id);

  // Plain messages: receiving ---------------------------------------------------------------------

  Posted<uint64_t> recv_post(const RegisteredMemory& memory, uint64_t offset, uint64_t length);
  /// Readable until `recv_complete`.
  BitmapView recv_bitmap(uint64_t id) const;
  Outcome recv_length(uint64_t id, uint64_t& bytes, size_t& chunks) const;
  Outcome recv_immediate(uint64_t id, uint32_t& user_immediate) const;
  /// Nothing lands in the buffer any more when this returns.
  void recv_complete(uint64_t id);

 private:
  friend class Context;

  /// Something of the user's that is posted.
  struct Post {
    const RegisteredMemory* memory = nullptr;
    uint64_t bytes = 0;
    uint32_t user_immediate = 0;
    /// send: once it has ended, packets of each channel that were handed over by then.
    std::optional<std::vector<uint64_t>> handed_over;
  };
  using Posts = std::map<uint64_t, Post>;

  // For the context's threads.
  /// A turn, when one is due; returns how many events and commands there were.
  size_t progress(bool over_and_over);
  Instant next_due();
  size_t serve(uint8_t channel, Instant now) { return backend_->serve_channel(channel, now); }
  Instant next_arrival(uint8_t channel) { return backend_->next_arrival(channel); }
  bool uses(const RegisteredMemory& memory);

  // With the gate held.
  /// `way`: what the post wants to do, send or receive.
  Outcome check_post(Direction way, const RegisteredMemory& memory, uint64_t offset,
                     uint64_t length) const;
  Outcome check_message(Direction way, const RegisteredMemory& memory, uint64_t offset,
                        uint64_t length) const;
  Outcome check_slots(uint64_t length) const;
  Outcome check_receive(uint64_t length) const;
  uint64_t posted_for_receiving() const;
  size_t turn(Instant now);
  bool has_left(uint64_t id, Post& post) const;
  void sweep_orphans();
  void note_lengths();
  void publish_tails();
  template <class Write>
  void record(Write&& write) {
    if (recording_) write(recording_->recorder());
  }
  void touched();
  Instant now() const;
  uint64_t packets_in(uint64_t bytes) const {
    return (bytes + attributes_mtu() - 1) / attributes_mtu();
  }
  uint64_t attributes_mtu() const { return port_->capabilities().mtu_bytes; }
  size_t chunks_in(uint64_t bytes) const {
    return (packets_in(bytes) + local_.chunk_packets - 1) / local_.chunk_packets;
  }

  Context& context_;
  const QueuePairOptions options_;
  ConnectInfo local_;
  ConnectAgreement agreement_;
  PortAttributes port_attributes_;
  std::unique_ptr<Port> port_;

  mutable Gate gate_;  ///< guards all below, but for the channels of `backend_`
  std::unique_ptr<PortBackend> backend_;
  std::unique_ptr<FencingCoder> coder_;
  std::unique_ptr<RecordingFile> recording_;  ///< when one was asked for
  std::unique_ptr<QueuePair> core_;
  std::string description_;
  EventBatch events_;
  CommandBatch pending_;
  Instant next_due_ = Instant::never();
  std::vector<uint64_t> handed_over_;  ///< packets, by channel
  Posts transfers_out_;
  Posts transfers_in_;
  Posts messages_out_;
  Posts messages_in_;
  std::vector<uint64_t> tails_;    ///< messages in whose last chunk may still lack packets
  std::vector<uint64_t> orphans_;  ///< messages that the user has forgotten, but not the core
};

}  // namespace longhaul
