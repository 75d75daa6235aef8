#include "core/sdr/connect.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/rng.h"
#include "core/memory/memory.h"
#include "core/wire/bytes.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

using Blob = std::vector<std::byte>;

ConnectInfo sample_info() {
  ConnectInfo info;
  info.connection = 0x1122334455667788;
  info.max_bytes = uint64_t{1} << 32;
  info.generations = 4;
  info.channels = 8;
  info.code_matrix_hash = 0x99;
  info.policy = "ec(32,8)";
  info.root_keys = {1, 2, 3, ~uint64_t{0}};
  info.backend = "verbs";
  info.backend_bytes = {std::byte{5}, std::byte{0}, std::byte{7}};
  return info;
}

ConnectInfo random_info(Rng& rng) {
  constexpr std::array<std::pair<uint8_t, uint8_t>, 4> kSplits = {
      {{10, 18}, {8, 22}, {16, 8}, {1, 30}}};
  constexpr std::array<std::string_view, 4> kPolicies = {"sr(nack)", "sr(rto=2.5rtt)", "ec(32,8)",
                                                         "ec(254,1,fallback=0.125rtt)"};
  ConnectInfo info;
  info.connection = rng.between(1, ~uint64_t{0});
  info.mtu_bytes = 1024u << rng.below(4);
  info.max_messages = static_cast<uint32_t>(rng.between(1, 1 << 20));
  info.max_bytes = rng.between(1, ~uint64_t{0});
  info.chunk_packets = static_cast<uint32_t>(rng.between(1, 1 << 18));
  std::tie(info.slot_bits, info.offset_bits) = kSplits[rng.below(kSplits.size())];
  info.generations = static_cast<uint8_t>(rng.between(1, kMaxGenerations));
  info.channels = static_cast<uint8_t>(rng.between(1, kMaxChannels));
  info.code_matrix_hash = rng.next();
  info.policy = kPolicies[rng.below(kPolicies.size())];
  for (uint32_t i = 0; i < info.generations; ++i) info.root_keys.push_back(rng.next());
  info.backend = info.mtu_bytes == 8192 || rng.below(2) == 0 ? "loopback" : "verbs";
  for (uint64_t left = rng.below(kMaxBackendBytes + 1); left > 0; --left) {
    info.backend_bytes.push_back(static_cast<std::byte>(rng.next()));
  }
  return info;
}

/// Why a blob is refused; empty when it is not.
std::string refusal(std::span<const std::byte> bytes) {
  const auto parsed = parse_connect_info(bytes);
  const auto* text = std::get_if<std::string>(&parsed);
  return text == nullptr ? "" : *text;
}

std::string refusal(std::string_view text) { return refusal(std::as_bytes(std::span(text))); }

/// Makes the checksum fit again.
Blob repaired(Blob blob) {
  blob.resize(blob.size() - 8);
  ByteWriter(blob).fixed(memory_checksum(blob));
  return blob;
}

template <class T>
Blob patched(size_t offset, T value) {
  Blob blob = encode_connect_info(sample_info());
  std::vector<std::byte> bytes;
  ByteWriter(bytes).fixed(value);
  std::ranges::copy(bytes, blob.begin() + static_cast<ptrdiff_t>(offset));
  return repaired(blob);
}

TEST_CASE("what an end says of itself survives the blob") {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const ConnectInfo info = random_info(rng);
    const Blob blob = encode_connect_info(info);
    const auto parsed = parse_connect_info(blob);
    REQUIRE(refusal(blob).empty());
    REQUIRE(std::get<ConnectInfo>(parsed) == info);
    REQUIRE(encode_connect_info(std::get<ConnectInfo>(parsed)) == blob);
  }
}

TEST_CASE("the largest and the smallest blob are accepted") {
  ConnectInfo info = sample_info();
  info.generations = kMaxGenerations;
  info.root_keys.resize(kMaxGenerations);
  info.backend = std::string(32, 'z');
  info.backend_bytes.resize(kMaxBackendBytes);
  CHECK(refusal(encode_connect_info(info)).empty());
  info.generations = 1;
  info.root_keys.resize(1);
  info.backend = "x";
  info.backend_bytes.clear();
  CHECK(refusal(encode_connect_info(info)).empty());
}

