#include "sim/experiment.h"

#include <algorithm>
#include <memory>

#include "sim/host_memory.h"
#include "sim/host_pair.h"
#include "sim/payload.h"

namespace longhaul::sim {
namespace {

/// What does not depend on the policy: the same message on a perfect path, and with foresight.
struct Reference {
  Duration ideal;
  Duration oracle;
  uint64_t oracle_wire_bytes;
};

Reference reference_of(const PathSpec& path, const MessageSpec& message, Instant started,
                       const Rng& rng) {
  const uint64_t rate_bps = std::min(path.rate_bps, path.effective_nic_rate_bps());
  const uint64_t packets = (message.bytes + path.mtu_bytes - 1) / path.mtu_bytes;
  const uint64_t full_bytes = path.mtu_bytes + path.header_bytes;
  const Duration packet_time = wire_time(full_bytes, rate_bps);
  const Duration complete_time = wire_time(kCompleteBytes + path.header_bytes, rate_bps);
  const Duration fixed = path.propagation * 2 + complete_time;
  Reference reference{fixed, fixed, kCompleteBytes + path.header_bytes};
  if (packets == 0) return reference;

  const uint64_t last_bytes = message.bytes - (packets - 1) * path.mtu_bytes + path.header_bytes;
  const Duration last_time = wire_time(last_bytes, rate_bps);
  reference.ideal += packet_time * static_cast<int64_t>(packets - 1) + last_time;
  reference.oracle_wire_bytes += (packets - 1) * full_bytes + last_bytes;

  // The oracle sends in exactly the slots that will not be lost, and completes with the last of
  // them.
  const auto loss = make_loss_process(path.loss, forward_rng(rng));
  const bool by_number = path.loss.model == LossModel::scripted;
  const uint64_t first = by_number ? 0 : static_cast<uint64_t>(started.ps / packet_time.ps);
  uint64_t slot = first;
  for (uint64_t left = packets; left > 0;) {
    const uint64_t lost = loss->next_lost(slot);
    const uint64_t good = std::min(left, lost - slot);
    left -= good;
    slot += left > 0 ? good + 1 : good;
  }
  reference.oracle += packet_time * static_cast<int64_t>(slot - first - 1) + last_time;
  return reference;
}

QueuePairAttributes attributes_of(const PathSpec& path, const MessageSpec& message,
                                  const Rng& rng) {
  QueuePairAttributes attributes = attributes_on(path, rng);
  attributes.policy = message.policy;
  attributes.chunk_packets = message.chunk_packets;
  attributes.generations = message.generations;
  attributes.channels = message.channels;
  attributes.give_up = message.give_up;
  return attributes;
}

MemoryRegion region_of(HostMemory& memory, const PathSpec& path, const MessageSpec& message) {
  MemoryRegion region{nullptr, message.bytes, path.mtu_bytes,
                      message.payload == Payload::real ? path.mtu_bytes : kVirtualPacketBytes};
  region.address = memory.reserve(region.stored_bytes(message.bytes));
  return region;
}

void count(MessageSample& sample, const HostPair& hosts) {
  const QueuePairCounters& sent = hosts.sender.queue_pair.counters();
  const QueuePairCounters& received = hosts.receiver.queue_pair.counters();
  const LinkCounters& forward = hosts.forward.counters();
  const LinkCounters& reverse = hosts.reverse.counters();
  sample.wire_bytes = forward.wire_bytes + reverse.wire_bytes;
  sample.data_packets = sent.data_packets;
  sample.retransmitted_packets = sent.retransmitted_packets;
  sample.parity_packets = sent.parity_packets;
  sample.control_packets = sent.control_packets + received.control_packets;
  sample.lost_packets = forward.lost_packets + reverse.lost_packets;
  sample.lost_control_packets = forward.lost_control_packets + reverse.lost_control_packets;
  sample.queue_drops = forward.queue_drops + reverse.queue_drops;
  sample.duplicate_packets = received.duplicate_packets;
  sample.decoded_packets = received.decoded_packets;
  sample.fallbacks = received.fallbacks;
  sample.sender = sent;
  sample.receiver = received;
}

}  // namespace

MessageSample simulate_message(const PathSpec& path, const MessageSpec& message, uint64_t seed,
                               uint64_t message_index) {
  const Rng rng = Rng(seed).fork(message_index);
  thread_local HostMemory source;
  thread_local HostMemory buffer;
  const MemoryRegion source_region = region_of(source, path, message);
  const MemoryRegion buffer_region = region_of(buffer, path, message);
  const uint64_t stored_bytes = source_region.stored_bytes(message.bytes);
  const uint64_t payload_seed = payload_rng(rng).seed();
  const std::span<std::byte> delivered(buffer_region.address, stored_bytes);
  fill_payload({source_region.address, stored_bytes}, payload_seed);
  std::ranges::fill(delivered,
                    std::byte{0});  // what an earlier message left must not pass for this one's

  HostPair hosts(path, attributes_of(path, message, rng),
                 capabilities_of(path, message.max_run_packets), rng);
  QueuePair& sender = hosts.sender.queue_pair;
  QueuePair& receiver = hosts.receiver.queue_pair;
  const MemoryHandle source_handle = hosts.sender.backend.register_memory(source_region);
  const MemoryHandle buffer_handle = hosts.receiver.backend.register_memory(buffer_region);
  const auto immediate = static_cast<uint32_t>(payload_seed);
  const uint64_t id =
      sender.transfer_send({}, {source_handle, source_region, 0, message.bytes}, immediate);
  receiver.transfer_recv({}, {buffer_handle, buffer_region, 0, message.bytes});
  while (sender.send_status(id).state == TransferState::active && hosts.step()) {
  }

  MessageSample sample;
  const TransferStatus& status = sender.send_status(id);
  const Reference reference = reference_of(path, message, status.started, rng);
  sample.ideal = reference.ideal;
  sample.oracle = reference.oracle;
  sample.oracle_wire_bytes = reference.oracle_wire_bytes;
  sample.payload_bytes = message.bytes;
  sample.setup = status.started - status.posted;
  sample.completion = status.finished - status.started;
  sample.failure = status.reason;
  count(sample, hosts);
  if (status.state == TransferState::delivered) {
    const bool intact = payload_equals(delivered, payload_seed) &&
                        receiver.recv(id).user_immediate() == immediate &&
                        receiver.recv(id).bytes() == message.bytes;
    sample.outcome = intact ? Outcome::delivered : Outcome::corrupt;
    if (!intact) sample.failure = "what was delivered differs from what was sent";
  } else if (sample.failure == std::string_view("the end-to-end checksum differs")) {
    sample.outcome = Outcome::corrupt;
  }
  sample.digest = hosts.digest();
  sample.digest = mix64(sample.digest, static_cast<uint64_t>(sample.completion.ps));
  return sample;
}

}  // namespace longhaul::sim
