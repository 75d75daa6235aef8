#include "core/sdr/connect.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/base/joined.h"
#include "core/memory/memory.h"
#include "core/reliability/policy_spec.h"
#include "core/wire/bytes.h"

namespace longhaul {
namespace {

/// "LHCI", Longhaul connect info.
constexpr uint32_t kMagic = 0x4c484349;
constexpr size_t kMagicBytes = sizeof kMagic;
/// Magic, version, bytes of the whole blob. These keep their place in every version.
constexpr size_t kHeaderBytes = kMagicBytes + 1 + 2;
constexpr size_t kChecksumBytes = 8;
constexpr uint32_t kMaxDepth = uint32_t{1} << 20;
constexpr size_t kMaxBackendName = 32;

std::string hexadecimal(uint64_t value) {
  std::string text = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 0xf];
  return text;
}

std::string out_of_range(std::string_view field, uint64_t value, std::string_view range) {
  return joined({field, " is ", std::to_string(value), "; it must be ", range});
}

std::optional<std::string> outside(std::string_view field, uint64_t value, uint64_t last) {
  if (value >= 1 && value <= last) return {};
  return out_of_range(field, value, joined({"1 to ", std::to_string(last)}));
}

std::optional<std::string> mtu_problem(uint32_t mtu_bytes, std::string_view backend) {
  const bool simulated = backend != "verbs";
  if (mtu_bytes == 1024 || mtu_bytes == 2048 || mtu_bytes == 4096) return {};
  if (simulated && mtu_bytes == 8192) return {};
  return out_of_range("mtu_bytes", mtu_bytes,
                      simulated ? "1024, 2048, 4096 or 8192" : "1024, 2048 or 4096 with verbs");
}

std::optional<std::string> split_problem(uint32_t slot_bits, uint32_t offset_bits) {
  if (auto problem = outside("slot_bits", slot_bits, 16)) return problem;
  if (auto problem = outside("offset_bits", offset_bits, 30)) return problem;
  if (slot_bits + offset_bits < 32 && 32 % (32 - slot_bits - offset_bits) == 0) return {};
  return out_of_range("slot_bits + offset_bits", slot_bits + offset_bits, "16, 24, 28, 30 or 31");
}

/// Fields of fixed size. They come first, because the number of keys is one of them.
std::optional<std::string> number_problem(const ConnectInfo& info) {
  if (info.connection == 0) return "connection is 0; it must be a random number other than 0";
  if (auto problem = outside("max_messages", info.max_messages, kMaxDepth)) return problem;
  if (auto problem = outside("max_bytes", info.max_bytes, ~uint64_t{0})) return problem;
  if (auto problem = outside("chunk_packets", info.chunk_packets, kMaxMessagePackets)) {
    return problem;
  }
  if (auto problem = split_problem(info.slot_bits, info.offset_bits)) return problem;
  if (auto problem = outside("generations", info.generations, kMaxGenerations)) return problem;
  return outside("channels", info.channels, kMaxChannels);
}

/// Text of a peer goes into messages: as it is where it is harmless, else a question mark a byte.
std::string printable(std::string_view text) {
  constexpr size_t kLongest = 64;
  std::string shown(text.substr(0, kLongest));
  for (char& c : shown) {
    if (c < ' ' || c > '~') c = '?';
  }
  return joined({"\"", shown, text.size() > kLongest ? "..." : "", "\""});
}

std::optional<std::string> policy_problem(const std::string& policy) {
  // A code with every option takes less; a longer text is not worth parsing.
  constexpr size_t kLongest = 64;
  const std::string lead = joined({"policy is ", printable(policy), "; it must be "});
  constexpr std::string_view kForms =
      "one of sr(nack), sr(rto=3rtt), ec(32,8) and their like, as PolicySpec::name() spells them";
  if (policy.size() > kLongest) return lead + std::string(kForms);
  const ParsedPolicy parsed = parse_policy(policy);
  if (!parsed.error.empty()) return lead + std::string(kForms);
  const std::string canonical = parsed.policy.name();
  if (canonical != policy) return joined({lead, "spelled \"", canonical, "\""});
  return {};
}

std::optional<std::string> backend_problem(const ConnectInfo& info) {
  const std::string& name = info.backend;
  const bool known_letters = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  if (!known_letters || name.empty() || name.size() > kMaxBackendName) {
    return joined({"backend is ", printable(name),
                   "; it must be a name such as \"loopback\" or \"verbs\", of 1 to 32 of a-z, 0-9, "
                   "_ and -"});
  }
  if (info.backend_bytes.size() > kMaxBackendBytes) {
    return out_of_range("the size of backend_bytes", info.backend_bytes.size(),
                        joined({"0 to ", std::to_string(kMaxBackendBytes)}));
  }
  return mtu_problem(info.mtu_bytes, name);
}

std::optional<std::string> text_problem(const ConnectInfo& info) {
  if (auto problem = policy_problem(info.policy)) return problem;
  return backend_problem(info);
}

void write_text(ByteWriter& w, std::string_view text) {
  w.fixed(static_cast<uint8_t>(text.size()));
  w.raw(std::as_bytes(std::span(text)));
}

std::string read_text(ByteReader& r) {
  std::string text;
  for (const std::byte byte : r.raw(r.fixed<uint8_t>())) text += static_cast<char>(byte);
  return text;
}

void write_numbers(ByteWriter& w, const ConnectInfo& info) {
  w.fixed(info.connection);
  w.fixed(info.mtu_bytes);
  w.fixed(info.max_messages);
  w.fixed(info.max_bytes);
  w.fixed(info.chunk_packets);
  w.fixed(info.slot_bits);
  w.fixed(info.offset_bits);
  w.fixed(info.generations);
  w.fixed(info.channels);
  w.fixed(info.code_matrix_hash);
}

void read_numbers(ByteReader& r, ConnectInfo& info) {
  info.connection = r.fixed<uint64_t>();
  info.mtu_bytes = r.fixed<uint32_t>();
  info.max_messages = r.fixed<uint32_t>();
  info.max_bytes = r.fixed<uint64_t>();
  info.chunk_packets = r.fixed<uint32_t>();
  info.slot_bits = r.fixed<uint8_t>();
  info.offset_bits = r.fixed<uint8_t>();
  info.generations = r.fixed<uint8_t>();
  info.channels = r.fixed<uint8_t>();
  info.code_matrix_hash = r.fixed<uint64_t>();
}

void read_rest(ByteReader& r, ConnectInfo& info) {
  info.policy = read_text(r);
  for (uint32_t i = 0; i < info.generations; ++i) info.root_keys.push_back(r.fixed<uint64_t>());
  info.backend = read_text(r);
  const auto backend_bytes = r.raw(r.fixed<uint16_t>());
  info.backend_bytes.assign(backend_bytes.begin(), backend_bytes.end());
}

constexpr std::string_view kCopyAgain = "; copy the whole of what the peer made once more";

std::string altered(std::string_view how) {
  return joined({"the connect blob has been altered: ", how, kCopyAgain});
}

/// Everything that can be said without trusting the fields.
std::optional<std::string> envelope_problem(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "the connect blob is empty; pass what the peer made";
  std::vector<std::byte> magic;
  ByteWriter(magic).fixed(kMagic);
  const size_t compared = std::min(bytes.size(), kMagicBytes);
  if (!std::equal(magic.begin(), magic.begin() + static_cast<ptrdiff_t>(compared), bytes.begin())) {
    return "this is not a Longhaul connect blob, which begins with the letters LHCI; pass what the "
           "peer made, as bytes and without anything before it";
  }
  const std::string size = std::to_string(bytes.size());
  if (bytes.size() < kHeaderBytes) {
    return joined(
        {"the connect blob is cut short: ", size, " bytes, less than its header", kCopyAgain});
  }
  ByteReader r(bytes.subspan(kMagicBytes));
  const auto version = r.fixed<uint8_t>();
  if (version != kConnectVersion) {
    return joined({"the connect blob has version ", std::to_string(version),
                   " of its layout, this end reads version ", std::to_string(kConnectVersion),
                   "; run the same release of Longhaul at both ends"});
  }
  const size_t length = r.fixed<uint16_t>();
  const std::string of_length = joined({size, " bytes of ", std::to_string(length)});
  if (bytes.size() < length) {
    return joined({"the connect blob is cut short: ", of_length, kCopyAgain});
  }
  if (bytes.size() > length) {
    return joined({"the connect blob goes on after its end: ", of_length,
                   "; pass what the peer made, without anything behind it"});
  }
  if (length < kHeaderBytes + kChecksumBytes) return altered("it is too short to be one");
  const auto body = bytes.first(length - kChecksumBytes);
  if (ByteReader(bytes.subspan(body.size())).fixed<uint64_t>() != memory_checksum(body)) {
    return altered("its checksum does not match");
  }
  return {};
}

std::string split_text(const ConnectInfo& info) {
  return joined({std::to_string(info.slot_bits), " slot and ", std::to_string(info.offset_bits),
                 " offset bits"});
}

std::string refused_value(std::string_view problem) {
  return joined({"the connect blob has a value out of range: ", problem,
                 "; correct that attribute at the end that made the blob"});
}

}  // namespace

