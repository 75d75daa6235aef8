#include "core/transfer/replay_limits.h"

#include <algorithm>
#include <limits>

#include "core/coding/stripe_layout.h"

namespace longhaul {

using recording::Post;

namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 61;
constexpr uint32_t kMaxPacketBytes = 1u << 16;
/// Beyond it no product of a time and a policy's thousandths fits into 64 bits.
constexpr uint32_t kMaxMilliRtt = 1'000'000;
constexpr uint32_t kMaxStripe = 255;
/// Handed to the backend ahead of the wire: bounds the commands of one turn.
constexpr int64_t kMaxAheadPackets = int64_t{1} << 20;
constexpr Duration kMaxPacketTime = Duration::seconds(1);
constexpr Duration kMaxWireTime{int64_t{1} << 60};
/// What a transfer or message takes before its first packet, roughly.
constexpr uint64_t kFixedBytes = 4096;
/// A packet under repair has a node in a map and a place in a queue; few are.
constexpr uint64_t kSendBytesPerPacket = 4;

bool valid_policy(const PolicySpec& policy) {
  if (policy.rto_millirtt > kMaxMilliRtt || policy.fallback_millirtt > kMaxMilliRtt) return false;
  if (policy.kind == PolicySpec::Kind::selective_repeat) return true;
  return policy.data_count >= 1 && policy.parity_count >= 1 && policy.data_count <= kMaxStripe &&
         policy.parity_count <= kMaxStripe - policy.data_count;
}

}  // namespace

std::string refuse_header(const RecordingHeader& header, const ReplayLimits& limits) {
  const Capabilities& capabilities = header.capabilities;
  const QueuePairAttributes& attributes = header.attributes;
  if (capabilities.mtu_bytes == 0 || capabilities.mtu_bytes > kMaxPacketBytes ||
      capabilities.header_bytes > kMaxPacketBytes || capabilities.max_run_packets == 0 ||
      capabilities.rate_bps == 0) {
    return "the backend's capabilities are out of range";
  }
  if (attributes.channels < 1 || attributes.channels > kMaxChannels || attributes.generations < 1 ||
      attributes.generations > kMaxGenerations || attributes.chunk_packets < 1 ||
      attributes.max_messages < 1) {
    return "the queue pair's attributes are out of range";
  }
  if (capabilities.max_control_bytes < max_feedback_fixed_bytes(attributes.channels) ||
      capabilities.max_control_bytes > kMaxPacketBytes) {
    return "the backend's control messages have no room for feedback";
  }
  if (!valid_policy(attributes.policy)) return "the policy is out of range";
  for (const Duration duration :
       {attributes.round_trip, attributes.reordering, attributes.quarantine.value_or(Duration{}),
        attributes.give_up, attributes.ahead}) {
    if (duration < Duration{} || duration > limits.longest) {
      return "a time among the queue pair's attributes is out of range";
    }
  }
  const uint32_t millirtt =
      std::max(attributes.policy.rto_millirtt, attributes.policy.fallback_millirtt);
  if (attributes.round_trip.ps > std::numeric_limits<int64_t>::max() / (int64_t{millirtt} + 1)) {
    return "the policy's timers are out of range";
  }
  const Duration packet_time =
      wire_time(capabilities.mtu_bytes + capabilities.header_bytes, capabilities.rate_bps);
  if (packet_time > kMaxPacketTime || attributes.ahead / packet_time > kMaxAheadPackets) {
    return "the rate does not fit the packets that are handed over ahead";
  }
  return {};
}

PostGuard::PostGuard(const RecordingHeader& header, const ReplayLimits& limits)
    : header_(header),
      limits_(limits),
      packet_time_(wire_time(header.capabilities.mtu_bytes + header.capabilities.header_bytes,
                             header.capabilities.rate_bps)) {}

uint64_t PostGuard::packets_in(uint64_t bytes) const {
  const uint64_t mtu_bytes = header_.capabilities.mtu_bytes;
  return (bytes + mtu_bytes - 1) / mtu_bytes;
}

/// Bitmaps of packets and chunks, and what a code keeps of its stripes and parity.
uint64_t PostGuard::memory_of(uint64_t packets, bool transfer) const {
  const PolicySpec& policy = header_.attributes.policy;
  uint64_t bytes = kFixedBytes + packets / 2;
  if (transfer && policy.kind == PolicySpec::Kind::erasure_code) {
    const auto layout = StripeLayout::make(packets, policy.data_count, policy.parity_count);
    bytes += layout.stripes + layout.parity_packets() * 2;
  }
  return bytes;
}

