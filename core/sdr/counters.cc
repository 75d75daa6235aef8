#include "core/sdr/counters.h"

#include <array>

namespace longhaul {
namespace {

using Counters = QueuePairCounters;

constexpr std::array kFields = {
    CounterField{"data_packets", "data packets sent for the first time", &Counters::data_packets},
    CounterField{"retransmitted_packets", "data packets sent again",
                 &Counters::retransmitted_packets},
    CounterField{"parity_packets", "parity packets sent", &Counters::parity_packets},
    CounterField{"control_packets", "control messages sent", &Counters::control_packets},
    CounterField{"received_packets", "data and parity packets that arrived and were new",
                 &Counters::received_packets},
    CounterField{"duplicate_packets", "packets that arrived though they were there already",
                 &Counters::duplicate_packets},
    CounterField{"late_packets", "packets that arrived for a slot that is not armed",
                 &Counters::late_packets},
    CounterField{"beyond_packets", "packets that arrived beyond the end of their message",
                 &Counters::beyond_packets},
    CounterField{"decoded_packets", "data packets rebuilt from parity", &Counters::decoded_packets},
    CounterField{"fallbacks", "transfers whose code gave up decoding and asked for repair",
                 &Counters::fallbacks},
    CounterField{"given_up", "transfers and messages that failed at their give-up time",
                 &Counters::given_up},
    CounterField{"checksum_mismatches", "transfers whose memory differs between the two ends",
                 &Counters::checksum_mismatches},
    CounterField{"slot_waits", "posts that found no message slot free", &Counters::slot_waits},
    CounterField{"partial_completions", "messages completed by the user with chunks missing",
                 &Counters::partial_completions},
    CounterField{"refused_malformed", "control messages cut short or with a field out of range",
                 &Counters::refused_malformed},
    CounterField{"refused_version", "control messages of another protocol version",
                 &Counters::refused_version},
    CounterField{"refused_connection", "control messages of another or an earlier connection",
                 &Counters::refused_connection},
    CounterField{"refused_unknown", "control messages about what was never posted or armed",
                 &Counters::refused_unknown},
    CounterField{"refused_size", "lengths that do not fit what is posted here",
                 &Counters::refused_size},
    CounterField{"refused_code", "transfers announced with another erasure code",
                 &Counters::refused_code},
    CounterField{"receive_queue_empty", "packets lost because no receive was posted",
                 &Counters::receive_queue_empty},
    CounterField{"queue_pair_errors", "times the queue pair went into the error state",
                 &Counters::queue_pair_errors},
    CounterField{"peer_gone", "times the peer closed or could not be reached",
                 &Counters::peer_gone},
};
static_assert(kFields.size() * sizeof(uint64_t) == sizeof(Counters));

}  // namespace

std::span<const CounterField> counter_fields() { return kFields; }

QueuePairCounters& QueuePairCounters::operator+=(const QueuePairCounters& other) {
  for (const CounterField& field : kFields) this->*field.value += other.*field.value;
  return *this;
}

}  // namespace longhaul
