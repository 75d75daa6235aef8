/// The swarm: thousands of seeds, each with its own sizes, policy and faults, some faults switched
/// off entirely, some extreme. Safety: what is delivered equals what was sent, and is counted once.
/// Then the faults stop, and everything must end within a bound.
///
/// One seed again: LONGHAUL_SWARM_FIRST=<seed> LONGHAUL_SWARM_SEEDS=1 build/release/test_swarm

#include <algorithm>
#include <cstdlib>
#include <string>

#include "sim/experiment.h"
#include "sim/payload.h"
#include "tests/catch.h"
#include "tests/support/wild_network.h"

namespace longhaul {
namespace {

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

PolicySpec random_policy(Rng& rng) {
  PolicySpec policy;
  switch (rng.below(4)) {
    case 0:
      policy.detection = PolicySpec::Detection::rto;
      policy.rto_millirtt = static_cast<uint32_t>(rng.between(1000, 4000));
      break;
    case 1:
      break;
    default:
      policy.kind = PolicySpec::Kind::erasure_code;
      policy.data_count = static_cast<uint32_t>(rng.between(1, 40));
      policy.parity_count = static_cast<uint32_t>(rng.between(1, 12));
      policy.fallback_millirtt = static_cast<uint32_t>(rng.between(0, 1500));
  }
  return policy;
}

/// A fault is off in a third of the cases, extreme in a sixth.
double random_fault(Rng& rng, double usual, double extreme) {
  switch (rng.below(6)) {
    case 0:
    case 1:
      return 0;
    case 2:
      return extreme * rng.open_unit();
    default:
      return usual * rng.open_unit();
  }
}

uint64_t random_bytes(Rng& rng, uint64_t mtu_bytes) {
  switch (rng.below(5)) {
    case 0:
      return rng.below(3) * mtu_bytes + rng.below(2);
    case 1:
      return rng.between(1, 3) * mtu_bytes - 1;
    case 2:
      return rng.below(40 * mtu_bytes);
    default:
      return rng.below(400 * mtu_bytes);
  }
}

/// What one end of a wild case sends and the other receives: transfers and plain messages, posted
/// as earlier ones end. Plain messages are repaired by their user, from the bitmap.
class Flow {
 public:
  Flow(Rng rng, uint32_t mtu_bytes, QueuePair& sender, test::WildHost& sender_host,
       QueuePair& receiver, test::WildHost& receiver_host)
      : rng_(rng),
        mtu_bytes_(mtu_bytes),
        sender_(sender),
        sender_host_(sender_host),
        receiver_(receiver),
        receiver_host_(receiver_host) {
    transfers_.resize(rng_.below(12));
    messages_.resize(rng_.below(6));
    window_ = rng_.between(1, 8);
    for (auto* parts : {&transfers_, &messages_}) {
      for (Part& part : *parts) {
        part.bytes = random_bytes(rng_, mtu_bytes);
        part.payload_seed = rng_.next();
        part.source.resize(part.bytes + 1);
        part.buffer.resize(part.bytes + 1 + (rng_.below(3) == 0 ? rng_.below(50 * mtu_bytes) : 0));
        part.partial = rng_.below(4) == 0;
        sim::fill_payload({part.source.data(), part.bytes}, part.payload_seed);
        bytes_ += part.bytes;
      }
    }
  }

  uint64_t bytes() const { return bytes_; }
  size_t count() const { return transfers_.size() + messages_.size(); }

  /// The users at both ends look after their posts.
  void attend(Instant now) {
    while (sent_ < transfers_.size() && sent_ < ended_ + window_) {
      Part& part = transfers_[sent_++];
      sender_.transfer_send(now, slice(sender_host_, part.source, part.bytes), part.immediate());
    }
    while (received_ < transfers_.size() && received_ < ended_ + window_) {
      Part& part = transfers_[received_++];
      receiver_.transfer_recv(now, slice(receiver_host_, part.buffer, part.buffer.size() - 1));
    }
    while (ended_ < std::min(sent_, received_) && end_transfer()) {
    }
    attend_messages(now);
  }

  bool done() const { return ended_ == transfers_.size() && messages_ended_ == messages_.size(); }

 private:
  struct Part {
    uint64_t bytes = 0;
    uint64_t payload_seed = 0;
    std::vector<std::byte> source, buffer;
    bool partial = false;  ///< plain: completed early, whatever is missing
    Instant repair_at{};
    uint32_t immediate() const { return static_cast<uint32_t>(payload_seed); }
  };

  MemorySlice slice(test::WildHost& host, std::vector<std::byte>& memory, uint64_t bytes) const {
    const MemoryRegion region{memory.data(), bytes, mtu_bytes_, mtu_bytes_};
    return {host.register_memory(region), region, 0, bytes};
  }

