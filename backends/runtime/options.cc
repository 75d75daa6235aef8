#include "backends/runtime/options.h"

#include <algorithm>
#include <random>

#include "core/base/error.h"
#include "core/base/quantity_text.h"
#include "core/coding/reed_solomon.h"
#include "core/reliability/round_trip.h"
#include "core/sdr/ceiling.h"

namespace longhaul {
namespace {

constexpr const char* kContext = "context attributes";
constexpr const char* kQueuePair = "queue pair attributes";
/// Below, integer times of packets would overflow; no link is that slow.
constexpr uint64_t kLeastRate = 1'000;
/// Far beyond any path on Earth, and far from overflow in any product.
constexpr Duration kLongestTime = Duration::seconds(100);
constexpr Duration kLongestPatience = Duration::seconds(1'000'000);

std::string out_of_range(const char* name, int64_t value, const std::string& range) {
  return std::string(name) + " is " + std::to_string(value) + "; it must be " + range;
}

void check_time(const char* name, Duration time, Duration least, Duration most) {
  if (time >= least && time <= most) return;
  throw SetupError(kQueuePair, out_of_range(name, time.ps,
                                            "from " + std::to_string(least.ps) + " to " +
                                                std::to_string(most.ps) + " picoseconds"));
}

uint64_t random_connection() {
  std::random_device device;
  uint64_t id = 0;
  while (id == 0) id = uint64_t{device()} << 32 | device();
  return id;
}

std::string timers_text(const QueuePairAttributes& attributes) {
  const RoundTrip round_trip(attributes.round_trip);
  const PolicySpec& policy = attributes.policy;
  std::string text = "feedback every " + time_text(round_trip.feedback_period());
  if (policy.kind == PolicySpec::Kind::erasure_code) {
    text += ", falls back to sr(nack) " +
            time_text(attributes.round_trip * policy.fallback_millirtt / 1000) +
            " after data and parity should be in";
  } else if (policy.detection == PolicySpec::Detection::rto) {
    text += ", retransmission time-out " +
            time_text(attributes.round_trip * policy.rto_millirtt / 1000);
  }
  return text + ", gives up after " + time_text(attributes.give_up);
}

}  // namespace

void check_options(const ContextOptions& options) {
  if (options.channels < 1 || options.channels > kMaxChannels)
    throw SetupError(kContext, out_of_range("channels", options.channels, "1 to 64"));
  if (options.workers > options.channels) {
    throw SetupError(
        kContext,
        out_of_range("workers", options.workers,
                     "at most the number of channels, " + std::to_string(options.channels)),
        "Take fewer workers or more channels");
  }
  if (options.clock != nullptr && (options.workers != 0 || options.progress_thread)) {
    throw SetupError(kContext, "threads cannot wait by a clock of your own",
                     "Take 0 workers and no progress thread");
  }
}

ConnectInfo describe_end(const QueuePairOptions& options, uint8_t channels, const Device& device) {
  const ParsedPolicy parsed = parse_policy(options.policy);
  if (!parsed.error.empty()) throw SetupError(kQueuePair, "policy: " + parsed.error);
  if (options.generations < 1 || options.generations > kMaxGenerations)
    throw SetupError(kQueuePair, out_of_range("generations", options.generations, "1 to 16"));
  const uint32_t live = live_message_limit(options.generations);
  if (options.max_messages > live) {
    throw SetupError(kQueuePair,
                     out_of_range("max_messages", options.max_messages,
                                  "at most " + std::to_string(live) + " with " +
                                      std::to_string(options.generations) + " generations"),
                     "Set more generations, or 0 for as many messages as they allow");
  }
  if (options.rate_bps != 0 && options.rate_bps < kLeastRate) {
    throw SetupError(kQueuePair, out_of_range("rate_bps", static_cast<int64_t>(options.rate_bps),
                                              "0 for the device's, or at least 1000"));
  }
  check_time("round_trip_ps", options.round_trip, {1}, kLongestTime);
  check_time("reordering_ps", options.reordering, {}, kLongestTime);
  check_time("give_up_ps", options.give_up, {1}, kLongestPatience);

  ConnectInfo info;
  info.connection = random_connection();
  const uint32_t device_mtu_bytes = device.capabilities().mtu_bytes;
  info.mtu_bytes =
      options.mtu_bytes == 0 ? device_mtu_bytes : std::min(device_mtu_bytes, options.mtu_bytes);
  info.max_messages = options.max_messages == 0 ? live : options.max_messages;
  info.max_bytes = options.max_bytes == 0 ? ~uint64_t{0} : options.max_bytes;
  info.chunk_packets = options.chunk_packets;
  info.generations = static_cast<uint8_t>(options.generations);
  info.channels = channels;
  info.code_matrix_hash = code_matrix_hash();
  info.policy = parsed.policy.name();
  info.backend = device.kind();
  info.root_keys.resize(options.generations);
  if (const auto problem = connect_info_problem(info)) throw SetupError(kQueuePair, *problem);
  return info;
}

QueuePairAttributes core_attributes(const QueuePairOptions& options, const ConnectInfo& local,
                                    const ConnectAgreement& agreement) {
  QueuePairAttributes attributes;
  attributes.connection = agreement.connection;
  attributes.policy = parse_policy(local.policy).policy;
  attributes.chunk_packets = local.chunk_packets;
  attributes.generations = local.generations;
  attributes.channels = local.channels;
  attributes.max_messages = agreement.max_messages;
  attributes.round_trip = options.round_trip;
  attributes.reordering = options.reordering;
  attributes.give_up = options.give_up;
  return attributes;
}

std::string describe_connection(const QueuePairOptions& options,
                                const QueuePairAttributes& attributes,
                                const Capabilities& capabilities) {
  const auto text = [](uint64_t value) { return std::to_string(value); };
  std::string lines =
      "MTU " + text(capabilities.mtu_bytes) + " bytes, rate " + rate_text(capabilities.rate_bps) +
      ", " + text(attributes.channels) + " channels, chunks of " + text(attributes.chunk_packets) +
      " packets, late-write fence: " + (capabilities.late_write_fence ? "yes" : "no") + "\n";
  lines += "policy " + attributes.policy.name() + ", round trip " +
           time_text(attributes.round_trip) + ", " + timers_text(attributes) + "\n";
  lines += text(attributes.max_messages) + " messages armed at once, of " +
           text(uint64_t{attributes.generations} * kSlotsPerGeneration) + " slots in " +
           text(attributes.generations) + " generations; a slot rests " +
           time_text(attributes.effective_quarantine()) + " after use";
  const auto note =
      ceiling_note(attributes.generations, options.message_bytes, capabilities.rate_bps,
                   attributes.round_trip, attributes.effective_quarantine());
  return note ? lines + "\nwarning: " + *note : lines;
}

}  // namespace longhaul
