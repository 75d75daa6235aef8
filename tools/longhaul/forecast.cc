#include "tools/longhaul/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "tools/longhaul/asked.h"
#include "tools/longhaul/text.h"

namespace longhaul {

namespace {

constexpr double kBudgetSeconds = 0.4;  // of calibration, for each policy and kind of payload
constexpr uint64_t kMostSamples = 50;
// Bitmaps, lists and coding buffers add 15 % to the message's own buffers, as measured with real
// payload of 64 and 256 MiB.
constexpr double kOverhead = 1.15;
constexpr uint64_t kProgramBytes = 8u << 20;  // resident before any message
// A message costs something even without packets.
constexpr double kPacketsOfAnEmptyMessage = 64;

using Clock = std::chrono::steady_clock;

double weight(const Point& point) {
  return static_cast<double>(packets_of(point)) + kPacketsOfAnEmptyMessage;
}

/// Seconds per unit of weight of one policy at one point.
double calibrate(const Scenario& scenario, const Point& point, const PolicySpec& policy,
                 const SimulateFunction& simulate, uint64_t& samples) {
  const uint64_t most = std::min(kMostSamples, scenario.seeds.size() * scenario.messages_per_seed);
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  uint64_t done = 0;
  while (done < most && seconds < kBudgetSeconds) {
    simulate(point.path, message_spec(point, policy),
             scenario.seeds[done / scenario.messages_per_seed], done % scenario.messages_per_seed);
    ++done;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  samples += done;
  return done == 0 ? 0 : seconds / static_cast<double>(done) / weight(point);
}

uint64_t bytes_of_sample(const Point& point, const PolicySpec& policy) {
  const uint64_t packets = packets_of(point);
  double copies = 2;  // the sender's buffer and the receiver's
  if (policy.kind == PolicySpec::Kind::erasure_code)
    copies += policy.parity_count / (1.0 * policy.data_count);
  const uint64_t unit =
      point.payload == sim::Payload::real ? point.path.mtu_bytes : sizeof(uint64_t);
  return static_cast<uint64_t>(kOverhead * copies * static_cast<double>(packets * unit));
}

}  // namespace

uint64_t bytes_per_job(const Scenario& scenario) {
  uint64_t most = 0;
  for (const Point& point : scenario.points) {
    for (const PolicySpec& policy : scenario.policies)
      most = std::max(most, bytes_of_sample(point, policy));
  }
  return most;
}

unsigned jobs_that_fit(const Scenario& scenario, unsigned wanted, uint64_t available_bytes) {
  const uint64_t each = std::max<uint64_t>(bytes_per_job(scenario), 1);
  return static_cast<unsigned>(
      std::clamp<uint64_t>(available_bytes / each, 1, std::max(wanted, 1u)));
}

Forecast forecast(const Scenario& scenario, unsigned jobs, const SimulateFunction& simulate) {
  Forecast result;
  result.points = scenario.points.size();
  result.policies = scenario.policies.size();
  const uint64_t messages = scenario.seeds.size() * scenario.messages_per_seed;
  std::vector<std::string> basis;
  for (const sim::Payload payload : {sim::Payload::real, sim::Payload::virtual_64}) {
    const Point* smallest = nullptr;
    double total_weight = 0;
    for (const Point& point : scenario.points) {
      if (point.payload != payload) continue;
      if (smallest == nullptr || weight(point) < weight(*smallest)) smallest = &point;
      total_weight += weight(point);
      result.packets += packets_of(point) * messages * scenario.policies.size();
    }
    if (smallest == nullptr) continue;
    uint64_t samples = 0;
    for (const PolicySpec& policy : scenario.policies) {
      result.seconds += calibrate(scenario, *smallest, policy, simulate, samples) * total_weight *
                        static_cast<double>(messages) / jobs;
    }
    basis.push_back(fmt::format("{} samples", samples));
    if (scenario.points.size() > 1) basis.back() += " at " + point_title(*smallest);
  }
  result.basis = join_words(basis);
  result.samples = result.points * result.policies * messages;
  // Samples are held twice for a moment, while they are put in order.
  result.memory_bytes = kProgramBytes +
                        2 * result.samples * (sizeof(sim::MessageSample) + sizeof(uint64_t) * 2) +
                        jobs * bytes_per_job(scenario);
  return result;
}

}  // namespace longhaul
