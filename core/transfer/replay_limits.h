#pragma once

/// What a recording may say without the core being at a loss: the core trusts its user with
/// attributes and posts, a replay must not trust a file.

#include <map>
#include <string>

#include "core/transfer/queue_pair.h"
#include "core/transfer/recording_reader.h"
#include "core/transfer/replay.h"

namespace longhaul {

/// What is wrong with the attributes or capabilities; empty when nothing is.
std::string refuse_header(const RecordingHeader& header, const ReplayLimits& limits);

/// Checks each post against what lives, before the queue pair sees it.
class PostGuard {
 public:
  PostGuard(const RecordingHeader& header, const ReplayLimits& limits);

  /// What is wrong with `post`; empty when nothing is, and the post then counts as done.
  std::string refuse(const RecordedPost& post, const QueuePair& queue_pair);
  /// Of a `recv_post` that got a slot.
  void message_received(uint64_t id, uint64_t bytes);
  bool anything_lives() const;

 private:
  using Live = std::map<uint64_t, uint64_t>;  ///< id to bytes of memory

  std::string refuse_size(const RecordedPost& post);
  std::string refuse_wire_time(uint64_t packets);
  std::string refuse_memory(uint64_t bytes);
  std::string take(Live& live, uint64_t id, uint64_t bytes);
  void drop(Live& live, uint64_t id);
  uint64_t memory_of(uint64_t packets, bool transfer) const;
  uint64_t packets_in(uint64_t bytes) const;

  const RecordingHeader& header_;
  const ReplayLimits& limits_;
  Duration packet_time_;
  Duration wire_time_{};  ///< of all that was ever to be sent
  uint64_t memory_bytes_ = 0;
  uint64_t next_send_ = 0;
  uint64_t next_recv_ = 0;
  uint64_t next_message_out_ = 0;
  Live sends_;
  Live recvs_;
  Live messages_out_;
  Live messages_in_;
};

}  // namespace longhaul
