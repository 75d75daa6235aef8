#include "backends/runtime/port_backend.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace longhaul {

PortBackend::PortBackend(Device& device, Port& port, std::shared_ptr<Doorbells> doorbells,
                         const PortAttributes& attributes, uint32_t chunk_packets, bool served)
    : device_(device),
      port_(port),
      doorbells_(std::move(doorbells)),
      attributes_(attributes),
      chunk_packets_(chunk_packets),
      served_(served),
      // At least two workers: see ArrivalTable::publish_chunk.
      arrivals_(attributes.generations, chunk_packets, std::max<uint32_t>(2, attributes.channels),
                kNewsCapacity),
      buffer_of_(size_t{attributes.generations} * kSlotsPerGeneration),
      fenced_(buffer_of_.size()) {
  for (uint32_t c = 0; c < attributes.channels; ++c)
    channels_.push_back(std::make_unique<Channel>());
}

// Commands ---------------------------------------------------------------------------------------

size_t PortBackend::submit(Instant now, std::span<const Command> commands,
                           std::span<const std::byte> control_bytes) {
  size_t taken = 0;
  while (taken < commands.size() && submit_one(now, commands[taken], control_bytes)) ++taken;
  for (const Command& command : commands.subspan(taken)) {
    if (const auto* release = std::get_if<ReleaseReceive>(&command))
      fence({release->generation, release->slot});
  }
  return taken;
}

bool PortBackend::submit_one(Instant now, const Command& command,
                             std::span<const std::byte> control_bytes) {
  if (const auto* write = std::get_if<WriteRun>(&command)) return port_.post_write(now, *write);
  if (const auto* control = std::get_if<SendControl>(&command))
    return port_.send_control(now, control_bytes.subspan(control->offset, control->bytes));
  if (const auto* arm = std::get_if<ArmReceive>(&command)) {
    const SlotId slot{arm->generation, arm->slot};
    if (fenced_[index_of(slot)]) return true;
    // The bitmap first: what lands is then seen.
    if (!arrivals_.armed(slot)) arrivals_.arm(slot, arm->packets);
    port_.arm(*arm);
    const std::byte* const buffer = device_.region(arm->buffer).at(arm->offset);
    buffers_.emplace(buffer, *arm);
    buffer_of_[index_of(slot)] = buffer;
  } else if (const auto* release = std::get_if<ReleaseReceive>(&command)) {
    const SlotId slot{release->generation, release->slot};
    if (!fenced_[index_of(slot)]) fence(slot);
    fenced_[index_of(slot)] = false;
  }
  return true;
}

void PortBackend::fence(SlotId slot) {
  if (fenced_[index_of(slot)]) return;
  fenced_[index_of(slot)] = true;
  port_.release(slot);
  const std::byte*& buffer = buffer_of_[index_of(slot)];
  const auto [first, last] = buffers_.equal_range(buffer);
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    return SlotId{entry.second.generation, entry.second.slot} == slot;
  });
  if (found != last) buffers_.erase(found);
  buffer = nullptr;
  // What has been merged since, but not landed, is forgotten with the rest of the news.
  if (arrivals_.armed(slot)) arrivals_.release(slot);
}

void PortBackend::suspend(std::span<const std::byte> memory) {
  const std::byte* const end = memory.data() + memory.size();
  for (auto at = buffers_.lower_bound(memory.data());
       at != buffers_.end() && std::less<>()(at->first, end); ++at) {
    port_.release({at->second.generation, at->second.slot});
    suspended_.push_back(at->second);
  }
}

void PortBackend::resume(std::span<const Command> commands) {
  for (const ArmReceive& receive : suspended_) {
    const bool released = std::ranges::any_of(commands, [&](const Command& command) {
      const auto* release = std::get_if<ReleaseReceive>(&command);
      return release != nullptr && release->generation == receive.generation &&
             release->slot == receive.slot;
    });
    if (!released) port_.arm(receive);
  }
  suspended_.clear();
}

void PortBackend::publish_chunk(SlotId slot, uint32_t chunk) {
  arrivals_.publish_chunk(slot, chunk);
}

void PortBackend::repeat_chunks(Instant now, SlotId slot, const PacketBitmap& known) {
  const auto words = arrivals_.chunk_words(slot);
  for (uint64_t first = 0; first < known.packets(); first += chunk_packets_) {
    const uint64_t chunk = first / chunk_packets_;
    if ((load_chunk_word(words[chunk / 64]) >> chunk % 64 & 1) == 0) continue;
    const uint64_t end = std::min(first + chunk_packets_, known.packets());
    for (uint64_t at = known.next_clear(first); at < end;) {
      const uint64_t after = std::min(known.next_set(at), end);
      repeated_.emplace_back(PacketsArrived{0, slot.generation, slot.slot,
                                            static_cast<uint32_t>(at),
                                            static_cast<uint32_t>(after - at), 0, now, now});
      at = known.next_clear(after);
    }
  }
}

