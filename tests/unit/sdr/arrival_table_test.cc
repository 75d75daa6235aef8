#include "core/sdr/arrival_table.h"

#include <algorithm>
#include <bit>
#include <map>
#include <thread>
#include <vector>

#include "core/base/rng.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

ReceiveCompletion arrival(SlotId id, uint32_t packet, uint32_t user_immediate = 0) {
  ReceiveCompletion completion;
  completion.wr_id = id.generation;
  completion.opcode = kReceiveWithImmediate;
  completion.imm_data = swap_network_order(
      Immediate{id.slot, packet, Immediate::fragment_of(user_immediate, packet)}.encode());
  return completion;
}

size_t merge_all(ArrivalTable& table, uint32_t worker,
                 const std::vector<ReceiveCompletion>& completions) {
  return table.merge(worker, {}, completions);
}

bool chunk_published(const ArrivalTable& table, SlotId id, uint32_t chunk) {
  return load_chunk_word(table.chunk_words(id)[chunk / 64]) >> chunk % 64 & 1;
}

uint64_t published(const ArrivalTable& table, SlotId id) {
  uint64_t count = 0;
  for (const uint64_t& word : table.chunk_words(id))
    count += static_cast<uint64_t>(std::popcount(load_chunk_word(word)));
  return count;
}

/// One message as a plain array of flags, and the news about it.
struct PlainMessage {
  std::vector<bool> arrived;
  std::vector<bool> told;
  uint32_t user_immediate = 0;
};

class Plain {
 public:
  Plain(uint32_t generations, uint32_t chunk_packets)
      : table(generations, chunk_packets, 1, 64),
        consumed(generations),
        chunk_packets_(chunk_packets) {}

  void arm(SlotId id, uint32_t packets, uint32_t user_immediate) {
    table.arm(id, packets);
    messages[key(id)] = {std::vector<bool>(packets), std::vector<bool>(packets), user_immediate};
  }
  void release(SlotId id) {
    table.release(id);
    messages.erase(key(id));
  }

  void take(const ReceiveCompletion& completion) {
    if (completion.wr_id >= consumed.size()) {
      ++expected.unknown_generation;
      return;
    }
    ++consumed[completion.wr_id];
    const auto immediate = Immediate::decode(swap_network_order(completion.imm_data));
    const auto found = messages.find({completion.wr_id, immediate.slot});
    if (completion.status != 0) {
      ++expected.error;
    } else if (completion.opcode != kReceiveWithImmediate) {
      ++expected.unexpected;
    } else if (found == messages.end()) {
      ++expected.late;
    } else if (immediate.offset >= found->second.arrived.size()) {
      ++expected.beyond_message;
    } else if (found->second.arrived[immediate.offset]) {
      ++expected.duplicate;
    } else {
      ++expected.fresh;
      found->second.arrived[immediate.offset] = true;
    }
  }

  void hear(const FreshPackets& fresh) {
    REQUIRE(messages.count(key(fresh.id)) == 1);
    PlainMessage& message = messages[key(fresh.id)];
    for (uint32_t bit = 0; bit < 64; ++bit) {
      if ((fresh.bits >> bit & 1) == 0) continue;
      const uint32_t packet = fresh.first_packet + bit;
      REQUIRE(message.arrived.at(packet));
      REQUIRE(!message.told[packet]);
      message.told[packet] = true;
      REQUIRE((fresh.user_immediate >> Immediate::shift_of(packet) & 15) ==
              Immediate::fragment_of(message.user_immediate, packet));
    }
  }

  void compare() {
    REQUIRE(table.counters() == expected);
    for (const auto& [id, message] : messages) {
      REQUIRE(message.told == message.arrived);
      const SlotId slot{static_cast<uint8_t>(id.first), static_cast<uint16_t>(id.second)};
      const size_t packets = message.arrived.size();
      uint64_t complete = 0;
      for (uint64_t begin = 0; begin < packets; begin += chunk_packets_) {
        const uint64_t end = std::min<uint64_t>(packets, begin + chunk_packets_);
        bool all = true;
        for (uint64_t packet = begin; packet < end; ++packet) all &= message.arrived[packet];
        REQUIRE(chunk_published(table, slot, static_cast<uint32_t>(begin / chunk_packets_)) == all);
        complete += all;
      }
      REQUIRE(published(table, slot) == complete);
    }
  }