TEST_CASE("the layout of version 1 stays as it is") {
  ConnectInfo info = sample_info();
  info.generations = 1;
  info.root_keys = {0x0102030405060708};
  const Blob blob = encode_connect_info(info);
  std::string text;
  for (const std::byte byte : blob) {
    for (const unsigned digit :
         {std::to_integer<unsigned>(byte) >> 4, std::to_integer<unsigned>(byte) & 15}) {
      text += "0123456789abcdef"[digit];
    }
  }
  CHECK(text ==
        "4c484349"          // magic
        "01"                // version
        "0053"              // bytes
        "1122334455667788"  // connection
        "00001000"          // mtu_bytes
        "00000400"          // max_messages
        "0000000100000000"  // max_bytes
        "00000010"          // chunk_packets
        "0a12"              // slot_bits, offset_bits
        "0108"              // generations, channels
        "0000000000000099"  // code_matrix_hash
        "08"                // policy
        "65632833322c3829"
        "0102030405060708"  // root_keys
        "05"                // backend
        "7665726273"
        "0003"  // backend_bytes
        "050007"
        "76265134f5867e5a"  // checksum
  );
}

TEST_CASE("a blob that is cut short anywhere is refused as such") {
  const Blob blob = encode_connect_info(sample_info());
  CHECK(refusal(std::span<const std::byte>()) ==
        "the connect blob is empty; pass what the peer made");
  for (size_t length = 1; length < blob.size(); ++length) {
    CAPTURE(length);
    REQUIRE_THAT(refusal(std::span(blob).first(length)), ContainsSubstring("cut short"));
  }
  CHECK(refusal(std::span(blob).first(3)) ==
        "the connect blob is cut short: 3 bytes, less than its header; copy the whole of what the "
        "peer made once more");
  CHECK(refusal(std::span(blob).first(50)) ==
        "the connect blob is cut short: 50 bytes of " + std::to_string(blob.size()) +
            "; copy the whole of what the peer made once more");
}

TEST_CASE("a blob with any one bit flipped is refused") {
  Blob blob = encode_connect_info(sample_info());
  for (size_t bit = 0; bit < 8 * blob.size(); ++bit) {
    const auto flip = static_cast<std::byte>(1 << bit % 8);
    blob[bit / 8] ^= flip;
    CAPTURE(bit);
    REQUIRE_FALSE(refusal(blob).empty());
    // Behind the header, which has words of its own for it.
    if (bit >= 7 * 8) {
      REQUIRE(refusal(blob) ==
              "the connect blob has been altered: its checksum does not match; copy the whole of "
              "what the peer made once more");
    }
    blob[bit / 8] ^= flip;
  }
  CHECK(refusal(blob).empty());
}

TEST_CASE("what is no blob, or no longer one, is told apart") {
  CHECK(refusal("hello, world, this is long enough") ==
        "this is not a Longhaul connect blob, which begins with the letters LHCI; pass what the "
        "peer made, as bytes and without anything before it");
  CHECK_THAT(refusal("L4"), ContainsSubstring("not a Longhaul connect blob"));
  Blob longer = encode_connect_info(sample_info());
  longer.push_back(std::byte{'\n'});
  CHECK(refusal(longer) ==
        "the connect blob goes on after its end: " + std::to_string(longer.size()) + " bytes of " +
            std::to_string(longer.size() - 1) +
            "; pass what the peer made, without anything behind it");
  CHECK(refusal(patched<uint8_t>(4, 7)) ==
        "the connect blob has version 7 of its layout, this end reads version 1; run the same "
        "release of Longhaul at both ends");
  CHECK_THAT(refusal(std::string_view("LHCI\1\0\7", 7)), ContainsSubstring("too short to be one"));
  CHECK_THAT(refusal(std::string_view("LHCI\1\0\0", 7)),
             ContainsSubstring("goes on after its end"));
}

TEST_CASE("sizes within the blob that contradict its length are refused") {
  constexpr size_t kPolicyAt = 47;
  CHECK_THAT(refusal(patched<uint8_t>(kPolicyAt, 255)), ContainsSubstring("do not add up"));
  CHECK_THAT(refusal(patched<uint8_t>(37, 5)), ContainsSubstring("do not add up"));
  CHECK_THAT(refusal(patched<uint8_t>(37, 3)), ContainsSubstring("do not add up"));
  constexpr size_t kBackendSizeAt = 94;
  CHECK_THAT(refusal(patched<uint16_t>(kBackendSizeAt, 2)), ContainsSubstring("do not add up"));
  CHECK_THAT(refusal(patched<uint16_t>(kBackendSizeAt, 4)), ContainsSubstring("do not add up"));
  Blob headless = encode_connect_info(sample_info());
  headless.resize(20);
  headless[6] = std::byte{20};
  CHECK_THAT(refusal(repaired(headless)), ContainsSubstring("do not add up"));
}

