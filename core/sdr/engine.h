#pragma once

/// What all live messages and transfers of a queue pair share.

#include <deque>
#include <vector>

#include "core/backend.h"
#include "core/coding/coder.h"
#include "core/reliability/round_trip.h"
#include "core/reliability/sender_policy.h"
#include "core/sdr/queue_pair_attributes.h"
#include "core/sdr/schedule.h"
#include "core/sdr/slot_table.h"

namespace longhaul {

/// A receive has ended: what its tombstone needs to answer for it.
struct Ending {
  MessageRole role = MessageRole::data;
  uint64_t id = 0;
  CompletionStatus status = CompletionStatus::delivered;
  uint64_t checksum = 0;
  std::vector<SlotId> slots;  ///< released, to be retired with the sender's consent
  /// Receive buffer of the parity, which late packets may still reach on a backend without a fence.
  std::vector<std::byte> parity_memory;
  MemoryHandle parity_handle{};
};

/// Receives that wait for slots, first come, first served: a short one does not overtake a long
/// one.
class SlotQueue {
 public:
  bool may_arm(const Activity& activity) const {
    return waiting_.empty() || waiting_.front() == &activity;
  }
  bool empty() const { return waiting_.empty(); }
  Activity& front() { return *waiting_.front(); }
  void wait(Activity& activity) {
    if (activity.waits_for_slot_) return;
    activity.waits_for_slot_ = true;
    waiting_.push_back(&activity);
  }
  void leave(Activity& activity) {
    if (!activity.waits_for_slot_) return;
    activity.waits_for_slot_ = false;
    if (waiting_.front() == &activity) {
      waiting_.pop_front();
    } else {
      std::erase(waiting_, &activity);
    }
  }

 private:
  std::deque<Activity*> waiting_;
};

struct Engine {
  Engine(const QueuePairAttributes& a, Backend& b, Coder& c)
      : attributes(a),
        backend(b),
        capabilities(b.capabilities()),
        mtu_bytes(capabilities.mtu_bytes),
        coder(c),
        round_trip(a.round_trip, a.reordering),
        slots(a.generations, std::min(a.max_messages, live_message_limit(a.generations)),
              // What the sender had handed to its NIC may leave after it has consented.
              a.effective_quarantine(), a.reordering + a.ahead) {}

  uint64_t packets_in(uint64_t bytes) const { return (bytes + mtu_bytes - 1) / mtu_bytes; }
  /// Payload bytes of packet `packet` of something `bytes` long.
  uint32_t bytes_of_packet(uint64_t packet, uint64_t bytes) const {
    return static_cast<uint32_t>(std::min<uint64_t>(mtu_bytes, bytes - packet * mtu_bytes));
  }
  /// Starts elsewhere for each message, so that short ones use all channels.
  ChannelMap channels_of(uint64_t id) const {
    return {attributes.chunk_packets, attributes.channels, id};
  }
  /// How long to wait before a clear-to-send is repeated: a quarter of a round trip, a half, one,
  /// two. Losing one soon costs little; a sender that is busy with earlier messages is not
  /// pestered.
  Duration clear_to_send_wait(int repeats) const {
    return round_trip.feedback_period() * (int64_t{16} << std::min(repeats, 3));
  }
  /// Something waits for slots and may get one at this time.
  Instant next_slot() const { return slot_queue.empty() ? Instant::never() : slots.next_free(); }

  const QueuePairAttributes attributes;
  Backend& backend;
  const Capabilities& capabilities;
  const uint32_t mtu_bytes;
  Coder& coder;
  RoundTrip round_trip;
  SlotTable slots;
  Schedule schedule;
  SlotQueue slot_queue;
  /// When the receiver reports next; Instant::never() while nothing is being received.
  Instant tick = Instant::never();
  // Of this turn, for the queue pair to tidy up.
  std::vector<Ending> endings;
  std::vector<std::pair<MessageRole, uint64_t>> retired;
};

/// Cuts packets [first, first + count) of one message into runs that the backend takes, each within
/// a channel, and appends them. `run`: all but packets, bytes and channel; its source is the
/// message's beginning, `bytes` its length.
void append_writes(const Engine& engine, const Turn& turn, const WriteRun& run,
                   const ChannelMap& channels, uint64_t bytes, uint32_t first, uint32_t count);

}  // namespace longhaul