std::optional<std::string> connect_info_problem(const ConnectInfo& info) {
  if (auto problem = number_problem(info)) return problem;
  if (info.root_keys.size() != info.generations) {
    return out_of_range("the number of root_keys", info.root_keys.size(),
                        joined({"that of generations, ", std::to_string(info.generations)}));
  }
  return text_problem(info);
}

std::vector<std::byte> encode_connect_info(const ConnectInfo& info) {
  LONGHAUL_CHECK(!connect_info_problem(info));
  std::vector<std::byte> fields;
  ByteWriter w(fields);
  write_numbers(w, info);
  write_text(w, info.policy);
  for (const uint64_t key : info.root_keys) w.fixed(key);
  write_text(w, info.backend);
  w.fixed(static_cast<uint16_t>(info.backend_bytes.size()));
  w.raw(info.backend_bytes);

  std::vector<std::byte> blob;
  ByteWriter whole(blob);
  whole.fixed(kMagic);
  whole.fixed(kConnectVersion);
  whole.fixed(static_cast<uint16_t>(kHeaderBytes + fields.size() + kChecksumBytes));
  whole.raw(fields);
  whole.fixed(memory_checksum(blob));
  return blob;
}

std::variant<ConnectInfo, std::string> parse_connect_info(std::span<const std::byte> bytes) {
  if (auto problem = envelope_problem(bytes)) return *problem;
  ByteReader r(bytes.subspan(kHeaderBytes, bytes.size() - kHeaderBytes - kChecksumBytes));
  ConnectInfo info;
  read_numbers(r, info);
  constexpr std::string_view kSizes = "the sizes of its fields do not add up";
  if (r.truncated) return altered(kSizes);
  if (auto problem = number_problem(info)) return refused_value(*problem);
  read_rest(r, info);
  if (r.truncated || r.left() != 0) return altered(kSizes);
  if (auto problem = text_problem(info)) return refused_value(*problem);
  return info;
}

