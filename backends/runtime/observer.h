#pragma once

/// Who wants to see all that goes into a queue pair and comes out of it, for a recording.

#include <span>

#include "core/backend.h"
#include "core/sdr/queue_pair_attributes.h"

namespace longhaul {

/// A call of the core's QueuePair that is not a turn.
struct PostRecord {
  enum class Kind : uint8_t {
    transfer_send,
    transfer_recv,
    forget_send,
    forget_recv,
    send_start,
    send_continue,
    send_end,
    forget_send_message,
    recv_post,
    recv_complete
  };
  Kind kind = Kind::transfer_send;
  Instant now{};
  uint64_t id = 0;              ///< what the post returned, or what it is about
  MemorySlice memory;           ///< transfer_send, transfer_recv, send_start, recv_post
  uint32_t user_immediate = 0;  ///< transfer_send, send_start
  uint64_t first_packet = 0;    ///< send_continue
  uint64_t packet_count = 0;    ///< send_continue
};

/// Called in the order in which the core sees it, with the queue pair's lock held, from any thread.
/// Must not call the queue pair.
class Observer {
 public:
  virtual ~Observer() = default;

  /// Once, before everything else.
  virtual void on_connect(const QueuePairAttributes& attributes,
                          const Capabilities& capabilities) = 0;
  /// Posts that were refused are not seen.
  virtual void on_post(const PostRecord& post) = 0;
  /// `appended`: what this turn has added behind the commands that the backend had not taken yet;
  /// their control messages lie in `control_bytes`. `accepted`: how many of all these it has taken
  /// now.
  virtual void on_turn(Instant now, const EventBatch& events, std::span<const Command> appended,
                       std::span<const std::byte> control_bytes, size_t accepted) = 0;
};

}  // namespace longhaul