bool PostGuard::anything_lives() const {
  return !sends_.empty() || !recvs_.empty() || !messages_out_.empty() || !messages_in_.empty();
}

std::string PostGuard::refuse(const RecordedPost& post, const QueuePair& queue_pair) {
  switch (post.post) {
    case Post::transfer_send:
    case Post::transfer_recv:
    case Post::send_start:
    case Post::recv_post:
      return refuse_size(post);
    case Post::send_continue: {
      if (!messages_out_.contains(post.id)) return "it sends more of a message that does not live";
      const uint64_t packets = queue_pair.send_message(post.id).packets();
      if (post.first > packets || post.count > packets - post.first)
        return "it sends packets beyond the end of the message";
      return refuse_wire_time(post.count);
    }
    case Post::send_end:
      if (!messages_out_.contains(post.id)) return "it ends a message that does not live";
      return {};
    case Post::recv_complete:
      if (!messages_in_.contains(post.id)) return "it completes a message that does not live";
      drop(messages_in_, post.id);
      return {};
    case Post::forget_send:
      if (!sends_.contains(post.id) || !queue_pair.send_released(post.id))
        return "it forgets a transfer whose memory is in use, or that does not live";
      drop(sends_, post.id);
      return {};
    case Post::forget_recv:
      if (!recvs_.contains(post.id) ||
          queue_pair.recv_status(post.id).state == TransferState::active)
        return "it forgets a transfer that has not ended, or that does not live";
      drop(recvs_, post.id);
      return {};
    case Post::forget_send_message: {
      if (!messages_out_.contains(post.id)) return "it forgets a message that does not live";
      const SendStatus status = queue_pair.send_message_status(post.id);
      const bool ended = status.state == SendState::completed ||
                         status.state == SendState::failed ||
                         (status.state == SendState::injected && status.stream_ended);
      if (!ended) return "it forgets a message that has not ended";
      drop(messages_out_, post.id);
      return {};
    }
  }
  return "there is no such post";
}

std::string PostGuard::refuse_size(const RecordedPost& post) {
  if (post.bytes > kMaxBytes || post.offset > kMaxBytes) return "its memory is out of range";
  const uint64_t packets = packets_in(post.bytes);
  const bool transfer = post.post == Post::transfer_send || post.post == Post::transfer_recv;
  if (!transfer && packets > kMaxMessagePackets) return "its message has too many packets";
  // First of all: nothing below overflows for what fits.
  if (packets > limits_.memory_bytes) return refuse_memory(packets);
  const uint64_t bytes = memory_of(packets, transfer);
  switch (post.post) {
    case Post::transfer_send:
      if (auto refused = refuse_wire_time(packets); !refused.empty()) return refused;
      return take(sends_, next_send_++, bytes + packets * kSendBytesPerPacket);
    case Post::transfer_recv:
      if (auto refused = refuse_wire_time(packets); !refused.empty()) return refused;
      return take(recvs_, next_recv_++, bytes);
    case Post::send_start:
      return take(messages_out_, next_message_out_++, bytes);
    default:
      return refuse_memory(bytes);
  }
}

std::string PostGuard::refuse_wire_time(uint64_t packets) {
  // With parity, which is at most as many times the data as a stripe has packets.
  const auto left = static_cast<uint64_t>((kMaxWireTime - wire_time_) / packet_time_);
  if (packets > left / kMaxStripe) return "what it sends would take weeks";
  wire_time_ += packet_time_ * static_cast<int64_t>(packets);
  return {};
}

std::string PostGuard::refuse_memory(uint64_t bytes) {
  if (bytes <= limits_.memory_bytes && memory_bytes_ <= limits_.memory_bytes - bytes) return {};
  return "what lives would take more memory than a replay may";
}

std::string PostGuard::take(Live& live, uint64_t id, uint64_t bytes) {
  auto refused = refuse_memory(bytes);
  if (!refused.empty()) return refused;
  live.emplace(id, bytes);
  memory_bytes_ += bytes;
  return {};
}

void PostGuard::drop(Live& live, uint64_t id) {
  const auto found = live.find(id);
  memory_bytes_ -= found->second;
  live.erase(found);
}

void PostGuard::message_received(uint64_t id, uint64_t bytes) {
  const uint64_t memory_bytes = memory_of(packets_in(bytes), false);
  messages_in_.emplace(id, memory_bytes);
  memory_bytes_ += memory_bytes;
}

}  // namespace longhaul
