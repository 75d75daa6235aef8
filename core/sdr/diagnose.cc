#include "core/sdr/diagnose.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string_view>

#include "core/base/joined.h"

namespace longhaul {
namespace {

std::string count_of(uint64_t count, std::string_view one, std::string_view many) {
  return joined({std::to_string(count), " ", count == 1 ? one : many});
}

/// In percent, with one decimal.
std::string percent(uint64_t part, uint64_t whole) {
  const uint64_t tenths = whole == 0 ? 0 : (part * 1000 + whole / 2) / whole;
  return joined({std::to_string(tenths / 10), ".", std::to_string(tenths % 10), " %"});
}

class Diagnosis {
 public:
  explicit Diagnosis(const DiagnosisInput& input)
      : in_(input), sent_(input.sender), got_(input.receiver) {}

  std::vector<Finding> run() {
    memory();
    slots();
    code();
    control();
    faults();
    recovery();
    sizes();
    std::ranges::stable_sort(found_, std::ranges::greater{}, &Finding::severity);
    return std::move(found_);
  }

 private:
  void add(Severity severity, const char* name, std::initializer_list<std::string_view> text) {
    found_.push_back({severity, name, joined(text)});
  }

  void memory() {
    if (const uint64_t n = sent_.checksum_mismatches + got_.checksum_mismatches; n > 0) {
      add(Severity::error, "bitmap_out_of_step",
          {count_of(n, "transfer was", "transfers were"),
           " complete by the receive bitmap, but the memory of the two ends differs. Either bits "
           "are set before the data is visible (a memory barrier is missing between a NIC or an "
           "offload engine and its reader), or late packets of an earlier message passed for new "
           "ones (see generation_clash), or the source was changed "
           "while it was being sent"});
    }
    if (const uint64_t n = got_.beyond_packets; n > 0) {
      add(Severity::error, "packets_beyond_message",
          {count_of(n, "packet", "packets"),
           " arrived beyond the end of their message and were dropped: the ends differ in MTU or "
           "in "
           "the split of the immediate, or the peer is faulty"});
    }
  }

  void slots() {
    if (const uint64_t n = got_.stale_packets; n > 0) {
      add(Severity::warning, "generation_clash",
          {count_of(n, "packet", "packets"),
           " arrived for slots that had rested already, and were dropped. Had the slot been armed "
           "again, they would have passed for packets of its next message: set `reordering` to "
           "what "
           "the path really does, or use more generations than ",
           std::to_string(in_.generations), ", so that a slot is used less often"});
    }
    if (const uint64_t n = got_.slot_waits; n > 0) {
      add(Severity::warning, "slots_exhausted",
          {count_of(n, "time a receive", "times receives"),
           " had to wait for a message slot. With ", std::to_string(in_.generations),
           in_.generations == 1 ? " generation" : " generations",
           " there are too few for this rate, round trip and message size: ",
           "use more of them, or larger messages"});
    }
  }

  void code() {
    if (const uint64_t n = sent_.refused_code + got_.refused_code; n > 0) {
      add(Severity::error, "code_mismatch",
          {count_of(n, "transfer was", "transfers were"),
           " announced with another erasure code than this end's. Set the same policy at both "
           "ends; ",
           "the matrices behind it are compared at connect"});
    }
    const uint64_t n = got_.fallbacks;
    if (n == 0) return;
    const bool often = in_.transfers == 0 || n * 100 >= in_.transfers;
    add(often ? Severity::warning : Severity::note, "code_too_weak",
        {"the code of ", in_.policy.name(), " gave up on ", count_of(n, "transfer", "transfers"),
         in_.transfers > 0 ? joined({" of ", std::to_string(in_.transfers)}) : std::string(),
         " and asked for retransmission, which costs round trips. More parity, or wider stripes, ",
         "stand more loss"});
  }

