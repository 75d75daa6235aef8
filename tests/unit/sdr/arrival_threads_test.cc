/// The arrival table under threads; meant to be run under TSan too.

#include <algorithm>
#include <atomic>
#include <bit>
#include <thread>
#include <vector>

#include "core/base/rng.h"
#include "core/sdr/arrival_table.h"
#include "tests/catch.h"
#include "tests/support/arrivals.h"

namespace longhaul {
namespace {

using test::arrival;
using test::chunk_published;
using test::published;

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

/// Packets of all messages dealt to workers, one by one or word by word, each written to before it
/// is merged.
struct SharedPayload {
  explicit SharedPayload(uint32_t round) : value(round + 1), bytes(kSlots * kPackets) {}

  void write_and_merge(ArrivalTable& table, uint32_t worker, bool by_word) {
    std::vector<ReceiveCompletion> batch;
    for (uint32_t i = 0; i < bytes.size(); ++i) {
      const uint32_t turn = by_word ? i / kPackets + i % kPackets / 64 : i;
      if (turn % kWorkers != worker) continue;
      bytes[i] = value;
      batch.push_back(arrival(slot_at(i / kPackets), i % kPackets));
      if (i % 5 == 0) batch.push_back(batch.back());
      if (batch.size() >= 50) merge(table, worker, batch);
    }
    merge(table, worker, batch);
  }

  static void merge(ArrivalTable& table, uint32_t worker, std::vector<ReceiveCompletion>& batch) {
    for (std::span<const ReceiveCompletion> rest(batch); !rest.empty();) {
      rest = rest.subspan(table.merge(worker, {}, rest));
      if (!rest.empty()) std::this_thread::yield();
    }
    batch.clear();
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
        workers.emplace_back(
            [&, worker] { payload.write_and_merge(table, worker, round % 2 == 1); });
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