TEST_CASE("numbers out of range are refused by field, though the checksum fits") {
  const std::vector<std::pair<Blob, std::string>> cases = {
      {patched<uint64_t>(7, 0), "connection is 0; it must be a random number other than 0"},
      {patched<uint32_t>(15, 1500), "mtu_bytes is 1500; it must be 1024, 2048 or 4096 with verbs"},
      {patched<uint32_t>(15, 8192), "mtu_bytes is 8192; it must be 1024, 2048 or 4096 with verbs"},
      {patched<uint32_t>(19, 0), "max_messages is 0; it must be 1 to 1048576"},
      {patched<uint32_t>(19, 1048577), "max_messages is 1048577; it must be 1 to 1048576"},
      {patched<uint64_t>(23, 0), "max_bytes is 0; it must be 1 to 18446744073709551615"},
      {patched<uint32_t>(31, 0), "chunk_packets is 0; it must be 1 to 262144"},
      {patched<uint32_t>(31, 262145), "chunk_packets is 262145; it must be 1 to 262144"},
      {patched<uint8_t>(35, 0), "slot_bits is 0; it must be 1 to 16"},
      {patched<uint8_t>(35, 17), "slot_bits is 17; it must be 1 to 16"},
      {patched<uint8_t>(36, 0), "offset_bits is 0; it must be 1 to 30"},
      {patched<uint8_t>(36, 31), "offset_bits is 31; it must be 1 to 30"},
      {patched<uint8_t>(36, 19), "slot_bits + offset_bits is 29; it must be 16, 24, 28, 30 or 31"},
      {patched<uint8_t>(36, 22), "slot_bits + offset_bits is 32; it must be 16, 24, 28, 30 or 31"},
      {patched<uint8_t>(37, 0), "generations is 0; it must be 1 to 16"},
      {patched<uint8_t>(37, 17), "generations is 17; it must be 1 to 16"},
      {patched<uint8_t>(38, 0), "channels is 0; it must be 1 to 64"},
      {patched<uint8_t>(38, 65), "channels is 65; it must be 1 to 64"},
  };
  for (const auto& [blob, problem] : cases) {
    CHECK(refusal(blob) == "the connect blob has a value out of range: " + problem +
                               "; correct that attribute at the end that made the blob");
  }
}

TEST_CASE("text out of range is refused by field, though the checksum fits") {
  const std::string forms =
      "one of sr(nack), sr(rto=3rtt), ec(32,8) and their like, as PolicySpec::name() spells them";
  const auto with_text = [](size_t offset, std::string_view text) {
    Blob blob = encode_connect_info(sample_info());
    std::ranges::copy(std::as_bytes(std::span(text)),
                      blob.begin() + static_cast<ptrdiff_t>(offset));
    return refusal(repaired(blob));
  };
  constexpr size_t kPolicyAt = 48;
  CHECK_THAT(with_text(kPolicyAt, "ec(32,0)"),
             ContainsSubstring("policy is \"ec(32,0)\"; it must be " + forms));
  CHECK_THAT(with_text(kPolicyAt, "ec(3, 8)"),
             ContainsSubstring("policy is \"ec(3, 8)\"; it must be spelled \"ec(3,8)\""));
  CHECK_THAT(with_text(kPolicyAt, "\n\x7f\xff"), ContainsSubstring("policy is \"???32,8)\""));
  constexpr size_t kBackendAt = kPolicyAt + 8 + 4 * 8 + 1;
  CHECK_THAT(with_text(kBackendAt, "Verbs"),
             ContainsSubstring("backend is \"Verbs\"; it must be a name such as \"loopback\""));
}

TEST_CASE("an end's own attributes are judged by the same ranges") {
  using Change = std::function<void(ConnectInfo&)>;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[](ConnectInfo& info) { info.generations = 0; }, "generations is 0; it must be 1 to 16"},
      {[](ConnectInfo& info) { info.root_keys.pop_back(); },
       "the number of root_keys is 3; it must be that of generations, 4"},
      {[](ConnectInfo& info) { info.backend_bytes.resize(4097); },
       "the size of backend_bytes is 4097; it must be 0 to 4096"},
      {[](ConnectInfo& info) { info.backend = "loopback", info.mtu_bytes = 512; },
       "mtu_bytes is 512; it must be 1024, 2048, 4096 or 8192"},
      {[](ConnectInfo& info) { info.backend = std::string(33, 'v'); },
       "backend is \"" + std::string(33, 'v') +
           "\"; it must be a name such as \"loopback\" or \"verbs\", of 1 to 32 of a-z, 0-9, _ and "
           "-"},
      {[](ConnectInfo& info) { info.policy = std::string(65, 'p'); },
       "policy is \"" + std::string(64, 'p') +
           "...\"; it must be one of sr(nack), sr(rto=3rtt), ec(32,8) and their like, as "
           "PolicySpec::name() spells them"},
  };
  for (const auto& [change, problem] : cases) {
    ConnectInfo info = sample_info();
    change(info);
    CHECK(connect_info_problem(info) == problem);
  }
  CHECK_FALSE(connect_info_problem(sample_info()));
}

