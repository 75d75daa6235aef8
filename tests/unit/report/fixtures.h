#pragma once

/// Results made by hand, so that every number of the outputs can be worked out on paper.

#include <limits>
#include <string>
#include <vector>

#include "tools/longhaul/results.h"

namespace longhaul::fixtures {

inline PolicySpec selective_repeat() { return {}; }

inline PolicySpec erasure_code(uint32_t data, uint32_t parity) {
  PolicySpec policy;
  policy.kind = PolicySpec::Kind::erasure_code;
  policy.data_count = data;
  policy.parity_count = parity;
  return policy;
}

/// A delivered message of 10 packets: ideal 100 us, oracle 200 us.
inline sim::MessageSample sample(int64_t completion_us) {
  sim::MessageSample s;
  s.outcome = sim::Outcome::delivered;
  s.completion = Duration::microseconds(completion_us);
  s.ideal = Duration::microseconds(100);
  s.oracle = Duration::microseconds(200);
  s.setup = Duration::microseconds(50);
  s.payload_bytes = 40'960;
  s.wire_bytes = 45'056;
  s.oracle_wire_bytes = 42'000;
  s.data_packets = 10;
  s.retransmitted_packets = 1;
  s.control_packets = 3;
  s.lost_packets = 1;
  s.digest = 0xfedcba9876543210u;
  return s;
}

inline sim::MessageSample failed_sample() {
  sim::MessageSample s = sample(0);
  s.outcome = sim::Outcome::failed;
  s.failure = "gave up";
  return s;
}

inline Point point(std::vector<std::pair<std::string, std::string>> labels = {}) {
  Point p;
  p.labels = std::move(labels);
  p.path.propagation = Duration::milliseconds(18);
  p.path.loss.model = LossModel::bernoulli;
  p.path.loss.rate = 1e-3;
  p.message_bytes = 40'960;
  p.give_up = Duration::seconds(60);
  return p;
}

inline Results results(std::vector<Point> points, std::vector<PolicySpec> policies) {
  Results r;
  r.scenario.file = "some/where.yaml";
  r.scenario.name = "by hand";
  r.scenario.description = "Made up.";
  r.scenario.points = std::move(points);
  r.scenario.policies = std::move(policies);
  r.scenario.seeds = {1};
  r.scenario.effective = {{"path.rate", "400 Gb/s"}};
  r.commit = "0123456789ab";
  r.command = "longhaul run some/where.yaml";
  for (size_t i = 0; i < r.scenario.points.size(); ++i) {
    for (size_t j = 0; j < r.scenario.policies.size(); ++j) {
      r.series.emplace_back();
      r.series.back().point = i;
      r.series.back().policy = j;
    }
  }
  return r;
}

inline void add(Results& r, size_t series, const sim::MessageSample& s) {
  Series& target = r.series[series];
  target.seeds.push_back(1);
  target.messages.push_back(target.samples.size());
  target.samples.push_back(s);
  ++r.samples_wanted;
  r.scenario.messages_per_seed = target.samples.size();
}

/// `count` samples: first, first + step, ... microseconds.
inline void add_ramp(Results& r, size_t series, int count, int64_t first_us, int64_t step_us) {
  for (int i = 0; i < count; ++i) add(r, series, sample(first_us + i * step_us));
}

inline Expectation expectation(Expectation::Metric metric, double below, std::string policy = {}) {
  Expectation e;
  e.metric = metric;
  e.policy = std::move(policy);
  e.below = below;
  e.above = -std::numeric_limits<double>::infinity();
  e.text = "as written";
  e.where = "some/where.yaml:7:3";
  return e;
}

}  // namespace longhaul::fixtures