  ArrivalTable table;
  std::vector<uint32_t> consumed;
  std::map<std::pair<uint64_t, uint32_t>, PlainMessage> messages;
  ArrivalCounters expected;

 private:
  static std::pair<uint64_t, uint32_t> key(SlotId id) { return {id.generation, id.slot}; }
  uint32_t chunk_packets_;
};

/// Completions for some slots: near each other or not, repeated, and now and then hostile.
std::vector<ReceiveCompletion> random_batch(Rng& rng, const std::vector<SlotId>& slots,
                                            const Plain& plain) {
  std::vector<ReceiveCompletion> batch;
  while (batch.size() < 200) {
    const SlotId id = slots[rng.below(slots.size())];
    const auto found = plain.messages.find({id.generation, id.slot});
    const bool armed = found != plain.messages.end();
    const uint32_t packets = armed ? static_cast<uint32_t>(found->second.arrived.size()) : 300;
    const uint32_t user_immediate = armed ? found->second.user_immediate : 0;
    const auto first = static_cast<uint32_t>(rng.below(packets + 2));
    const auto run = static_cast<uint32_t>(rng.between(1, 40));
    for (uint32_t packet = first; packet < first + run && packet < packets + 3; ++packet)
      batch.push_back(arrival(id, packet % kMaxMessagePackets, user_immediate));
    auto& last = batch.back();
    switch (rng.below(20)) {
      case 0:
        last.status = static_cast<uint32_t>(rng.between(1, 22));
        break;
      case 1:
        last.opcode = 128;
        break;
      case 2:
        last.wr_id = rng.next() | 16;
        break;
      default:
        break;
    }
  }
  return batch;
}

TEST_CASE("the table agrees with a plain one in any order, with duplicates and hostile values") {
  Rng rng(1);
  for (const uint32_t chunk_packets : {1u, 2u, 3u, 4u, 16u, 64u, 100u, 128u, kMaxMessagePackets}) {
    for (int round = 0; round < 150; ++round) {
      const auto generations = static_cast<uint32_t>(rng.between(1, 16));
      Plain plain(generations, chunk_packets);
      std::vector<SlotId> slots;
      for (int i = 0; i < 5; ++i)
        slots.push_back({static_cast<uint8_t>(rng.below(generations)),
                         static_cast<uint16_t>(i == 0 ? 1023 : 10 * i)});
      for (const SlotId id : slots)
        if (rng.below(5) != 0)
          plain.arm(id, static_cast<uint32_t>(rng.below(400)), static_cast<uint32_t>(rng.next()));
      std::vector<uint32_t> posted(generations);
      for (int step = 0; step < 6; ++step) {
        const auto batch = random_batch(rng, slots, plain);
        for (std::span<const ReceiveCompletion> rest(batch); !rest.empty();) {
          const size_t taken = plain.table.merge(
              0, {}, rest.first(std::min<size_t>(rest.size(), rng.between(1, 150))));
          for (const auto& completion : rest.first(taken)) plain.take(completion);
          rest = rest.subspan(taken);
          plain.table.drain([&](const FreshPackets& fresh) { plain.hear(fresh); });
        }
        for (uint32_t i = 0; i < generations; ++i) posted[i] += plain.table.take_consumed(0, i);
        plain.compare();
        const SlotId id = slots[rng.below(slots.size())];
        if (plain.table.armed(id)) plain.release(id);
        if (rng.below(2) == 0)
          plain.arm(id, static_cast<uint32_t>(rng.below(400)), static_cast<uint32_t>(rng.next()));
      }
      REQUIRE(posted == plain.consumed);
    }
  }
}

TEST_CASE("the longest message with the longest chunk is published by its last packet") {
  ArrivalTable table(1, kMaxMessagePackets, 1);
  table.arm({0, 5}, kMaxMessagePackets);
  std::vector<ReceiveCompletion> batch;
  uint64_t fresh = 0;
  for (uint32_t packet = kMaxMessagePackets; packet-- > 0;) {
    batch.push_back(arrival({0, 5}, packet));
    if (batch.size() < 4096) continue;
    REQUIRE(published(table, {0, 5}) == 0);
    REQUIRE(merge_all(table, 0, batch) == batch.size());
    batch.clear();
    table.drain([&](const FreshPackets& news) {
      fresh += static_cast<uint64_t>(std::popcount(news.bits));
    });
  }
  REQUIRE(fresh == kMaxMessagePackets);
  REQUIRE(published(table, {0, 5}) == 1);
}