TEST_CASE("ends that match agree on the smaller MTU and the smaller depths") {
  ConnectInfo local = sample_info();
  ConnectInfo peer = sample_info();
  peer.connection = 77;
  peer.root_keys = {9, 9, 9, 9};
  peer.backend_bytes.clear();
  peer.mtu_bytes = 2048;
  local.max_messages = 12;
  peer.max_messages = 300;
  peer.max_bytes = 1'000'000;
  const ConnectAgreement agreement = agree(local, peer);
  CHECK(agreement.problems.empty());
  CHECK(agreement.mtu_bytes == 2048);
  CHECK(agreement.max_messages == 12);
  CHECK(agreement.max_bytes == 1'000'000);
}

TEST_CASE("the agreed connection is the same at both ends and changes when either starts anew") {
  ConnectInfo local = sample_info();
  ConnectInfo peer = sample_info();
  Rng rng(2);
  std::vector<uint64_t> connections;
  for (int round = 0; round < 1000; ++round) {
    // One of the two draws anew: neighbours, and numbers far apart.
    uint64_t& id = round % 2 == 0 ? local.connection : peer.connection;
    id = round % 3 == 0 ? id + 1 : rng.next();
    connections.push_back(agree(local, peer).connection);
    REQUIRE(connections.back() == agree(peer, local).connection);
  }
  std::ranges::sort(connections);
  CHECK(std::ranges::adjacent_find(connections) == connections.end());
}

TEST_CASE("each mismatch has a message of its own, with both values and the way out") {
  using Change = std::function<void(ConnectInfo&)>;
  const std::vector<std::pair<Change, std::string>> cases = {
      {[](ConnectInfo& peer) { peer.chunk_packets = 64; },
       "chunk_packets differs: 16 here, 64 at the peer; set chunk_packets to the same at both "
       "ends"},
      {[](ConnectInfo& peer) { peer.slot_bits = 8, peer.offset_bits = 22; },
       "the split of the immediate differs: 10 slot and 18 offset bits here, 8 slot and 22 offset "
       "bits at the peer; build both ends with the same one (Immediate in core/wire/immediate.h)"},
      {[](ConnectInfo& peer) { peer.generations = 1; },
       "generations differs: 4 here, 1 at the peer; set generations to the same at both ends"},
      {[](ConnectInfo& peer) { peer.channels = 64; },
       "channels differs: 8 here, 64 at the peer; set channels to the same at both ends"},
      {[](ConnectInfo& peer) { peer.code_matrix_hash = uint64_t{0xab} << 56; },
       "the hash of the code's matrices differs: 0x0000000000000099 here, 0xab00000000000000 at "
       "the peer; run the same release of Longhaul at both ends"},
      {[](ConnectInfo& peer) { peer.policy = "sr(nack)"; },
       "policy differs: ec(32,8) here, sr(nack) at the peer; set policy to the same at both ends"},
      {[](ConnectInfo& peer) { peer.backend = "loopback"; },
       "backend differs: verbs here, loopback at the peer; set backend to the same at both ends"},
      {[](ConnectInfo& peer) { peer.connection = sample_info().connection; },
       "this is this end's own blob: both have connection 0x1122334455667788; pass the blob that "
       "the other end made"},
  };
  ConnectInfo everything = sample_info();
  for (const auto& [change, message] : cases) {
    ConnectInfo peer = sample_info();
    peer.connection = 1;
    change(peer);
    CHECK(agree(sample_info(), peer).problems == std::vector<std::string>{message});
    change(everything);
  }
  CHECK(agree(sample_info(), everything).problems.size() == cases.size());
}

TEST_CASE("agreeing is symmetric") {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const ConnectInfo one = random_info(rng);
    const ConnectInfo other = random_info(rng);
    const ConnectAgreement here = agree(one, other);
    const ConnectAgreement there = agree(other, one);
    REQUIRE(here.connection == there.connection);
    REQUIRE(here.mtu_bytes == there.mtu_bytes);
    REQUIRE(here.max_messages == there.max_messages);
    REQUIRE(here.max_bytes == there.max_bytes);
    REQUIRE(here.problems.size() == there.problems.size());
  }
}

}  // namespace
}  // namespace longhaul
