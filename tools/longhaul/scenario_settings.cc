#include "tools/longhaul/scenario_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "tools/longhaul/scenario_keys.h"
#include "tools/longhaul/scenario_node.h"

namespace longhaul {
namespace {

using yaml::Node;
using yaml::refuse;

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kTiB = uint64_t{1} << 40;

/// 100 m of fibre to about four times the way to the moon and back: below, the time-outs of a
/// long-haul protocol mean nothing; above, picoseconds would overflow.
constexpr Duration kMinRtt = Duration::microseconds(1);
constexpr Duration kMaxRtt = Duration::seconds(10);
constexpr Duration kMaxGiveUp = Duration::seconds(30 * 24 * 3600);
constexpr uint64_t kMinRate_bps = 1'000'000;
constexpr uint64_t kMaxRate_bps = 100'000'000'000'000;

/// Real payload is the default up to here, and refused above `kMaxRealBytes`: sender and receiver
/// each hold the message, for every core that simulates.
constexpr uint64_t kDefaultRealBytes = kGiB;
constexpr uint64_t kMaxRealBytes = 8 * kGiB;

/// Light in silica fibre (group index 1.468), in vacuum, and in hollow-core fibre.
constexpr std::array<std::string_view, 3> kMedia{"fibre", "vacuum", "hollow_core"};
constexpr std::array<uint64_t, 3> kDelayPerM{489'700'000, 333'564'095, 335'000'000};
/// Draft::delay_per_m is in 10^-5 ps/m and distances are in mm.
constexpr uint64_t kDelayUnitsPerPs = 100'000 * 1'000;

constexpr std::array<std::string_view, 3> kPayloads{"auto", "real", "virtual"};

Choice read_distance(const Node& node, const std::string& key) {
  const uint64_t mm =
      yaml::read_quantity(node, key, Dimension::distance, 1'000, uint64_t{1'000'000} * 1'000'000);
  return {{}, std::to_string(mm), [mm, &node](Draft& draft) {
            draft.distance_mm = mm;
            draft.distance = &node;
          }};
}

Choice read_rtt(const Node& node, const std::string& key) {
  const auto ps = static_cast<int64_t>(yaml::read_quantity(node, key, Dimension::time,
                                                           static_cast<uint64_t>(kMinRtt.ps),
                                                           static_cast<uint64_t>(kMaxRtt.ps)));
  if (ps % 2 != 0) {
    refuse(node, fmt::format("{}: {} is an odd number of picoseconds", key, node.text),
           "Each way takes half of it: write fewer decimals.");
  }
  return {{}, std::to_string(ps), [ps](Draft& draft) { draft.point.path.propagation = {ps / 2}; }};
}

Choice read_medium(const Node& node, const std::string& key) {
  const size_t medium = yaml::read_word(node, key, kMedia);
  return {{}, std::to_string(medium), [medium](Draft& draft) {
            draft.delay_per_m = kDelayPerM[medium];
          }};
}

Choice read_rate(const Node& node, const std::string& key) {
  const uint64_t bps = yaml::read_quantity(node, key, Dimension::rate, kMinRate_bps, kMaxRate_bps);
  return {{}, std::to_string(bps), [bps](Draft& draft) { draft.point.path.rate_bps = bps; }};
}

Choice read_nic_rate(const Node& node, const std::string& key) {
  const uint64_t bps = yaml::read_quantity(node, key, Dimension::rate, kMinRate_bps, kMaxRate_bps);
  return {{}, std::to_string(bps), [bps](Draft& draft) { draft.point.path.nic_rate_bps = bps; }};
}

Choice read_mtu(const Node& node, const std::string& key) {
  const uint64_t bytes = yaml::read_quantity(node, key, Dimension::size, 0, kTiB);
  if (bytes != kKiB && bytes != 2 * kKiB && bytes != 4 * kKiB && bytes != 8 * kKiB) {
    refuse(node, fmt::format("{}: {} is not an MTU", key, node.text),
           "Write 1 KiB, 2 KiB, 4 KiB or 8 KiB: the payload of a full packet.");
  }
  return {{}, std::to_string(bytes), [bytes](Draft& draft) {
            draft.point.path.mtu_bytes = static_cast<uint32_t>(bytes);
          }};
}

Choice read_queue(const Node& node, const std::string& key) {
  const uint64_t bytes = yaml::read_quantity(node, key, Dimension::size, 0, kTiB);
  return {{}, std::to_string(bytes), [bytes, &node](Draft& draft) {
            draft.point.path.queue_bytes = bytes;
            draft.queue = &node;
          }};
}

Choice read_header(const Node& node, const std::string& key) {
  const uint64_t bytes = yaml::read_quantity(node, key, Dimension::size, 0, 4 * kKiB);
  return {{}, std::to_string(bytes), [bytes](Draft& draft) {
            draft.point.path.header_bytes = static_cast<uint32_t>(bytes);
          }};
}

Choice read_size(const Node& node, const std::string& key) {
  const uint64_t bytes = yaml::read_quantity(node, key, Dimension::size, 0, kTiB);
  return {{}, std::to_string(bytes), [bytes, &node](Draft& draft) {
            draft.point.message_bytes = bytes;
            draft.size = &node;
          }};
}

Choice read_chunk(const Node& node, const std::string& key) {
  // "16 packets" follows a swept MTU, which no number of bytes can.
  constexpr std::string_view kPackets = "packets";
  const std::string& text = yaml::read_text(node, key, "64 KiB");
  constexpr uint64_t kMostPackets = 65'536;
  if (text.ends_with(kPackets)) {
    const ParsedCount count = parse_count(text.substr(0, text.size() - kPackets.size()));
    if (!count.error.empty() || count.value < 1 || count.value > kMostPackets) {
      refuse(node, fmt::format("{}: {} is not a chunk", key, text),
             "Write 64 KiB, or 1 to 65,536 packets: 16 packets.");
    }
    return {{}, text, [packets = static_cast<uint32_t>(count.value)](Draft& draft) {
              draft.point.chunk_packets = packets;
            }};
  }
  const uint64_t bytes = yaml::read_quantity(node, key, Dimension::size, kKiB, kMostPackets * kKiB);
  return {{}, std::to_string(bytes), [bytes, &node](Draft& draft) {
            draft.chunk_bytes = bytes;
            draft.chunk = &node;
          }};
}

Choice read_payload(const Node& node, const std::string& key) {
  const size_t word = yaml::read_word(node, key, kPayloads);
  return {{}, std::to_string(word), [word, &node](Draft& draft) {
            draft.payload_node = &node;
            if (word != 0) {
              draft.payload = word == 1 ? sim::Payload::real : sim::Payload::virtual_64;
            }
          }};
}

Choice read_give_up(const Node& node, const std::string& key) {
  const auto ps = static_cast<int64_t>(yaml::read_quantity(
      node, key, Dimension::time, static_cast<uint64_t>(Duration::microseconds(1).ps),
      static_cast<uint64_t>(kMaxGiveUp.ps)));
  return {{}, std::to_string(ps), [ps, &node](Draft& draft) {
            draft.point.give_up = {ps};
            draft.give_up = &node;
          }};
}

std::vector<Choice> read_loss_axis(const Node& node, const std::string& key, bool reverse) {
  std::vector<Choice> axis;
  for (LossChoice& choice : read_loss(node, key)) {
    axis.push_back({std::move(choice.labels), std::move(choice.identity),
                    [spec = std::move(choice.spec), reverse](Draft& draft) {
                      (reverse ? draft.point.path.reverse_loss : draft.point.path.loss) = spec;
                      draft.has_reverse_loss |= reverse;
                    }});
  }
  return axis;
}

struct Field {
  std::string_view section, key;
  Choice (*read)(const Node&, const std::string&);  ///< null for loss models
  std::string_view default_text;                    ///< empty: without effect when absent
};

constexpr std::array<Field, 14> kFields{{
    {"path", "distance", read_distance, ""},
    {"path", "rtt", read_rtt, ""},
    {"path", "medium", read_medium, "fibre"},
    {"path", "rate", read_rate, "400 Gb/s"},
    {"path", "nic_rate", read_nic_rate, "as path.rate"},
    {"path", "mtu", read_mtu, "4 KiB"},
    {"path", "queue", read_queue, "64 MiB"},
    {"path", "header", read_header, "102 B"},
    {"path", "loss", nullptr, "none"},
    {"path", "reverse_loss", nullptr, "as path.loss, drawn independently"},
    {"message", "size", read_size, ""},
    {"message", "chunk", read_chunk, "16 packets"},
    {"message", "payload", read_payload, "auto"},
    {"message", "give_up", read_give_up, ""},
}};

const Field& field_of(std::string_view section, std::string_view key) {
  const auto found = std::find_if(kFields.begin(), kFields.end(), [&](const Field& field) {
    return field.section == section && field.key == key;
  });
  LONGHAUL_CHECK(found != kFields.end());
  return *found;
}

Axis read_axis(const Field& field, const Node& value) {
  const std::string key = yaml::joined_key(field.section, field.key);
  if (value.is_sequence() && value.items.empty()) {
    refuse(value, fmt::format("{} is an empty list", key), "List one value or more.");
  }
  Axis axis{&value, {}};
  std::vector<Choice>& choices = axis.choices;
  if (field.read == nullptr) {
    choices = read_loss_axis(value, key, field.key == "reverse_loss");
  } else if (!value.is_sequence()) {
    choices.push_back(field.read(value, key));
  } else {
    for (const Node& item : value.items) {
      choices.push_back(field.read(item, key));
      if (value.items.size() > 1) choices.back().labels.emplace_back(key, item.text);
    }
  }
  std::vector<std::string_view> identities;
  for (const Choice& choice : choices) identities.push_back(choice.identity);
  std::sort(identities.begin(), identities.end());
  const auto twice = std::adjacent_find(identities.begin(), identities.end());
  if (twice != identities.end()) {
    const auto last = std::find_if(choices.rbegin(), choices.rend(),
                                   [&](const Choice& c) { return c.identity == *twice; });
    refuse(value, fmt::format("{} lists the same value twice: {}", key, last->labels.back().second),
           "List every value once.");
  }
  return axis;
}

/// distance and medium, or rtt.
void check_length(const Node& path) {
  const Node* distance = path.find("distance");
  const Node* rtt = path.find("rtt");
  const Node* medium = path.find("medium");
  if (rtt != nullptr && distance != nullptr) {
    refuse(*rtt, "path.rtt contradicts path.distance: each fixes the round-trip time",
           "Keep one of the two; on the command line --set path.distance= removes the distance.");
  }
  if (rtt != nullptr && medium != nullptr) {
    refuse(*medium, "path.medium has no effect beside path.rtt",
           "Keep one of the two; on the command line --set path.medium= removes the medium.");
  }
  if (rtt == nullptr && distance == nullptr) {
    refuse(path, "path has no length", "Write distance: 3750 km, or rtt: 37.5 ms.");
  }
}

Duration propagation_of(const Draft& draft) {
  const auto scaled = static_cast<unsigned __int128>(*draft.distance_mm) * draft.delay_per_m;
  return {static_cast<int64_t>((scaled + kDelayUnitsPerPs / 2) / kDelayUnitsPerPs)};
}

void finish_chunk(Draft& draft) {
  if (!draft.chunk_bytes) return;
  const uint32_t mtu = draft.point.path.mtu_bytes;
  if (*draft.chunk_bytes % mtu != 0) {
    refuse(*draft.chunk,
           fmt::format("message.chunk: {} is not a multiple of the MTU, {}", draft.chunk->text,
                       format_bytes(mtu)),
           "Write a multiple of path.mtu, for example chunk: 16 packets.");
  }
  draft.point.chunk_packets = static_cast<uint32_t>(*draft.chunk_bytes / mtu);
}

void finish_payload(Draft& draft) {
  Point& point = draft.point;
  const std::string size = format_bytes(point.message_bytes);
  if (draft.payload == sim::Payload::real && point.message_bytes > kMaxRealBytes) {
    refuse(
        *draft.payload_node,
        fmt::format("message.payload: real bytes for a message of {} do not fit in memory", size),
        fmt::format("Write payload: virtual, or messages of at most {}.",
                    format_bytes(kMaxRealBytes)));
  }
  constexpr std::string_view kMeaning =
      "a 64-bit tag per packet is moved, coded and compared in place of its bytes";
  if (draft.payload) {
    point.payload = *draft.payload;
    if (point.payload == sim::Payload::virtual_64) {
      point.payload_note = fmt::format("{}, as the scenario asks", kMeaning);
    }
  } else if (point.message_bytes > kDefaultRealBytes) {
    point.payload = sim::Payload::virtual_64;
    point.payload_note =
        fmt::format("{}, because {} is above {}", kMeaning, size, format_bytes(kDefaultRealBytes));
  }
}

void finish_give_up(Draft& draft, const Node& root) {
  Point& point = draft.point;
  const uint64_t mtu = point.path.mtu_bytes;
  const uint64_t packets = std::max<uint64_t>((point.message_bytes + mtu - 1) / mtu, 1);
  const uint64_t rate_bps = point.path.nic_rate_bps == 0
                                ? point.path.rate_bps
                                : std::min(point.path.rate_bps, point.path.nic_rate_bps);
  const unsigned __int128 bits =
      (static_cast<unsigned __int128>(point.message_bytes) + packets * point.path.header_bytes) * 8;
  const unsigned __int128 wire_ps = bits * 1'000'000'000'000u / rate_bps;
  const Node& size = draft.size != nullptr ? *draft.size : root;
  if (wire_ps > static_cast<unsigned __int128>(kMaxGiveUp.ps / 10)) {
    refuse(size,
           fmt::format("message.size: {} at {} takes more than 3 days on the wire",
                       format_bytes(point.message_bytes), format_rate(rate_bps)),
           "Write a smaller message or a higher path.rate.");
  }
  const Duration wire{static_cast<int64_t>(wire_ps)};
  const Duration rtt = point.path.propagation * 2;
  if (draft.give_up == nullptr) {
    point.give_up = std::max({Duration::seconds(60), rtt * 1000, wire * 10});
  } else if (point.give_up <= wire + rtt) {
    refuse(*draft.give_up,
           fmt::format("message.give_up: {} is too short, even without loss a transfer takes {}",
                       draft.give_up->text, format_duration(wire + rtt)),
           "Write a longer time, or leave give_up out.");
  }
}

void finish_queue(const Draft& draft) {
  const sim::PathSpec& path = draft.point.path;
  const uint64_t packet = uint64_t{path.mtu_bytes} + path.header_bytes;
  if (draft.queue != nullptr && path.queue_bytes < packet) {
    refuse(*draft.queue, fmt::format("path.queue: {} does not hold one packet", draft.queue->text),
           fmt::format("Write {} B or more: MTU and header.", packet));
  }
}

}  // namespace

void read_section(const Node& section, std::string_view name, std::vector<Axis>& axes) {
  if (!section.is_map()) {
    refuse(section, fmt::format("{} is {}, not a map", name, section.described()),
           name == "path" ? "Write path: and below it, indented, distance: 3750 km."
                          : "Write message: and below it, indented, size: 128 MiB.");
  }
  yaml::check_keys(section, name, name, scenario_keys(name));
  if (name == "path") check_length(section);
  if (name == "message" && section.find("size") == nullptr) {
    refuse(section, "message has no size", "Write size: 128 MiB.");
  }
  for (const yaml::Entry& entry : section.entries) {
    axes.push_back(read_axis(field_of(name, entry.key.text), entry.value));
  }
}

Point finish_point(Draft draft, const Node& root) {
  Point& point = draft.point;
  if (draft.distance_mm) {
    if (draft.delay_per_m == 0) draft.delay_per_m = kDelayPerM[0];
    point.path.propagation = propagation_of(draft);
    // A metre is 5 ns; the limits of path.rtt hold for a distance too.
    if (point.path.propagation * 2 < kMinRtt || point.path.propagation * 2 > kMaxRtt) {
      refuse(*draft.distance,
             fmt::format("path.distance: {} is a round-trip time of {}", draft.distance->text,
                         format_duration(point.path.propagation * 2)),
             fmt::format("Allowed: {} to {}.", format_duration(kMinRtt), format_duration(kMaxRtt)));
    }
  }
  if (!draft.has_reverse_loss && point.path.loss.model != LossModel::scripted) {
    point.path.reverse_loss = point.path.loss;
  }
  finish_chunk(draft);
  finish_payload(draft);
  finish_queue(draft);
  finish_give_up(draft, root);
  return std::move(draft.point);
}

void append_effective(const Node& section, std::string_view name,
                      std::vector<std::pair<std::string, std::string>>& effective) {
  for (const Field& field : kFields) {
    if (field.section != name) continue;
    const Node* value = section.find(field.key);
    std::string text(field.default_text);
    if (field.key == "medium" && section.find("distance") == nullptr) continue;
    if (value != nullptr) text = value->spelled();
    if (!text.empty()) effective.emplace_back(yaml::joined_key(name, field.key), std::move(text));
  }
}

}  // namespace longhaul