// Events -----------------------------------------------------------------------------------------

void PortBackend::poll(Instant now, EventBatch& events) {
  events.events.insert(events.events.end(), repeated_.begin(), repeated_.end());
  repeated_.clear();
  if (!served_) {
    for (uint8_t channel = 0; channel < attributes_.channels; ++channel) {
      // As much as there is room for news of; the rest comes when this has been drained.
      while (serve_channel(channel, now) == kBatch) drain(now, events);
    }
  }
  merged_seen_ = merged_.load(std::memory_order_seq_cst);
  const size_t first = events.events.size();
  port_.poll(now, events);
  for (const Event& event : std::span(events.events).subspan(first)) {
    if (const auto* completed = std::get_if<WritesCompleted>(&event))
      completed_[completed->channel] += completed->packet_count;
  }
  drain(now, events);
  if (const uint32_t errors = new_errors_.exchange(0); errors > 0)
    events.events.emplace_back(FaultRaised{FaultRaised::Kind::queue_pair_error, errors});
}

void PortBackend::drain(Instant now, EventBatch& events) {
  arrivals_.drain([&](const FreshPackets& fresh) {
    // A worker's clock may be ahead of this turn's.
    const Instant arrival = std::min(fresh.last_arrival, now);
    uint64_t bits = fresh.bits;
    uint32_t first = 0;
    while (bits != 0) {
      const auto skip = static_cast<uint32_t>(std::countr_zero(bits));
      bits >>= skip;
      first += skip;
      const auto count = static_cast<uint32_t>(std::countr_one(bits));
      events.events.emplace_back(PacketsArrived{fresh.channel, fresh.id.generation, fresh.id.slot,
                                                fresh.first_packet + first, count,
                                                fresh.user_immediate, arrival, arrival});
      if (count == 64) break;
      bits >>= count;
      first += count;
    }
  });
  if (!served_) return;
  for (uint8_t channel = 0; channel < attributes_.channels; ++channel) {
    if (channels_[channel]->stalled.exchange(false, std::memory_order_seq_cst))
      doorbells_->channel(channel).ring();
  }
}

Instant PortBackend::next_event(const Wakeup& wakeup) {
  Instant next = std::min(wakeup.deadline, port_.next_event(wakeup.completions));
  if (!served_) {
    // Receives must be posted again soon, whether the core waits for arrivals or not.
    for (uint8_t channel = 0; channel < attributes_.channels; ++channel)
      next = std::min(next, next_arrival(channel));
    return next;
  }
  // Whoever merges looks at due_at_ after it has counted, and we at the count after setting
  // due_at_: one of both notices.
  const uint64_t due_at = merged_seen_ + std::min(wakeup.arrivals, ~merged_seen_);
  due_at_.store(due_at, std::memory_order_seq_cst);
  return merged_.load(std::memory_order_seq_cst) >= due_at ? Instant{} : next;
}

// Channels ---------------------------------------------------------------------------------------

size_t PortBackend::serve_channel(uint8_t channel, Instant now) {
  Channel& own = *channels_[channel];
  if (own.begin == own.end) {
    own.begin = 0;
    own.end = port_.poll_completions(channel, now, own.completions);
    if (own.end == 0) return 0;
  }
  const size_t offered = own.end - own.begin;
  const size_t taken =
      arrivals_.merge(channel, now, std::span(own.completions).subspan(own.begin, offered));
  own.begin += taken;
  for (uint8_t generation = 0; generation < attributes_.generations; ++generation) {
    const uint32_t consumed = arrivals_.take_consumed(channel, generation);
    if (consumed != 0) port_.repost(channel, generation, consumed);
  }
  const uint64_t errors = arrivals_.counters(channel).error;
  const bool failed = errors > own.errors;
  if (failed) new_errors_ += static_cast<uint32_t>(errors - own.errors);
  own.errors = errors;
  if (!served_) return taken;
  const uint64_t before = merged_.fetch_add(taken, std::memory_order_seq_cst);
  const uint64_t due_at = due_at_.load(std::memory_order_seq_cst);
  const bool stalled = taken < offered;
  if (stalled) own.stalled.store(true, std::memory_order_seq_cst);
  if (stalled || failed || (before < due_at && before + taken >= due_at))
    doorbells_->progress().ring();
  return taken;
}

Instant PortBackend::next_arrival(uint8_t channel) {
  const Channel& own = *channels_[channel];
  if (own.begin == own.end) return port_.next_arrival(channel);
  // Whoever drains the news rings.
  return served_ && own.stalled.load(std::memory_order_seq_cst) ? Instant::never() : Instant{};
}

}  // namespace longhaul
