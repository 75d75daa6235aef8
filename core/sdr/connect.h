#pragma once

/// What the two ends of a queue pair exchange and compare when they connect.
///
/// Each end describes itself in a `ConnectInfo`, encodes it into a blob, and hands that to the
/// other end by whatever way there is: a socket, a file, a terminal. How blobs travel is the
/// caller's affair; that a damaged, foreign or outdated one is noticed is ours.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/wire/immediate.h"

namespace longhaul {

/// Version of the blob's layout; a peer with another one is refused.
inline constexpr uint8_t kConnectVersion = 1;

/// What a backend may put into the blob.
inline constexpr size_t kMaxBackendBytes = 4096;

/// One end of a queue pair. A range is given where not every value is allowed; see
/// `connect_info_problem`.
struct ConnectInfo {
  uint64_t connection = 0;    ///< drawn at random by each end for each connect; never 0
  uint32_t mtu_bytes = 4096;  ///< 1024, 2048 or 4096; 8192 where the backend is not "verbs"
  uint32_t max_messages = kSlotsPerGeneration;  ///< in flight, 1 to 2^20
  uint64_t max_bytes = 0;                       ///< in flight, at least 1
  uint32_t chunk_packets = 16;                  ///< 1 to 2^18
  /// The split of the immediate; 1 to 16 and 1 to 30 bits, and what is left of 32 divides 32.
  uint8_t slot_bits = Immediate::kSlotBits;
  uint8_t offset_bits = Immediate::kOffsetBits;
  uint8_t generations = 1;          ///< 1 to kMaxGenerations
  uint8_t channels = 1;             ///< 1 to kMaxChannels
  uint64_t code_matrix_hash = 0;    ///< of coding/reed_solomon.h
  std::string policy;               ///< PolicySpec::name()
  std::vector<uint64_t> root_keys;  ///< one for each generation
  std::string backend;  ///< its kind, "loopback" or "verbs": 1 to 32 of a-z, 0-9, _ and -
  std::vector<std::byte> backend_bytes;  ///< up to kMaxBackendBytes that only the backend reads

  bool operator==(const ConnectInfo&) const = default;
};

/// Names the first field that is out of range, its value and its range; nothing when all is well.
std::optional<std::string> connect_info_problem(const ConnectInfo& info);

/// The blob: magic, version, length, fields, checksum. Every field must be in range; CHECKed.
std::vector<std::byte> encode_connect_info(const ConnectInfo& info);

/// Takes any bytes. What it accepts is in range and encodes to the same bytes again; else the text
/// says what is wrong and what to do.
std::variant<ConnectInfo, std::string> parse_connect_info(std::span<const std::byte> bytes);

/// What a connection runs with. Both ends come to the same, except that the problems of each are
/// told from where it stands.
struct ConnectAgreement {
  uint64_t connection = 0;  ///< of both ids: changes when either end starts anew
  uint32_t mtu_bytes = 0;   ///< the smaller one, as the depths below
  uint32_t max_messages = 0;
  uint64_t max_bytes = 0;
  /// One sentence for each thing that must be equal and is not. Not to be used unless empty.
  std::vector<std::string> problems;
};
ConnectAgreement agree(const ConnectInfo& local, const ConnectInfo& peer);

}  // namespace longhaul
