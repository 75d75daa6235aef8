/// Packets that arrive one generation and four generations late, with and without each protection.
/// What is compared is memory: of the user, who owns the buffer again, and of the next message.

#include <algorithm>
#include <vector>

#include "sim/host_pair.h"
#include "sim/payload.h"
#include "tests/catch.h"

namespace longhaul::sim {
namespace {

constexpr uint32_t kMtu = 1024;
constexpr uint64_t kPackets = 8;
constexpr uint64_t kLatePacket = 3;
constexpr Duration kLateBy = Duration::seconds(2);
constexpr std::byte kUsers{0xee};  ///< what the user keeps in the first buffer afterwards
constexpr std::byte kFresh{0xbb};  ///< what the second buffer holds before anything arrives

struct Protection {
  uint8_t generations = 4;
  bool quarantine = true;
  bool fence = true;
};

/// Message A loses patience with its packet 3 and completes; then so many messages pass that A's
/// slot number comes up again, `rounds` times 1024 messages later, for message B, whose own packet
/// 3 is never sent; then A's packet 3 arrives.
class LatePacket {
 public:
  explicit LatePacket(const Protection& protection)
      : hosts_(path(), attributes(protection), capabilities(protection), Rng(1)) {
    for (const auto memory : {&source_a_, &source_b_, &buffer_a_, &buffer_b_, &filler_})
      memory->resize(kPackets * kMtu);
    fill_payload(source_a_, 1);
    fill_payload(source_b_, 2);
    std::ranges::fill(buffer_b_, kFresh);
  }

  void run(int rounds) {
    const uint64_t a = post(buffer_a_);
    send(source_a_, 0, kPackets);
    while (receiver().recv_message(a).bitmap().packets().count() < kPackets - 1) step();
    complete(a);
    std::ranges::fill(buffer_a_, kUsers);
    pass_messages(rounds * int{kSlotsPerGeneration} - 1);
    const uint64_t b = post(buffer_b_);
    b_posted_ = hosts_.now();
    b_slot_ = receiver().recv_message(b).slot();
    const uint64_t send_b = send(source_b_, 0, kLatePacket);
    sender().send_continue(hosts_.now(), send_b, kLatePacket + 1, kPackets - kLatePacket - 1);
    while (receiver().recv_message(b).bitmap().packets().count() < kPackets - 1) step();
    hosts_.run_until(late_arrival());
    b_has_late_packet_ = receiver().recv_message(b).bitmap().packets().test(kLatePacket);
  }

  /// The buffer that the user got back.
  bool users_memory_intact() const {
    return std::ranges::all_of(buffer_a_, [](std::byte b) { return b == kUsers; });
  }
  /// The place of B's packet 3, which was never sent, holds nothing of A.
  bool next_memory_intact() const {
    return std::ranges::all_of(late_part(buffer_b_), [](std::byte b) { return b == kFresh; });
  }
  bool next_memory_holds_late_packet() const {
    return std::ranges::equal(late_part(buffer_b_), late_part(source_a_));
  }
  bool users_memory_holds_late_packet() const {
    return std::ranges::equal(late_part(buffer_a_), late_part(source_a_));
  }
  bool bitmap_intact() const { return !b_has_late_packet_; }
  SlotId next_slot() const { return b_slot_; }
  bool armed_before_late_arrival() const { return b_posted_ < late_arrival(); }
  uint64_t late_packets() const { return hosts_.receiver.queue_pair.counters().late_packets; }

 private:
  static PathSpec path() {
    PathSpec path;
    path.mtu_bytes = kMtu;
    path.propagation = Duration::microseconds(10);
    path.disorder.late_packets[kLatePacket] = kLateBy;
    return path;
  }
  static QueuePairAttributes attributes(const Protection& protection) {
    QueuePairAttributes attributes;
    attributes.connection = 7;
    attributes.generations = protection.generations;
    attributes.channels = 1;
    attributes.chunk_packets = 1;
    attributes.round_trip = Duration::microseconds(20);
    attributes.reordering = protection.quarantine ? kLateBy : Duration{};
    if (!protection.quarantine) attributes.quarantine = Duration{};
    return attributes;
  }
  static Capabilities capabilities(const Protection& protection) {
    Capabilities capabilities = capabilities_of(path(), 16);
    capabilities.late_write_fence = protection.fence;
    return capabilities;
  }
  static std::span<const std::byte> late_part(const std::vector<std::byte>& memory) {
    return std::span(memory).subspan(kLatePacket * kMtu, kMtu);
  }
  static Instant late_arrival() {
    return Instant{} + kLateBy + Duration::microseconds(25);  // A came a round trip after its post
  }