TEST_CASE("two workers fill chunks that lie across words; news names the worker and the instant") {
  for (const uint32_t chunk_packets : {100u, 128u, 48u}) {
    ArrivalTable table(2, chunk_packets, 2);
    const SlotId id{1, 7};
    table.arm(id, 130);
    std::vector<ReceiveCompletion> even;
    std::vector<ReceiveCompletion> odd;
    for (uint32_t packet = 0; packet < 130; packet += 2) {
      even.push_back(arrival(id, packet));
      odd.push_back(arrival(id, packet + 1));
    }
    table.merge(0, {10}, even);
    REQUIRE(published(table, id) == 0);
    const auto last = odd.back();
    odd.pop_back();
    table.merge(1, {11}, odd);
    REQUIRE(published(table, id) == 130 / chunk_packets);
    const uint32_t last_chunk = 129 / chunk_packets;
    REQUIRE_FALSE(chunk_published(table, id, last_chunk));
    table.merge(1, {12}, {&last, 1});
    REQUIRE(chunk_published(table, id, last_chunk));
    std::vector<FreshPackets> news;
    table.drain([&](const FreshPackets& fresh) { news.push_back(fresh); });
    REQUIRE(news.size() == 6);
    REQUIRE((news[0].channel == 0 && news[0].last_arrival == Instant{10}));
    REQUIRE((news[5].channel == 1 && news[5].last_arrival == Instant{12}));
    REQUIRE((news[5].first_packet == 128 && news[5].bits == 2));
  }
}

TEST_CASE("with no room for news a prefix is taken, and nothing is lost") {
  ArrivalTable table(1, 4, 1, 8);
  table.arm({0, 0}, 6400);
  std::vector<ReceiveCompletion> batch;
  for (uint32_t i = 0; i < 20; ++i) {  // two packets of each of 20 words
    batch.push_back(arrival({0, 0}, i * 64));
    batch.push_back(arrival({0, 0}, i * 64 + 1));
  }
  REQUIRE(merge_all(table, 0, batch) >= 8);
  REQUIRE(merge_all(table, 0, batch) == 0);  // still full
  const uint64_t before = table.counters().fresh;
  REQUIRE(table.take_consumed(0, 0) == before);
  uint64_t told = 0;
  size_t taken = before;
  while (taken < batch.size()) {
    const size_t news = table.drain([&](const FreshPackets& fresh) {
      told += static_cast<uint64_t>(std::popcount(fresh.bits));
    });
    REQUIRE(news <= 8);
    taken += table.merge(0, {}, std::span(batch).subspan(taken));
  }
  table.drain(
      [&](const FreshPackets& fresh) { told += static_cast<uint64_t>(std::popcount(fresh.bits)); });
  REQUIRE(told == 40);
  REQUIRE(table.counters().fresh == 40);
  REQUIRE(table.counters().duplicate == 0);
  REQUIRE(table.take_consumed(0, 0) == 40 - before);
  REQUIRE(table.take_consumed(0, 0) == 0);
}

TEST_CASE("news of a released slot is dropped, and the slot's next message starts clean") {
  ArrivalTable table(1, 1, 1);
  const SlotId id{0, 3};
  table.arm(id, 100);
  merge_all(table, 0, {arrival(id, 0), arrival(id, 99)});
  REQUIRE(published(table, id) == 2);
  table.release(id);
  merge_all(table, 0, {arrival(id, 1)});
  REQUIRE(table.counters().late == 1);
  table.arm(id, 100);
  REQUIRE(published(table, id) == 0);
  merge_all(table, 0, {arrival(id, 0)});
  std::vector<FreshPackets> news;
  REQUIRE(table.drain([&](const FreshPackets& fresh) { news.push_back(fresh); }) == 1);
  REQUIRE((news[0].first_packet == 0 && news[0].bits == 1));
  REQUIRE(table.counters().duplicate == 0);
}

TEST_CASE("what is heard of may be released and armed on the spot") {
  ArrivalTable table(1, 1, 1);
  table.arm({0, 1}, 1);
  table.arm({0, 2}, 1);
  merge_all(table, 0, {arrival({0, 1}, 0), arrival({0, 2}, 0)});
  std::vector<uint16_t> heard;
  table.drain([&](const FreshPackets& fresh) {
    heard.push_back(fresh.id.slot);
    if (table.armed({0, 2})) table.release({0, 2});
    table.arm({0, 2}, 1);
  });
  REQUIRE(heard == std::vector<uint16_t>{1});
}