  void control() {
    const auto total = [&](uint64_t QueuePairCounters::*counter) {
      return sent_.*counter + got_.*counter;
    };
    const auto refused = [&](uint64_t QueuePairCounters::*counter, const char* name,
                             std::string_view what) {
      if (const uint64_t n = total(counter); n > 0) {
        add(Severity::warning, name,
            {count_of(n, "control message was", "control messages were"), " refused: ", what});
      }
    };
    refused(&QueuePairCounters::refused_malformed, "control_malformed",
            "cut short, or a field was out of range. Something else sends to this address, or a "
            "device on the way damages packets");
    refused(&QueuePairCounters::refused_version, "version_mismatch",
            "another version of the protocol. Run the same release at both ends");
    refused(
        &QueuePairCounters::refused_connection, "stale_connection",
        "of another connection. The peer has restarted, or an old one is still sending: connect "
        "anew");
    refused(&QueuePairCounters::refused_unknown, "unknown_ids",
            "about transfers or slots that this end never posted. The ends are not connected to "
            "each other, or the peer is faulty");
    refused(&QueuePairCounters::refused_size, "size_mismatch",
            "a message does not fit what is posted. The ends post in another order, or a buffer is "
            "too small");
  }

  void faults() {
    if (const uint64_t n = sent_.receive_queue_empty + got_.receive_queue_empty; n > 0) {
      add(Severity::error, "receive_queue_empty",
          {count_of(n, "packet was", "packets were"),
           " lost because no receive was posted: completions are not taken off fast enough. Use "
           "more workers, or deeper queues"});
    }
    if (const uint64_t n = sent_.queue_pair_errors + got_.queue_pair_errors; n > 0) {
      add(Severity::error, "queue_pair_error",
          {"a queue pair went into the error state ", count_of(n, "time", "times"),
           ": see the backend's log for the completion status"});
    }
    if (sent_.peer_gone + got_.peer_gone > 0) {
      add(Severity::error, "peer_gone", {"the peer closed, or could not be reached any more"});
    }
    if (const uint64_t n = sent_.given_up + got_.given_up; n > 0) {
      add(Severity::error, "gave_up",
          {count_of(n, "transfer was", "transfers were"),
           " not complete within the give-up time. Is the path up in both directions, and is a "
           "receive posted for each send? A give-up time below several round trips is too short"});
    }
  }

  void recovery() {
    const uint64_t repaired = sent_.retransmitted_packets;
    const uint64_t needless = std::min(got_.duplicate_packets, repaired);
    if (needless < 10 || needless * 5 < repaired) return;
    add(Severity::warning, "spurious_retransmission",
        {std::to_string(needless), " of ", std::to_string(repaired),
         " retransmitted packets had arrived already. The timer is too short for this path, or the "
         "path reorders more than the reordering bound allows for: set `round_trip` and "
         "`reordering` to what the path has"});
  }

  void sizes() {
    const uint64_t chunk_bytes = uint64_t{in_.chunk_packets} * in_.mtu_bytes;
    if (in_.chunk_packets > 64 || !std::has_single_bit(in_.chunk_packets)) {
      add(Severity::note, "chunk_misaligned",
          {"chunks of ", std::to_string(in_.chunk_packets),
           " packets lie across words of the bitmap, which costs the receiver time: 1, 2, 4, ... "
           "64 "
           "packets do not"});
    }
    if (in_.message_bytes > 0 && in_.message_bytes < chunk_bytes) {
      add(Severity::note, "chunk_larger_than_message",
          {"a message of ", std::to_string(in_.message_bytes), " bytes is less than one chunk (",
           std::to_string(chunk_bytes),
           " bytes): its bitmap can only say all or nothing. Smaller chunks tell more"});
    }
    const uint64_t wire_bytes = uint64_t{in_.mtu_bytes} + in_.header_bytes;
    if (in_.mtu_bytes > 0 && in_.header_bytes * uint64_t{20} > wire_bytes) {
      add(Severity::note, "small_mtu",
          {percent(in_.header_bytes, wire_bytes), " of the wire is headers at an MTU of ",
           std::to_string(in_.mtu_bytes), " bytes; at 4096 it would be ",
           percent(in_.header_bytes, uint64_t{4096} + in_.header_bytes)});
    }
  }

  const DiagnosisInput& in_;
  const QueuePairCounters& sent_;
  const QueuePairCounters& got_;
  std::vector<Finding> found_;
};

}  // namespace

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

std::vector<Finding> diagnose(const DiagnosisInput& input) { return Diagnosis(input).run(); }

}  // namespace longhaul
