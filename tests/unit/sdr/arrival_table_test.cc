#include "core/sdr/arrival_table.h"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include "core/base/rng.h"
#include "tests/catch.h"
#include "tests/support/arrivals.h"

namespace longhaul {
namespace {

using test::arrival;
using test::chunk_published;
using test::published;

size_t merge_all(ArrivalTable& table, uint32_t worker,
                 const std::vector<ReceiveCompletion>& completions) {
  return table.merge(worker, {}, completions);
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

}  // namespace
}  // namespace longhaul
