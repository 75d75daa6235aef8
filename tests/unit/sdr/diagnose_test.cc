#include "core/sdr/diagnose.h"

#include <set>

#include "tests/catch.h"

namespace longhaul {
namespace {

DiagnosisInput healthy() {
  DiagnosisInput input;
  input.sender.data_packets = 100'000;
  input.receiver.received_packets = 100'000;
  input.transfers = 100;
  input.policy = parse_policy("ec(32,8)").policy;
  input.message_bytes = 8 << 20;
  input.mtu_bytes = 4096;
  input.header_bytes = 102;
  input.chunk_packets = 16;
  input.generations = 4;
  return input;
}

std::set<std::string> names(const DiagnosisInput& input) {
  std::set<std::string> names;
  for (const Finding& finding : diagnose(input)) {
    names.insert(finding.name);
    CHECK_FALSE(finding.text.empty());
  }
  return names;
}

TEST_CASE("a healthy connection gets no findings") { CHECK(names(healthy()).empty()); }

TEST_CASE("each trouble has its name") {
  struct Trouble {
    uint64_t QueuePairCounters::*counter;
    bool at_receiver;
    uint64_t value;
    const char* name;
  };
  using Counters = QueuePairCounters;
  const Trouble troubles[] = {
      {&Counters::checksum_mismatches, false, 1, "bitmap_out_of_step"},
      {&Counters::beyond_packets, true, 1, "packets_beyond_message"},
      {&Counters::late_packets, true, 5, "generation_clash"},
      {&Counters::slot_waits, true, 1, "slots_exhausted"},
      {&Counters::refused_code, true, 1, "code_mismatch"},
      {&Counters::fallbacks, true, 1, "code_too_weak"},
      {&Counters::refused_malformed, false, 1, "control_malformed"},
      {&Counters::refused_version, true, 1, "version_mismatch"},
      {&Counters::refused_connection, true, 1, "stale_connection"},
      {&Counters::refused_unknown, false, 1, "unknown_ids"},
      {&Counters::refused_size, false, 1, "size_mismatch"},
      {&Counters::receive_queue_empty, true, 1, "receive_queue_empty"},
      {&Counters::queue_pair_errors, false, 1, "queue_pair_error"},
      {&Counters::peer_gone, true, 1, "peer_gone"},
      {&Counters::given_up, false, 1, "gave_up"},
  };
  for (const Trouble& trouble : troubles) {
    DiagnosisInput input = healthy();
    QueuePairCounters& counters = trouble.at_receiver ? input.receiver : input.sender;
    counters.*trouble.counter = trouble.value;
    INFO(trouble.name);
    CHECK(names(input) == std::set<std::string>{trouble.name});
  }
}

TEST_CASE("needless repairs are found by the duplicates that they make") {
  DiagnosisInput input = healthy();
  input.sender.retransmitted_packets = 1000;
  input.receiver.duplicate_packets = 9;
  CHECK(names(input).empty());
  input.receiver.duplicate_packets = 300;
  CHECK(names(input) == std::set<std::string>{"spurious_retransmission"});
  CHECK_THAT(diagnose(input)[0].text, ContainsSubstring("300 of 1000 retransmitted packets"));
  input.sender.retransmitted_packets = 0;  // the network's own duplicates
  CHECK(names(input).empty());
}

TEST_CASE("sizes that do not go together are noted") {
  DiagnosisInput input = healthy();
  input.chunk_packets = 10;
  CHECK(names(input) == std::set<std::string>{"chunk_misaligned"});
  input.chunk_packets = 128;
  CHECK(names(input) == std::set<std::string>{"chunk_misaligned"});
  input = healthy();
  input.message_bytes = 1000;
  CHECK(names(input) == std::set<std::string>{"chunk_larger_than_message"});
  input = healthy();
  input.mtu_bytes = 1024;
  CHECK_THAT(diagnose(input)[0].text,
             ContainsSubstring("9.1 % of the wire is headers at an MTU of 1024 bytes; at 4096 it "
                               "would be 2.4 %"));
}

TEST_CASE("the worst comes first") {
  DiagnosisInput input = healthy();
  input.chunk_packets = 10;
  input.receiver.slot_waits = 3;
  input.sender.checksum_mismatches = 2;
  const auto findings = diagnose(input);
  REQUIRE(findings.size() == 3);
  CHECK(findings[0].severity == Severity::error);
  CHECK(findings[1].severity == Severity::warning);
  CHECK(findings[2].severity == Severity::note);
  CHECK(std::string(severity_name(findings[0].severity)) == "error");
}

TEST_CASE("every counter has a name of its own and a meaning") {
  std::set<std::string> names;
  QueuePairCounters counters;
  for (const CounterField& field : counter_fields()) {
    CHECK(names.insert(field.name).second);
    CHECK(std::string(field.meaning).size() > 10);
    counters.*field.value = names.size();
  }
  // Each has its own place.
  uint64_t expected = 0;
  for (const CounterField& field : counter_fields()) CHECK(counters.*field.value == ++expected);
}

}  // namespace
}  // namespace longhaul