  QueuePair& sender() { return hosts_.sender.queue_pair; }
  QueuePair& receiver() { return hosts_.receiver.queue_pair; }
  void step() { REQUIRE(hosts_.step()); }

  MemorySlice slice(Host& host, std::vector<std::byte>& memory) {
    const MemoryRegion region{memory.data(), memory.size(), kMtu, kMtu};
    return {host.backend.register_memory(region), region, 0, memory.size()};
  }
  uint64_t post(std::vector<std::byte>& buffer) {
    const MemorySlice memory = slice(hosts_.receiver, buffer);
    while (true) {
      if (const auto id = receiver().recv_post(hosts_.now(), memory)) return *id;
      // Nothing happens until a slot may be armed again.
      if (!hosts_.step()) hosts_.run_until(receiver().slots().next_free());
    }
  }
  uint64_t send(std::vector<std::byte>& source, uint64_t first, uint64_t count) {
    const uint64_t id = sender().send_start(hosts_.now(), slice(hosts_.sender, source), 0);
    sender().send_continue(hosts_.now(), id, first, count);
    return id;
  }
  void complete(uint64_t id) { receiver().recv_complete(hosts_.now(), id); }

  void pass_messages(int count) {
    for (int i = 0; i < count; ++i) {
      const uint64_t id = post(filler_);
      send(source_b_, 0, 1);
      while (!receiver().recv_message(id).bitmap().packets().test(0)) step();
      complete(id);
    }
  }

  HostPair hosts_;
  std::vector<std::byte> source_a_, source_b_, buffer_a_, buffer_b_, filler_;
  Instant b_posted_{};
  SlotId b_slot_;
  bool b_has_late_packet_ = false;
};

TEST_CASE("one generation late, all protections: nothing is touched") {
  LatePacket late({});
  late.run(1);
  REQUIRE(late.next_slot() == SlotId{1, 0});
  REQUIRE(late.armed_before_late_arrival());
  REQUIRE(late.users_memory_intact());
  REQUIRE(late.next_memory_intact());
  REQUIRE(late.bitmap_intact());
  REQUIRE(late.late_packets() == 1);
}

TEST_CASE("one generation late, no fence: it lands in memory that the user has got back") {
  LatePacket late({4, true, false});
  late.run(1);
  REQUIRE(late.armed_before_late_arrival());
  REQUIRE(late.users_memory_holds_late_packet());
  REQUIRE(late.next_memory_intact());  // the generation keeps it out of the next message
  REQUIRE(late.bitmap_intact());
}

TEST_CASE(
    "one round late, a single generation: it lands in the next message and passes for its own") {
  LatePacket late({1, false, true});
  late.run(1);
  REQUIRE(late.next_slot() == SlotId{0, 0});
  REQUIRE(late.armed_before_late_arrival());
  REQUIRE(late.users_memory_intact());
  REQUIRE(late.next_memory_holds_late_packet());  // the fence cannot tell: the slot is armed
  REQUIRE_FALSE(late.bitmap_intact());
}

TEST_CASE("four generations late, all protections: its slot is not armed again before it came") {
  LatePacket late({});
  late.run(4);
  REQUIRE(late.next_slot() == SlotId{0, 0});
  REQUIRE_FALSE(late.armed_before_late_arrival());
  REQUIRE(late.users_memory_intact());
  REQUIRE(late.next_memory_intact());
  REQUIRE(late.bitmap_intact());
}

TEST_CASE("four generations late, no quarantine: it lands in the next message of the slot") {
  LatePacket late({4, false, true});
  late.run(4);
  REQUIRE(late.next_slot() == SlotId{0, 0});
  REQUIRE(late.armed_before_late_arrival());
  REQUIRE(late.users_memory_intact());
  REQUIRE(late.next_memory_holds_late_packet());
  REQUIRE_FALSE(late.bitmap_intact());
}

TEST_CASE("four generations late, no fence: the quarantine saves the next message, not the user") {
  LatePacket late({4, true, false});
  late.run(4);
  REQUIRE_FALSE(late.armed_before_late_arrival());
  REQUIRE(late.users_memory_holds_late_packet());
  REQUIRE(late.next_memory_intact());
  REQUIRE(late.bitmap_intact());
}

}  // namespace
}  // namespace longhaul::sim