  bool end_transfer() {
    const TransferStatus& status = sender_.send_status(ended_);
    if (status.state == TransferState::active || !sender_.send_released(ended_)) return false;
    INFO("transfer " << ended_ << ": " << status.reason);
    REQUIRE(status.state == TransferState::delivered);
    const ReceiveTransfer& received = receiver_.recv(ended_);
    REQUIRE(received.status().state == TransferState::delivered);
    REQUIRE(received.bitmap().chunks_complete() == received.bitmap().chunks());
    check(transfers_[ended_], received.bytes(), received.user_immediate());
    sender_.forget_send(ended_);
    receiver_.forget_recv(ended_);
    ++ended_;
    return true;
  }

  void check(const Part& part, uint64_t bytes, uint32_t immediate) const {
    REQUIRE(bytes == part.bytes);
    REQUIRE(immediate == part.immediate());
    REQUIRE(sim::payload_equals({part.buffer.data(), part.bytes}, part.payload_seed));
    REQUIRE(std::all_of(part.buffer.begin() + static_cast<std::ptrdiff_t>(part.bytes),
                        part.buffer.end(), [](std::byte b) { return b == std::byte{0}; }));
  }

  void attend_messages(Instant now) {
    if (messages_posted_ < messages_.size() && messages_posted_ < messages_ended_ + 2) {
      Part& part = messages_[messages_posted_];
      const MemorySlice buffer = slice(receiver_host_, part.buffer, part.buffer.size() - 1);
      if (receiver_.recv_post(now, buffer) == messages_posted_) {
        const uint64_t id =
            sender_.send_start(now, slice(sender_host_, part.source, part.bytes), part.immediate());
        sender_.send_continue(now, id, 0, sender_.send_message(id).packets());
        part.repair_at = now + Duration::milliseconds(50);
        ++messages_posted_;
      }
    }
    while (messages_ended_ < messages_posted_ && end_message(now)) {
    }
  }

  bool end_message(Instant now) {
    const uint64_t id = messages_ended_;
    Part& part = messages_[id];
    const ReceiveMessage& message = receiver_.recv_message(id);
    if (message.all_arrived()) {
      REQUIRE(message.user_immediate());
      check(part, *message.bytes(), *message.user_immediate());
    } else if (!part.partial || message.bitmap().packets().count() == 0) {
      if (now < part.repair_at) return false;
      const PacketBitmap& packets = message.bitmap().packets();
      const uint64_t end = sender_.send_message(id).packets();
      for (uint64_t p = packets.next_clear(0); p < end; p = packets.next_clear(p + 1))
        sender_.send_continue(now, id, p, 1);
      part.repair_at = now + Duration::milliseconds(50);
      return false;
    }
    receiver_.recv_complete(now, id);
    ++messages_ended_;
    return true;
  }