TEST_CASE("a message of no packets has no chunks, and every packet is beyond it") {
  ArrivalTable table(1, 3, 1);
  table.arm({0, 0}, 0);
  REQUIRE(table.chunk_words({0, 0}).empty());
  merge_all(table, 0, {arrival({0, 0}, 0), arrival({0, 0}, kMaxMessagePackets - 1)});
  REQUIRE(table.counters().beyond_message == 2);
  table.release({0, 0});
}

TEST_CASE("memory is re-used only when no worker can hold it any more") {
  WorkerPresence first;
  WorkerPresence second;
  ArrivalMemory memory({&first, &second});
  const auto held = memory.allocate(100);
  first.enter();
  memory.retire(held);
  const auto other = memory.allocate(100);
  REQUIRE(other.bytes != held.bytes);  // the first worker may have seen it
  second.enter();
  REQUIRE(memory.allocate(100).bytes != held.bytes);
  first.leave();
  first.enter();  // a later batch cannot have seen it
  REQUIRE(memory.allocate(100).bytes == held.bytes);
  REQUIRE(memory.allocate(100).bytes != other.bytes);
}

/// Concurrency ------------------------------------------------------------------------------------

constexpr uint32_t kWorkers = 8;
constexpr uint32_t kSlots = 24;
constexpr uint32_t kPackets = 333;

SlotId slot_at(uint32_t i) { return {static_cast<uint8_t>(i % 2), static_cast<uint16_t>(i)}; }

/// Every worker delivers most packets of every message in an order of its own, so that packets come
/// several times and at the same time, and goes on after the owner has released and armed again.
void deliver(ArrivalTable& table, uint32_t worker, std::atomic<uint64_t>& consumed, int rounds) {
  Rng rng = Rng(7).fork(worker);
  uint64_t posted = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<ReceiveCompletion> batch;
    for (uint32_t i = 0; i < 64; ++i) {
      const SlotId id = slot_at(static_cast<uint32_t>(rng.below(kSlots)));
      const auto first = static_cast<uint32_t>(rng.below(kPackets));
      const auto run = static_cast<uint32_t>(rng.between(1, 30));
      for (uint32_t packet = first; packet < std::min(first + run, kPackets); ++packet)
        batch.push_back(arrival(id, packet, id.slot));
    }
    for (std::span<const ReceiveCompletion> rest(batch); !rest.empty();) {
      const size_t taken = table.merge(worker, {}, rest.first(std::min<size_t>(rest.size(), 64)));
      for (uint32_t i = 0; i < 2; ++i) posted += table.take_consumed(worker, i);
      if (taken == 0) std::this_thread::yield();
      rest = rest.subspan(taken);
    }
  }
  consumed += posted;
}

/// The owner's view of messages: what it heard since it armed them.
class ConcurrentOwner {
 public:
  explicit ConcurrentOwner(uint32_t chunk_packets)
      : table(2, chunk_packets, kWorkers, 256),
        told_(kSlots, std::vector<bool>(kPackets)),
        chunk_packets_(chunk_packets) {
    for (uint32_t i = 0; i < kSlots; ++i) table.arm(slot_at(i), kPackets);
  }

  void turn(Rng& rng) {
    drain();
    const auto i = static_cast<uint32_t>(rng.below(kSlots));
    if (rng.below(4) != 0) return;
    table.release(slot_at(i));
    table.arm(slot_at(i), kPackets);
    told_[i].assign(kPackets, false);
  }

  void drain() {
    table.drain([this](const FreshPackets& fresh) {
      for (uint64_t bits = fresh.bits; bits != 0; bits &= bits - 1) {
        const uint32_t packet = fresh.first_packet + static_cast<uint32_t>(std::countr_zero(bits));
        if (packet >= kPackets || told_[fresh.id.slot][packet]) {
          ++wrong;
        } else {
          told_[fresh.id.slot][packet] = true;
        }
      }
    });
  }

