/// The golden table: loss x round trip x policy -> completion time, as committed text. A change of
/// recovery shows as a readable diff; the digests, over every event of the run, must be the same
/// for every compiler, optimisation and sanitizer.
///
/// After an intended change: LONGHAUL_UPDATE_GOLDEN=1 build/release/test_golden, and read the diff.

#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "sim/experiment.h"
#include "tests/catch.h"

namespace longhaul::sim {
namespace {

constexpr const char* kFile = "tests/golden/completion.txt";

struct NamedLoss {
  const char* name;
  LossSpec loss;
};

void write_row(std::ostream& out, int64_t round_trip_ms, const NamedLoss& loss,
               const char* policy) {
  PathSpec path;
  path.propagation = Duration::milliseconds(round_trip_ms) / 2;
  path.loss = loss.loss;
  path.reverse_loss = loss.loss.model == LossModel::scripted ? LossSpec::none() : loss.loss;
  MessageSpec message;
  message.bytes = (8 << 20) + 1;
  message.policy = parse_policy(policy).policy;
  message.payload = Payload::virtual_64;
  const MessageSample sample = simulate_message(path, message, 20261130, 0);
  REQUIRE(sample.outcome == Outcome::delivered);
  out << std::setw(6) << round_trip_ms << "  " << std::setw(14) << std::left << loss.name
      << std::setw(14) << policy << std::right << std::setw(15) << sample.completion.ps
      << std::setw(15) << sample.oracle.ps << std::setw(12) << sample.wire_bytes << std::setw(8)
      << sample.retransmitted_packets << std::setw(8) << sample.decoded_packets << "  " << std::hex
      << std::setw(16) << std::setfill('0') << sample.digest << std::dec << std::setfill(' ')
      << '\n';
}

std::string table() {
  const std::vector<NamedLoss> losses = {{"none", LossSpec::none()},
                                         {"1e-4", LossSpec::bernoulli(1e-4)},
                                         {"1e-2", LossSpec::bernoulli(1e-2)},
                                         {"5e-2", LossSpec::bernoulli(5e-2)},
                                         {"burst 1e-2/10", LossSpec::bursts(1e-2, 10)},
                                         {"last packet", LossSpec::scripted({2048, 2049})}};
  std::ostringstream out;
  out << "# 8 MiB + 1 byte at 400 Gb/s, one message, seed 20261130. Times in ps.\n"
      << "rtt_ms  loss          policy          completion_ps      oracle_ps  wire_bytes  resent "
         "decoded  digest\n";
  for (const int64_t round_trip_ms : {1, 10, 50}) {
    for (const NamedLoss& loss : losses) {
      for (const char* policy : {"sr(rto=3rtt)", "sr(nack)", "ec(4,1)", "ec(32,8)"}) {
        write_row(out, round_trip_ms, loss, policy);
      }
    }
  }
  return out.str();
}

TEST_CASE("recovery takes exactly the time that the golden table says") {
  const std::string now = table();
  if (std::getenv("LONGHAUL_UPDATE_GOLDEN") != nullptr) std::ofstream(kFile) << now;
  std::ifstream file(kFile);
  REQUIRE(file);
  std::string committed_line;
  std::istringstream lines(now);
  for (std::string line; std::getline(lines, line);) {
    REQUIRE(std::getline(file, committed_line));
    REQUIRE(line == committed_line);
  }
  REQUIRE_FALSE(std::getline(file, committed_line));
}

}  // namespace
}  // namespace longhaul::sim
