#pragma once

/// The sender's end of a plain SDR message: unreliable, any packet range at any time, repaired by
/// whoever uses it.

#include <deque>

#include "core/sdr/engine.h"

namespace longhaul {

enum class SendState : uint8_t {
  waiting,    ///< for the clear-to-send, or for the wire
  injected,   ///< everything asked for so far has left; says nothing about delivery
  completed,  ///< the receiver has called recv_complete; nothing more can be sent
  failed
};

struct SendStatus {
  SendState state = SendState::waiting;
  const char* reason = "";    ///< why it failed; static storage
  bool stream_ended = false;  ///< nothing more will be asked for
  /// Completed: with all chunks, or with some missing.
  CompletionStatus completion = CompletionStatus::delivered;
};

class SendMessage final : public Activity {
 public:
  /// At most 2^18 packets. `engine` outlives the message.
  SendMessage(uint64_t id, Instant now, const MemorySlice& source, uint32_t user_immediate,
              Engine& engine);

  /// Sends packets [first, first + count), which may have been sent before.
  void send(uint64_t first, uint64_t count);
  void end_stream() { stream_ended_ = true; }

  void on_clear_to_send(const ClearToSend& message, const Turn& turn);
  void on_feedback(const Feedback& message) { begin_confirmed_ |= message.has_begin; }
  void on_complete(const Complete& message);
  void fail(const char* reason);

  void turn(const Turn& turn) override;
  Instant next_deadline() const override;
  bool wants_wire() const override { return wants_wire_; }

  SendStatus status(const WireClock& wire) const;
  uint64_t packets() const { return packets_; }

 private:
  bool over() const { return completed_ || failed_; }
  void send_begin(const Turn& turn);

  uint64_t id_;
  MemorySlice source_;
  uint32_t user_immediate_;
  Engine& engine_;
  uint64_t packets_;
  Instant posted_;
  SlotId slot_;
  std::deque<PacketRange> wanted_;  ///< asked for, not sent yet
  WireClock::Mark handed_over_{};
  bool cleared_ = false;
  bool wants_wire_ = false;
  bool begun_ = false;
  bool begin_confirmed_ = false;
  Instant begin_deadline_ = Instant::never();
  bool stream_ended_ = false;
  bool completed_ = false;
  bool failed_ = false;
  const char* reason_ = "";
  CompletionStatus completion_ = CompletionStatus::delivered;
};

}  // namespace longhaul