  /// Once workers are quiet and all news is drained, those chunks are published whose packets have
  /// all been told, so no bit of another arming or another message has been set.
  void compare() {
    for (uint32_t i = 0; i < kSlots; ++i) {
      for (uint32_t begin = 0; begin < kPackets; begin += chunk_packets_) {
        const uint32_t end = std::min(kPackets, begin + chunk_packets_);
        bool all = true;
        for (uint32_t packet = begin; packet < end; ++packet) all &= told_[i][packet];
        REQUIRE(chunk_published(table, slot_at(i), begin / chunk_packets_) == all);
      }
    }
  }

  ArrivalTable table;
  uint64_t wrong = 0;

 private:
  std::vector<std::vector<bool>> told_;
  uint32_t chunk_packets_;
};

TEST_CASE("eight workers merge the same packets while the owner releases and arms: told once") {
  for (const uint32_t chunk_packets : {1u, 4u, 100u}) {
    ConcurrentOwner owner(chunk_packets);
    std::atomic<uint64_t> consumed = 0;
    std::atomic<uint32_t> running = kWorkers;
    std::vector<std::thread> workers;
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&, worker] {
        deliver(owner.table, worker, consumed, 30);
        --running;
      });
    }
    Rng rng(8);
    while (running != 0) owner.turn(rng);
    for (auto& worker : workers) worker.join();
    owner.drain();
    REQUIRE(owner.wrong == 0);
    owner.compare();
    const ArrivalCounters sum = owner.table.counters();
    REQUIRE(sum.fresh + sum.duplicate + sum.late == consumed);
    REQUIRE(sum.fresh > 0);
    REQUIRE(sum.duplicate > 0);
    REQUIRE(sum.beyond_message + sum.error + sum.unexpected + sum.unknown_generation == 0);
  }
}

/// Packets of all messages dealt to workers one by one, each written to before it is merged.
struct SharedPayload {
  explicit SharedPayload(uint32_t round) : value(round + 1), bytes(kSlots * kPackets) {}

  void write_and_merge(ArrivalTable& table, uint32_t worker) {
    std::vector<ReceiveCompletion> batch;
    for (uint32_t i = worker; i < bytes.size(); i += kWorkers) {
      bytes[i] = value;
      batch.push_back(arrival(slot_at(i / kPackets), i % kPackets));
      if (i % 5 == 0) batch.push_back(batch.back());
      if (batch.size() < 50 && i + kWorkers < bytes.size()) continue;
      for (std::span<const ReceiveCompletion> rest(batch); !rest.empty();) {
        rest = rest.subspan(table.merge(worker, {}, rest));
        if (!rest.empty()) std::this_thread::yield();
      }
      batch.clear();
    }
  }

  /// Plain reads: a bit that was published early, or without order of memory, is a data race.
  bool published_implies_written(const ArrivalTable& table, uint32_t slot, uint32_t chunk_packets) {
    bool good = true;
    for (uint32_t packet = 0; packet < kPackets; ++packet)
      if (chunk_published(table, slot_at(slot), packet / chunk_packets))
        good &= bytes[slot * kPackets + packet] == value;
    return good;
  }

  uint32_t value;
  std::vector<uint32_t> bytes;
};

TEST_CASE("eight workers fill every chunk together: a published bit implies all its packets") {
  for (const uint32_t chunk_packets : {1u, 16u, 64u, 100u}) {
    ArrivalTable table(2, chunk_packets, kWorkers, 256);
    for (uint32_t round = 0; round < 4; ++round) {
      SharedPayload payload(round);
      for (uint32_t i = 0; i < kSlots; ++i) table.arm(slot_at(i), kPackets);
      std::vector<std::thread> workers;
      for (uint32_t worker = 0; worker < kWorkers; ++worker)
        workers.emplace_back([&, worker] { payload.write_and_merge(table, worker); });
      uint64_t told = 0;
      bool good = true;
      for (uint32_t i = 0; told < uint64_t{kSlots} * kPackets; i = (i + 1) % kSlots) {
        good &= payload.published_implies_written(table, i, chunk_packets);
        table.drain([&](const FreshPackets& fresh) {
          told += static_cast<uint64_t>(std::popcount(fresh.bits));
        });
      }
      for (auto& worker : workers) worker.join();
      REQUIRE(good);
      for (uint32_t i = 0; i < kSlots; ++i) {
        REQUIRE(published(table, slot_at(i)) == (kPackets + chunk_packets - 1) / chunk_packets);
        table.release(slot_at(i));
      }
      REQUIRE(table.counters().fresh == (round + 1) * uint64_t{kSlots} * kPackets);
    }
  }
}

}  // namespace
}  // namespace longhaul
