#include <algorithm>
#include <numeric>

#include "core/base/rng.h"
#include "core/sdr/receive_bitmap.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

TEST_CASE("the packet bitmap agrees with a plain one under any ranges") {
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const uint64_t packets = rng.between(1, 400);
    PacketBitmap bitmap(packets);
    std::vector<bool> plain(packets);
    for (int step = 0; step < 30; ++step) {
      const uint64_t first = rng.below(packets);
      const uint64_t count = rng.between(1, packets - first);
      uint64_t fresh = 0;
      std::vector<bool> before = plain;
      const uint64_t added = bitmap.set(first, count, [&](uint64_t at, uint64_t run) {
        for (uint64_t p = at; p < at + run; ++p) REQUIRE(!before[p]);
        fresh += run;
      });
      const auto from = plain.begin() + static_cast<std::ptrdiff_t>(first);
      REQUIRE(added == static_cast<uint64_t>(
                           std::count(from, from + static_cast<std::ptrdiff_t>(count), false)));
      REQUIRE(fresh == added);
      std::fill(from, from + static_cast<std::ptrdiff_t>(count), true);
      REQUIRE(bitmap.count() ==
              static_cast<uint64_t>(std::count(plain.begin(), plain.end(), true)));
      const uint64_t probe = rng.below(packets);
      const auto at = plain.begin() + static_cast<std::ptrdiff_t>(probe);
      REQUIRE(bitmap.next_clear(probe) ==
              static_cast<uint64_t>(std::find(at, plain.end(), false) - plain.begin()));
      REQUIRE(bitmap.next_set(probe) ==
              static_cast<uint64_t>(std::find(at, plain.end(), true) - plain.begin()));
      REQUIRE(bitmap.all_set(first, count));
    }
  }
}

TEST_CASE(
    "a chunk is published when, and only when, its last packet is in; duplicates count once") {
  Rng rng(2);
  for (const uint32_t chunk_packets : {1u, 3u, 4u, 16u, 64u, 100u}) {
    const uint64_t packets = 333;  // the last chunk is short
    ReceiveBitmap bitmap(packets, chunk_packets);
    std::vector<uint64_t> order(packets * 2);
    for (uint64_t i = 0; i < order.size(); ++i) order[i] = i % packets;  // every packet twice
    for (uint64_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    std::vector<bool> seen(packets);
    uint64_t fresh = 0;
    for (const uint64_t packet : order) {
      fresh += bitmap.arrived(packet, 1, [](uint64_t, uint64_t) {});
      seen[packet] = true;
      const uint64_t chunk = packet / chunk_packets;
      const auto begin = seen.begin() + static_cast<std::ptrdiff_t>(chunk * chunk_packets);
      const auto end = seen.begin() +
                       static_cast<std::ptrdiff_t>(std::min(packets, (chunk + 1) * chunk_packets));
      REQUIRE(bitmap.chunk_complete(chunk) == std::all_of(begin, end, [](bool s) { return s; }));
    }
    REQUIRE(fresh == packets);
    REQUIRE(bitmap.packets().full());
    REQUIRE(bitmap.chunks_complete() == bitmap.chunks());
  }
}

TEST_CASE("decoding publishes chunks but invents no arrivals") {
  ReceiveBitmap bitmap(40, 16);
  bitmap.arrived(0, 10, [](uint64_t, uint64_t) {});
  bitmap.publish_all();
  REQUIRE(bitmap.chunks_complete() == 3);
  REQUIRE(bitmap.packets().count() == 10);
}

}  // namespace
}  // namespace longhaul