  Rng rng_;
  uint32_t mtu_bytes_;
  QueuePair& sender_;
  test::WildHost& sender_host_;
  QueuePair& receiver_;
  test::WildHost& receiver_host_;
  std::vector<Part> transfers_, messages_;
  uint64_t window_ = 1;
  uint64_t bytes_ = 0;
  uint64_t sent_ = 0, received_ = 0, ended_ = 0;
  uint64_t messages_posted_ = 0, messages_ended_ = 0;
};

void wild_case(uint64_t seed) {
  Rng rng = Rng(seed).fork(0);
  test::WildSpec spec;
  spec.mtu_bytes = 1024u << rng.below(3);
  spec.propagation = Duration::microseconds(static_cast<int64_t>(rng.between(10, 20'000)));
  spec.rate_bps = rng.between(1, 400) * 1'000'000'000;
  spec.data_loss = random_fault(rng, 0.1, 1);
  spec.control_loss = random_fault(rng, 0.1, 1);
  spec.duplication = random_fault(rng, 0.1, 1);
  spec.control_truncation = random_fault(rng, 0.1, 1);
  spec.late_write_fence = rng.below(4) != 0;
  spec.jitter = rng.below(2) == 0
                    ? Duration{}
                    : Duration{spec.propagation.ps * static_cast<int64_t>(rng.between(0, 20)) / 10};
  spec.calm_from = Instant{} + spec.propagation * static_cast<int64_t>(rng.between(0, 60));
  QueuePairAttributes attributes;
  attributes.connection = rng.next();
  attributes.policy = random_policy(rng);
  attributes.chunk_packets = static_cast<uint32_t>(rng.between(1, 64));
  attributes.generations = static_cast<uint8_t>(rng.between(1, 4));
  attributes.channels = static_cast<uint8_t>(rng.between(1, 8));
  if (rng.below(2) == 0) attributes.max_messages = static_cast<uint32_t>(rng.between(2, 6));
  attributes.round_trip = spec.propagation * 2;
  attributes.reordering = spec.jitter;
  attributes.give_up = Duration::seconds(3600);

  test::WildPair pair(spec, attributes, seed);
  Flow there(rng.fork(1), spec.mtu_bytes, pair.sender, pair.sender_host, pair.receiver,
             pair.receiver_host);
  Flow back(rng.fork(2), spec.mtu_bytes, pair.receiver, pair.receiver_host, pair.sender,
            pair.sender_host);
  // After the calm: a time-out armed at the last moment, then all data again, and for each post at
  // most a few round trips, a rest of its slot, and the user's own patience.
  const Duration data_time =
      wire_time((there.bytes() + back.bytes()) * 3 + 1'000'000, spec.rate_bps);
  const auto posts = static_cast<int64_t>(there.count() + back.count());
  const Duration each = attributes.round_trip * 12 + spec.jitter * 4 + Duration::milliseconds(60);
  const Instant bound =
      spec.calm_from + attributes.round_trip * 60 + spec.jitter * 60 + data_time * 4 + each * posts;
  // A user's patience is not an event of the queue pair's: look every now and then.
  for (Instant now{}; now < bound && !(there.done() && back.done());
       now = now + attributes.round_trip / 4 + Duration::microseconds(100)) {
    pair.run(now, [&] {
      there.attend(pair.now);
      back.attend(pair.now);
      return there.done() && back.done();
    });
    pair.now = std::max(pair.now, now);
  }
  REQUIRE((there.done() && back.done()));
}

void simulator_case(uint64_t seed) {
  Rng rng = Rng(seed).fork(1);
  sim::PathSpec path;
  path.mtu_bytes = 1024u << rng.below(4);
  path.rate_bps = rng.between(1, 800) * 1'000'000'000;
  if (rng.below(3) == 0) path.nic_rate_bps = path.rate_bps * rng.between(1, 8) / 2;
  path.queue_bytes = rng.between(8, 2000) * path.mtu_bytes;
  path.propagation = Duration::microseconds(static_cast<int64_t>(rng.between(0, 30'000)));
  path.header_bytes = rng.below(4) == 0 ? 0 : 102;
  const auto random_loss = [&] {
    const double rate = random_fault(rng, 0.05, 0.5);
    return rng.below(2) == 0 ? LossSpec::bernoulli(rate)
                             : LossSpec::bursts(rate, 1 / (1 - rate) + 20 * rng.open_unit());
  };
  path.loss = random_loss();
  path.reverse_loss = random_loss();
  sim::MessageSpec message;
  message.bytes = random_bytes(rng, path.mtu_bytes);
  message.policy = random_policy(rng);
  message.chunk_packets = static_cast<uint32_t>(rng.between(1, 64));
  message.generations = static_cast<uint8_t>(rng.between(1, 16));
  message.channels = static_cast<uint8_t>(rng.below(2) == 0 ? 1 : rng.between(2, 64));
  if (rng.below(3) == 0) {
    for (int i = 0; i < 3; ++i) {
      path.channel_delays.push_back(Duration{
          static_cast<int64_t>(rng.below(static_cast<uint64_t>(path.propagation.ps + 1)))});
    }
  }
  path.disorder.late_rate = random_fault(rng, 0.01, 0.5);
  path.disorder.duplicate_rate = random_fault(rng, 0.01, 0.5);
  path.disorder.late_up_to = path.propagation / 2;
  message.payload = rng.below(2) == 0 ? sim::Payload::real : sim::Payload::virtual_64;
  message.max_run_packets = static_cast<uint32_t>(rng.between(1, 100));
  message.give_up = Duration::seconds(1000);
  const auto sample = sim::simulate_message(path, message, seed, 0);
  INFO(sample.failure);
  REQUIRE(sample.outcome == sim::Outcome::delivered);
  REQUIRE(sample.completion >= sample.ideal);
  if (path.nic_rate_bps <= path.rate_bps && sample.completion < sample.oracle) {
    // Possible only with a short last packet: it and its successor may begin in the same slot, so
    // that one good slot fewer is enough. The full packets still need one each.
    const uint64_t short_bytes = message.bytes % path.mtu_bytes;
    REQUIRE(short_bytes != 0);
    const Duration packet_time = wire_time(path.mtu_bytes + path.header_bytes, path.rate_bps);
    message.bytes -= short_bytes;
    const auto full_packets = sim::simulate_message(path, message, seed, 0);
    REQUIRE(sample.completion + packet_time >= full_packets.oracle);
    message.bytes += short_bytes;
  }
  REQUIRE(sample.data_packets == (message.bytes + path.mtu_bytes - 1) / path.mtu_bytes);
}

TEST_CASE("the swarm delivers everything, exactly, and always ends") {
  const uint64_t first = from_environment("LONGHAUL_SWARM_FIRST", 1);
  const uint64_t seeds = from_environment("LONGHAUL_SWARM_SEEDS", 2000);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    INFO("LONGHAUL_SWARM_FIRST=" << seed << " LONGHAUL_SWARM_SEEDS=1 build/release/test_swarm");
    wild_case(seed);
    simulator_case(seed);
  }
}

}  // namespace
}  // namespace longhaul
