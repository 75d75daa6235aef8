#include "backends/runtime/loopback/loopback_port.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "core/base/error.h"
#include "core/wire/bytes.h"

namespace longhaul {
namespace {

/// As a NIC's send queue: what does not fit waits with the core.
constexpr uint32_t kSendQueuePackets = 1024;

std::vector<uint64_t> random_keys(uint8_t generations) {
  std::random_device device;
  std::vector<uint64_t> keys(generations);
  for (uint64_t& key : keys) key = uint64_t{device()} << 32 | device();
  return keys;
}

}  // namespace

// Set-up -----------------------------------------------------------------------------------------

LoopbackPort::LoopbackPort(LoopbackDevice& device, std::shared_ptr<LoopbackHub> hub,
                           const PortAttributes& attributes)
    : device_(device),
      hub_(std::move(hub)),
      attributes_(attributes),
      capabilities_(device.capabilities()),
      inbox_(std::make_shared<Inbox>(hub_->next_address(), random_keys(attributes.generations),
                                     attributes.doorbells)),
      rng_(Rng(hub_->spec.seed).fork(inbox_->address)),
      mappings_(size_t{attributes.generations} * kSlotsPerGeneration) {
  if (attributes.mtu_bytes != 0)
    capabilities_.mtu_bytes = std::min(capabilities_.mtu_bytes, attributes.mtu_bytes);
  if (attributes.rate_bps != 0)
    capabilities_.rate_bps = std::min(capabilities_.rate_bps, attributes.rate_bps);
  for (uint32_t c = 0; c < attributes.channels; ++c) {
    auto channel = std::make_unique<Channel>();
    for (std::atomic<uint32_t>& posted : channel->posted) posted = hub_->spec.receives;
    channels_.push_back(std::move(channel));
  }
  hub_->add(inbox_);
}

std::vector<std::byte> LoopbackPort::connect_bytes() const {
  std::vector<std::byte> bytes;
  ByteWriter writer(bytes);
  writer.fixed(hub_->id);
  writer.fixed(inbox_->address);
  return bytes;
}

void LoopbackPort::connect(const ConnectInfo& peer, uint32_t mtu_bytes) {
  const std::string where = "connect over " + device_.describe();
  ByteReader reader(peer.backend_bytes);
  const auto hub = reader.fixed<uint64_t>();
  const auto address = reader.fixed<uint64_t>();
  if (reader.truncated || reader.left() != 0 || hub != hub_->id) {
    throw SetupError(where, "the peer is on another loopback",
                     "Open both contexts in one process and with the same NAME");
  }
  std::shared_ptr<Inbox> inbox = hub_->find(address);
  if (!inbox) {
    throw SetupError(where, "the peer's queue pair has been destroyed",
                     "Make a new one, and exchange its blob");
  }
  uint64_t nobody = 0;
  if (!inbox->sender.compare_exchange_strong(nobody, inbox_->address)) {
    throw SetupError(where, "the peer is connected already", "Make a queue pair for each peer");
  }
  peer_ = std::move(inbox);
  capabilities_.mtu_bytes = mtu_bytes;
  capabilities_.max_control_bytes = mtu_bytes;
}

void LoopbackPort::close() {
  if (inbox_->closed.exchange(true)) return;
  // Who sends here must know even when this end has never connected.
  const auto peer = peer_ ? peer_ : hub_->find(inbox_->sender);
  if (peer) peer->push_goodbye(free_at_ + hub_->spec.delay);
  for (size_t index = 0; index < mappings_.size(); ++index) {
    const std::unique_lock lock(lock_of(index).mutex);
    mappings_[index] = {};
  }
}

// Sending ----------------------------------------------------------------------------------------

bool LoopbackPort::post_write(Instant now, const WriteRun& run) {
  LONGHAUL_CHECK(run.packet_count <= LoopbackRun::kMaxPackets);
  if (queued_[run.channel] + run.packet_count > kSendQueuePackets) return false;
  const uint64_t bytes =
      uint64_t{run.packet_count - 1} * capabilities_.mtu_bytes + run.last_packet_bytes;
  const MemoryRegion source = device_.region(run.source);
  LONGHAUL_CHECK(run.source_offset + bytes <= source.bytes);

  LoopbackRun flight;
  flight.run = run;
  flight.key = peer_->keys[run.generation];
  flight.payload.reset(new std::byte[bytes]);
  std::memcpy(flight.payload.get(), source.at(run.source_offset), bytes);
  const auto time_of = [&](uint32_t payload_bytes) {
    return wire_time(payload_bytes + capabilities_.header_bytes, capabilities_.rate_bps);
  };
  flight.packet_time = time_of(capabilities_.mtu_bytes);
  const Instant start = std::max(now, free_at_);
  const Duration delay = hub_->spec.delay;
  free_at_ =
      start + flight.packet_time * (int64_t{run.packet_count} - 1) + time_of(run.last_packet_bytes);
  flight.last_arrival = free_at_ + delay;
  flight.first_arrival = std::min(flight.last_arrival, start + flight.packet_time + delay);
  for (uint32_t packet = 0; packet < run.packet_count; ++packet)
    flight.lost |= uint64_t{is_lost(hub_->spec.loss)} << packet;

  queued_[run.channel] += run.packet_count;
  departures_.push_back({free_at_, run.channel, run.packet_count});
  if (!peer_->closed) peer_->push(std::move(flight));
  return true;
}

bool LoopbackPort::send_control(Instant now, std::span<const std::byte> bytes) {
  free_at_ = std::max(now, free_at_) +
             wire_time(bytes.size() + capabilities_.header_bytes, capabilities_.rate_bps);
  if (is_lost(hub_->spec.control_loss) || peer_->closed) return true;
  peer_->push(Inbox::Control(bytes.begin(), bytes.end()), free_at_ + hub_->spec.delay);
  return true;
}

void LoopbackPort::poll(Instant now, EventBatch& events) {
  std::array<uint32_t, kMaxChannels> completed{};
  for (; !departures_.empty() && departures_.front().when <= now; departures_.pop_front()) {
    const Departure& departure = departures_.front();
    completed[departure.channel] += departure.packets;
    queued_[departure.channel] -= departure.packets;
  }
  for (uint8_t channel = 0; channel < attributes_.channels; ++channel) {
    if (completed[channel] != 0)
      events.events.emplace_back(WritesCompleted{channel, completed[channel]});
  }
  while (const auto control = inbox_->controls.pop(now)) {
    events.events.emplace_back(ControlArrived{static_cast<uint32_t>(events.control_bytes.size()),
                                              static_cast<uint32_t>(control->size())});
    events.control_bytes.insert(events.control_bytes.end(), control->begin(), control->end());
  }
  uint64_t queue_empty = 0;
  for (const auto& channel : channels_) queue_empty += channel->queue_empty.load();
  if (queue_empty != queue_empty_told_) {
    events.events.emplace_back(FaultRaised{FaultRaised::Kind::receive_queue_empty,
                                           static_cast<uint32_t>(queue_empty - queue_empty_told_)});
    queue_empty_told_ = queue_empty;
  }
  if (!peer_gone_told_ && inbox_->goodbye.pop(now)) {
    peer_gone_told_ = true;
    events.events.emplace_back(FaultRaised{FaultRaised::Kind::peer_gone, 1});
  }
}

Instant LoopbackPort::next_event(uint64_t completions) {
  Instant next = std::min(inbox_->controls.earliest(), inbox_->goodbye.earliest());
  if (completions == ~uint64_t{0}) return next;
  uint64_t left = completions;
  for (const Departure& departure : departures_) {
    if (departure.packets >= left) return std::min(next, departure.when);
    left -= departure.packets;
  }
  return next;
}

// Memory -----------------------------------------------------------------------------------------

void LoopbackPort::arm(const ArmReceive& receive) {
  const MemoryRegion buffer = device_.region(receive.buffer);
  LONGHAUL_CHECK(receive.offset + receive.bytes <= buffer.bytes);
  const size_t index = size_t{receive.generation} * kSlotsPerGeneration + receive.slot;
  const std::unique_lock lock(lock_of(index).mutex);
  mappings_[index] = {buffer.at(receive.offset), receive.bytes};
}

void LoopbackPort::release(SlotId slot) {
  const size_t index = size_t{slot.generation} * kSlotsPerGeneration + slot.slot;
  const std::unique_lock lock(lock_of(index).mutex);
  mappings_[index] = {};
}

// Receiving --------------------------------------------------------------------------------------

size_t LoopbackPort::poll_completions(uint8_t channel_number, Instant now,
                                      std::span<ReceiveCompletion> completions) {
  Channel& channel = *channels_[channel_number];
  auto& arriving = inbox_->channels[channel_number];
  // All that has arrived takes its receives, however few of them are asked for.
  while (true) {
    if (!channel.current) {
      channel.current = arriving.pop(now);
      channel.next_packet = 0;
      if (!channel.current) break;
    }
    const LoopbackRun& flight = *channel.current;
    while (channel.next_packet < flight.run.packet_count &&
           flight.arrival(channel.next_packet) <= now) {
      if ((flight.lost >> channel.next_packet & 1) == 0)
        arrive(channel, flight, channel.next_packet);
      ++channel.next_packet;
    }
    if (channel.next_packet < flight.run.packet_count) break;
    channel.current.reset();
  }
  const size_t count = std::min(completions.size(), channel.completions.size());
  const auto end = channel.completions.begin() + static_cast<ptrdiff_t>(count);
  std::copy(channel.completions.begin(), end, completions.begin());
  channel.completions.erase(channel.completions.begin(), end);
  return count;
}

void LoopbackPort::arrive(Channel& channel, const LoopbackRun& flight, uint32_t packet) {
  const auto generation =
      static_cast<size_t>(std::ranges::find(inbox_->keys, flight.key) - inbox_->keys.begin());
  if (generation == inbox_->keys.size()) {
    ++channel.wrong_key;
    return;
  }
  if (channel.posted[generation] == 0) {
    ++channel.queue_empty;
    inbox_->doorbells->progress().ring();
    return;
  }
  if (!land(channel, flight, packet, generation)) return;
  --channel.posted[generation];
  const WriteRun& run = flight.run;
  const uint32_t offset = run.first_packet + packet;
  ReceiveCompletion completion;
  completion.wr_id = generation;
  completion.status = kCompletionSuccess;
  completion.opcode = kReceiveWithImmediate;
  completion.byte_len =
      packet + 1 == run.packet_count ? run.last_packet_bytes : capabilities_.mtu_bytes;
  completion.imm_data = swap_network_order(
      Immediate{run.slot, offset, Immediate::fragment_of(run.user_immediate, offset)}.encode());
  channel.completions.push_back(completion);
}

/// False when there is no completion, because the NIC refuses the packet.
bool LoopbackPort::land(Channel& channel, const LoopbackRun& flight, uint32_t packet,
                        size_t generation) {
  const WriteRun& run = flight.run;
  const size_t index = generation * kSlotsPerGeneration + run.slot;
  const uint64_t mtu_bytes = capabilities_.mtu_bytes;
  const uint64_t bytes = packet + 1 == run.packet_count ? run.last_packet_bytes : mtu_bytes;
  const uint64_t offset = (uint64_t{run.first_packet} + packet) * mtu_bytes;
  const std::shared_lock lock(lock_of(index).mutex);
  const Mapping& mapping = mappings_[index];
  if (mapping.address == nullptr) {
    ++channel.fenced;
    return true;
  }
  if (offset + bytes > mapping.bytes) {
    ++channel.out_of_bounds;
    return false;
  }
  std::memcpy(mapping.address + offset, flight.payload.get() + packet * mtu_bytes, bytes);
  return true;
}

void LoopbackPort::repost(uint8_t channel, uint8_t generation, uint32_t count) {
  channels_[channel]->posted[generation] += count;
}

Instant LoopbackPort::next_arrival(uint8_t channel_number) {
  const Channel& channel = *channels_[channel_number];
  if (!channel.completions.empty()) return {};
  const Instant next = inbox_->channels[channel_number].earliest();
  return channel.current ? std::min(next, channel.current->arrival(channel.next_packet)) : next;
}

PortCounters LoopbackPort::counters() const {
  PortCounters sum;
  for (const auto& channel : channels_) {
    sum.fenced_packets += channel->fenced;
    sum.out_of_bounds_packets += channel->out_of_bounds;
    sum.wrong_key_packets += channel->wrong_key;
    sum.receive_queue_empty += channel->queue_empty;
  }
  return sum;
}

}  // namespace longhaul
