#include "sim/sim_backend.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/hash.h"

namespace longhaul::sim {

SimBackend::SimBackend(const Capabilities& capabilities, Link& outgoing, Link& incoming,
                       uint64_t key_seed)
    : capabilities_(capabilities), outgoing_(outgoing), incoming_(incoming) {
  for (uint64_t generation = 0; generation < kMaxGenerations; ++generation)
    root_keys_.push_back(mix64(key_seed, generation));
}

MemoryHandle SimBackend::register_memory(const MemoryRegion& region) {
  regions_.push_back(region);
  return static_cast<MemoryHandle>(regions_.size() - 1);
}

void SimBackend::deregister_memory(MemoryHandle handle) {
  regions_[static_cast<size_t>(handle)] = {};
}

const MemoryRegion* SimBackend::region(MemoryHandle handle) const {
  const auto index = static_cast<size_t>(handle);
  if (index >= regions_.size() || regions_[index].address == nullptr) return nullptr;
  return &regions_[index];
}

size_t SimBackend::submit(Instant now, std::span<const Command> commands,
                          std::span<const std::byte> control_bytes) {
  for (const Command& command : commands) {
    if (const auto* write = std::get_if<WriteRun>(&command)) {
      outgoing_.send_data(now, *write, peer_->root_keys_[write->generation]);
    } else if (const auto* control = std::get_if<SendControl>(&command)) {
      outgoing_.send_control(now, control_bytes.subspan(control->offset, control->bytes));
    } else if (const auto* arm = std::get_if<ArmReceive>(&command)) {
      const size_t index = size_t{arm->generation} * kSlotsPerGeneration + arm->slot;
      if (index >= mappings_.size()) mappings_.resize(index + 1);
      mappings_[index] = {true, true, *arm};
    } else if (const auto* release = std::get_if<ReleaseReceive>(&command)) {
      Mapping& mapping =
          mappings_[size_t{release->generation} * kSlotsPerGeneration + release->slot];
      mapping.armed = false;
      mapping.mapped = !capabilities_.late_write_fence;
    }
  }
  return commands.size();
}

void SimBackend::poll(Instant now, EventBatch& events) {
  std::array<uint32_t, kMaxChannels> completions{};
  outgoing_.take_completions(now, completions);
  for (size_t channel = 0; channel < completions.size(); ++channel) {
    if (completions[channel] > 0)
      events.events.emplace_back(
          WritesCompleted{static_cast<uint8_t>(channel), completions[channel]});
  }
  InFlightControl control;
  while (incoming_.take_control(now, control)) {
    const size_t offset = events.control_bytes.size();
    events.control_bytes.insert(events.control_bytes.end(), control.bytes.begin(),
                                control.bytes.end());
    events.events.emplace_back(
        ControlArrived{static_cast<uint32_t>(offset), static_cast<uint32_t>(control.bytes.size())});
    for (const std::byte byte : control.bytes)
      digest_ = (digest_ ^ std::to_integer<uint64_t>(byte)) * kGoldenGamma;
    digest_ = mix64(digest_, static_cast<uint64_t>(control.arrival.ps));
  }
  InFlightRun arrived;
  while (incoming_.take_arrival(now, arrived)) {
    const WriteRun& run = arrived.run;
    land(arrived);
    events.events.emplace_back(PacketsArrived{
        run.channel, run.generation, run.slot, run.first_packet, run.packet_count,
        run.user_immediate, arrived.arrival(0), arrived.arrival(run.packet_count - 1)});
    digest_ = mix64(
        digest_ ^ (uint64_t{run.slot} << 48 | uint64_t{run.first_packet} << 24 | run.packet_count),
        static_cast<uint64_t>(arrived.first_arrival.ps));
  }
}

void SimBackend::land(const InFlightRun& flight) {
  const WriteRun& run = flight.run;
  const auto generation =
      static_cast<size_t>(std::ranges::find(root_keys_, flight.key) - root_keys_.begin());
  const size_t index = generation * kSlotsPerGeneration + run.slot;
  if (generation == root_keys_.size()) {
    memory_counters_.wrong_key_packets += run.packet_count;
    return;
  }
  if (index >= mappings_.size() || !mappings_[index].mapped) {
    memory_counters_.fenced_packets += run.packet_count;
    return;
  }
  const Mapping& mapping = mappings_[index];
  const MemoryRegion* source = peer_->region(run.source);
  const MemoryRegion* buffer = region(mapping.receive.buffer);
  const uint64_t offset = uint64_t{run.first_packet} * capabilities_.mtu_bytes;
  const uint64_t bytes =
      uint64_t{run.packet_count - 1} * capabilities_.mtu_bytes + run.last_packet_bytes;
  if (source == nullptr || buffer == nullptr || offset + bytes > mapping.receive.bytes) {
    memory_counters_.out_of_bounds_packets += run.packet_count;
    return;
  }
  (mapping.armed ? memory_counters_.landed_packets : memory_counters_.late_landed_packets) +=
      run.packet_count;
  std::memcpy(buffer->at(mapping.receive.offset + offset), source->at(run.source_offset),
              source->stored_bytes(bytes));
}

Instant SimBackend::next_event(const Wakeup& wakeup) {
  Instant next = std::min(wakeup.deadline, incoming_.next_control_arrival());
  if (wakeup.completions != ~uint64_t{0})
    next = std::min(next, outgoing_.completion_time(wakeup.completions));
  if (wakeup.arrivals != ~uint64_t{0})
    next = std::min(next, incoming_.arrival_time(wakeup.arrivals, next));
  return next;
}

}  // namespace longhaul::sim
