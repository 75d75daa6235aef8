#include "sim/stream.h"

#include <algorithm>
#include <vector>

#include "core/base/hash.h"
#include "sim/host_pair.h"
#include "sim/payload.h"

namespace longhaul::sim {
namespace {

QueuePairAttributes attributes_of(const PathSpec& path, const StreamSpec& spec, const Rng& rng) {
  QueuePairAttributes attributes = attributes_on(path, rng);
  attributes.policy = spec.policy;
  attributes.chunk_packets = spec.chunk_packets;
  attributes.generations = spec.generations;
  attributes.channels = spec.channels;
  if (spec.reordering) attributes.reordering = *spec.reordering;
  attributes.quarantine = spec.quarantine;
  attributes.give_up = spec.give_up;
  return attributes;
}

Capabilities capabilities_of(const PathSpec& path, const StreamSpec& spec) {
  Capabilities capabilities = capabilities_of(path, spec.max_run_packets);
  capabilities.late_write_fence = spec.late_write_fence;
  return capabilities;
}

/// A ring of message buffers in one registration; message i uses place i mod count.
class Ring {
 public:
  Ring(const PathSpec& path, const StreamSpec& spec, SimBackend& backend) : count_(spec.in_flight) {
    const uint64_t packets = (spec.message_bytes + path.mtu_bytes - 1) / path.mtu_bytes;
    pitch_bytes_ = packets * path.mtu_bytes;
    region_ = {nullptr, count_ * pitch_bytes_, path.mtu_bytes,
               spec.payload == Payload::real ? path.mtu_bytes : kVirtualPacketBytes};
    memory_.resize(std::max<uint64_t>(1, region_.stored_bytes(region_.bytes)));
    region_.address = memory_.data();
    handle_ = backend.register_memory(region_);
  }

  MemorySlice slice(uint64_t message, uint64_t bytes) const {
    return {handle_, region_, message % count_ * pitch_bytes_, bytes};
  }

 private:
  uint64_t count_;
  uint64_t pitch_bytes_ = 0;
  MemoryRegion region_;
  std::vector<std::byte> memory_;
  MemoryHandle handle_{};
};

class Stream {
 public:
  Stream(const PathSpec& path, const StreamSpec& spec, uint64_t seed)
      : spec_(spec),
        rng_(Rng(seed)),
        payload_seed_(payload_rng(rng_).seed()),
        hosts_(path, attributes_of(path, spec, rng_), capabilities_of(path, spec), rng_),
        sources_(path, spec, hosts_.sender.backend),
        buffers_(path, spec, hosts_.receiver.backend) {}

  StreamSample run() {
    post_sends();
    post_receives();
    while (ended_sends_ < spec_.messages || ended_receives_ < spec_.messages) {
      if (!hosts_.step()) break;
      sample_.peak_armed =
          std::max<uint64_t>(sample_.peak_armed, hosts_.receiver.queue_pair.slots().armed());
      // In posting order: a ring's place is free when the message in it has ended.
      while (ended_receives_ < next_receive_ && end_receive()) post_receives();
      while (ended_sends_ < next_send_ && end_send()) post_sends();
    }
    sample_.elapsed = last_end_ - started_;
    sample_.lost_packets = hosts_.forward.counters().lost_packets;
    sample_.sender = hosts_.sender.queue_pair.counters();
    sample_.receiver = hosts_.receiver.queue_pair.counters();
    sample_.memory = hosts_.receiver.backend.memory_counters();
    sample_.digest = hosts_.digest();
    return sample_;
  }

 private:
  uint64_t seed_of(uint64_t message) const { return mix64(payload_seed_, message); }
  uint32_t immediate_of(uint64_t message) const { return static_cast<uint32_t>(seed_of(message)); }

  void post_sends() {
    while (next_send_ < spec_.messages && next_send_ < ended_sends_ + spec_.in_flight) {
      const MemorySlice source = sources_.slice(next_send_, spec_.message_bytes);
      fill_payload(source.stored(source.bytes), seed_of(next_send_));
      hosts_.sender.queue_pair.transfer_send(hosts_.now(), source, immediate_of(next_send_));
      ++next_send_;
    }
  }

  void post_receives() {
    while (next_receive_ < spec_.messages && next_receive_ < ended_receives_ + spec_.in_flight) {
      hosts_.receiver.queue_pair.transfer_recv(hosts_.now(),
                                               buffers_.slice(next_receive_, spec_.message_bytes));
      ++next_receive_;
    }
  }

  bool end_send() {
    QueuePair& queue_pair = hosts_.sender.queue_pair;
    const TransferStatus status = queue_pair.send_status(ended_sends_);
    if (status.state == TransferState::active || !queue_pair.send_released(ended_sends_))
      return false;
    if (ended_sends_ == 0) started_ = status.started;
    last_end_ = std::max(last_end_, status.finished);
    ++(status.state == TransferState::delivered ? sample_.delivered : sample_.failed);
    queue_pair.forget_send(ended_sends_++);
    return true;
  }

  bool end_receive() {
    QueuePair& queue_pair = hosts_.receiver.queue_pair;
    const TransferState state = queue_pair.recv_status(ended_receives_).state;
    if (state == TransferState::active) return false;
    if (state == TransferState::delivered) {
      const ReceiveTransfer& receive = queue_pair.recv(ended_receives_);
      const MemorySlice buffer = buffers_.slice(ended_receives_, spec_.message_bytes);
      const bool intact = receive.bytes() == spec_.message_bytes &&
                          receive.user_immediate() == immediate_of(ended_receives_) &&
                          payload_equals(buffer.stored(buffer.bytes), seed_of(ended_receives_));
      sample_.corrupt += !intact;
    }
    queue_pair.forget_recv(ended_receives_++);
    return true;
  }

  const StreamSpec& spec_;
  Rng rng_;
  uint64_t payload_seed_;
  HostPair hosts_;
  Ring sources_;
  Ring buffers_;
  StreamSample sample_;
  Instant started_{};
  Instant last_end_{};
  uint64_t next_send_ = 0;
  uint64_t next_receive_ = 0;
  uint64_t ended_sends_ = 0;
  uint64_t ended_receives_ = 0;
};

}  // namespace

uint64_t StreamSample::goodput_bps(uint64_t message_bytes) const {
  if (elapsed.ps <= 0) return 0;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(delivered) * message_bytes * 8 *
                               1'000'000'000'000 / static_cast<uint64_t>(elapsed.ps));
}

StreamSample simulate_stream(const PathSpec& path, const StreamSpec& spec, uint64_t seed) {
  return Stream(path, spec, seed).run();
}

}  // namespace longhaul::sim
