#include "core/transfer/command_text.h"

#include "core/wire/control.h"

namespace longhaul {
namespace {

/// Appends: g++ 12 warns falsely (-Wrestrict) of a literal + std::string.
class Text {
 public:
  Text& operator<<(const char* word) { return text_ += word, *this; }
  Text& operator<<(uint64_t number) { return text_ += std::to_string(number), *this; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void packets(Text& text, uint64_t first, uint64_t count) {
  text << count << (count == 1 ? " packet" : " packets") << " from " << first;
}

void slot(Text& text, uint64_t generation, uint64_t slot) {
  text << "slot " << slot << " of generation " << generation;
}

void name(Text& text, MessageRole role, uint64_t id) {
  text << (role == MessageRole::plain    ? "message "
           : role == MessageRole::parity ? "parity of transfer "
                                         : "transfer ")
       << id;
}

struct ControlWords {
  Text& text;

  void operator()(const ClearToSend& m) const {
    text << "clear to send of ";
    name(text, m.role, m.id);
    text << ", segment " << m.segment << ", into ";
    slot(text, m.generation, m.slot);
    text << ", " << m.armed_bytes << " bytes";
  }
  void operator()(const Begin& m) const {
    text << "begin of ";
    name(text, m.role, m.id);
    text << ", " << m.bytes << " bytes";
    if (m.stripes != 0) {
      text << ", " << m.stripes << " stripes of " << uint64_t{m.data_count} << " + "
           << uint64_t{m.parity_count};
    }
  }
  void operator()(const Feedback& m) const {
    uint64_t missing = 0;
    for (const FeedbackSection& section : m.sections) {
      for (const PacketRange& range : section.missing) missing += range.end - range.begin;
    }
    text << "feedback on ";
    name(text, m.role, m.id);
    text << ": all below " << m.cumulative << ", highest end " << m.highest_end << ", "
         << m.received_packets << " received, " << missing << " missing"
         << (m.repair_requested ? ", repair requested" : "");
  }
  void operator()(const Probe& m) const {
    text << "probe of transfer " << m.id << ", number " << m.sequence;
  }
  void operator()(const Complete& m) const {
    text << "complete of ";
    name(text, m.role, m.id);
    text << (m.status == CompletionStatus::delivered ? ", delivered"
             : m.status == CompletionStatus::partial ? ", in part"
                                                     : ", failed");
  }
  void operator()(const Retired& m) const {
    text << "retired: ";
    name(text, m.role, m.id);
  }
};

void control(Text& text, std::span<const std::byte> bytes) {
  const auto parsed = parse_control(bytes);
  if (const auto* message = std::get_if<ParsedControl>(&parsed)) {
    std::visit(ControlWords{text}, message->message);
  } else {
    text << "a control message of " << bytes.size() << " bytes that cannot be read";
  }
}

}  // namespace

std::string describe(const Command& command, std::span<const std::byte> control_bytes) {
  Text text;
  if (const auto* write = std::get_if<WriteRun>(&command)) {
    text << "write ";
    packets(text, write->first_packet, write->packet_count);
    text << " to ";
    slot(text, write->generation, write->slot);
    text << ", channel " << uint64_t{write->channel};
  } else if (const auto* arm = std::get_if<ArmReceive>(&command)) {
    text << "arm ";
    slot(text, arm->generation, arm->slot);
    text << " with " << arm->bytes << " bytes";
  } else if (const auto* release = std::get_if<ReleaseReceive>(&command)) {
    text << "release ";
    slot(text, release->generation, release->slot);
  } else if (const auto* send = std::get_if<SendControl>(&command)) {
    text << "send ";
    control(text, control_bytes.subspan(send->offset, send->bytes));
  }
  return text.take();
}

std::string describe(const Event& event, std::span<const std::byte> control_bytes) {
  Text text;
  if (const auto* arrived = std::get_if<PacketsArrived>(&event)) {
    packets(text, arrived->first_packet, arrived->packet_count);
    text << " arrived in ";
    slot(text, arrived->generation, arrived->slot);
    text << ", channel " << uint64_t{arrived->channel};
  } else if (const auto* message = std::get_if<ControlArrived>(&event)) {
    text << "arrived: ";
    control(text, control_bytes.subspan(message->offset, message->bytes));
  } else if (const auto* completed = std::get_if<WritesCompleted>(&event)) {
    text << completed->packet_count << " written on channel " << uint64_t{completed->channel};
  } else if (const auto* fault = std::get_if<FaultRaised>(&event)) {
    switch (fault->kind) {
      case FaultRaised::Kind::receive_queue_empty:
        text << fault->count << " packets found no posted receive";
        break;
      case FaultRaised::Kind::queue_pair_error:
        text << "the queue pair is in the error state";
        break;
      case FaultRaised::Kind::peer_gone:
        text << "the peer is gone";
    }
  }
  return text.take();
}

}  // namespace longhaul