ConnectAgreement agree(const ConnectInfo& local, const ConnectInfo& peer) {
  ConnectAgreement agreement;
  const auto [lower, higher] = std::minmax(local.connection, peer.connection);
  agreement.connection = mix64(lower, higher);
  agreement.mtu_bytes = std::min(local.mtu_bytes, peer.mtu_bytes);
  agreement.max_messages = std::min(local.max_messages, peer.max_messages);
  agreement.max_bytes = std::min(local.max_bytes, peer.max_bytes);
  if (local.connection == peer.connection) {
    agreement.problems.push_back(
        joined({"this is this end's own blob: both have connection ", hexadecimal(peer.connection),
                "; pass the blob that the other end made"}));
  }

  const auto compare = [&](std::string_view what, const std::string& here, const std::string& there,
                           std::string_view remedy) {
    if (here == there) return;
    agreement.problems.push_back(joined({what, here, " here, ", there, " at the peer; ", remedy}));
  };
  const auto compare_attribute = [&](std::string_view name, const std::string& here,
                                     const std::string& there) {
    compare(joined({name, " differs: "}), here, there,
            joined({"set ", name, " to the same at both ends"}));
  };
  const auto text = [](uint64_t value) { return std::to_string(value); };
  compare_attribute("chunk_packets", text(local.chunk_packets), text(peer.chunk_packets));
  compare("the split of the immediate differs: ", split_text(local), split_text(peer),
          "build both ends with the same one (Immediate in core/wire/immediate.h)");
  compare_attribute("generations", text(local.generations), text(peer.generations));
  compare_attribute("channels", text(local.channels), text(peer.channels));
  compare("the hash of the code's matrices differs: ", hexadecimal(local.code_matrix_hash),
          hexadecimal(peer.code_matrix_hash), "run the same release of Longhaul at both ends");
  compare_attribute("policy", local.policy, peer.policy);
  compare_attribute("backend", local.backend, peer.backend);
  return agreement;
}

}  // namespace longhaul
