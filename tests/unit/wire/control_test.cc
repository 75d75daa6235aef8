#include "core/wire/control.h"

#include "core/base/rng.h"
#include "core/wire/immediate.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

std::vector<std::byte> encoded(const ControlMessage& message) {
  std::vector<std::byte> bytes;
  encode_control(0x1122334455667788, message, bytes);
  return bytes;
}

Feedback sample_feedback() {
  Feedback feedback;
  feedback.id = 7;
  feedback.has_begin = true;
  feedback.cumulative = 100;
  feedback.highest_end = uint64_t{1} << 40;
  feedback.received_packets = 12345;
  feedback.echoes = {{3, 99}, {0, uint64_t{1} << 33}};
  feedback.echo_hold = Duration::microseconds(3);
  feedback.sections = {{200, 500, {{200, 201}, {300, 310}}}, {100, 200, {{100, 200}}}};
  return feedback;
}

TEST_CASE("the immediate is slot, offset, fragment from the most significant bit down") {
  const Immediate immediate{0x3ff, 0x2aaaa, 0x5};
  REQUIRE(immediate.encode() == 0xffeaaaa5);
  REQUIRE(Immediate::decode(0xffeaaaa5) == immediate);
  REQUIRE(Immediate::decode(0xffffffff) == Immediate{0x3ff, 0x3ffff, 0xf});
  REQUIRE(Immediate::decode(Immediate{0, 0x3ffff, 0}.encode()).offset == 0x3ffff);
}

TEST_CASE("eight packets carry the whole user immediate, a nibble each") {
  uint32_t rebuilt = 0;
  for (uint32_t packet = 8; packet < 16; ++packet) {
    rebuilt |= Immediate::fragment_of(0x89abcdef, packet) << Immediate::shift_of(packet);
  }
  REQUIRE(rebuilt == 0x89abcdef);
}

TEST_CASE("the paper's other split fits as well") {
  using Wide = ImmediateSplit<8, 22>;
  REQUIRE(Wide::kFragments == 16);
  REQUIRE(Wide::decode(Wide{200, 4'000'000, 3}.encode()) == Wide{200, 4'000'000, 3});
}

TEST_CASE("control messages survive the wire") {
  const std::vector<ControlMessage> messages = {
      ClearToSend{MessageRole::parity, 1, 2, 3, 1023, uint64_t{1} << 40, 77},
      Begin{MessageRole::data, 1, (uint64_t{1} << 32) + 1, 0xdeadbeef, 32, 8, 65536},
      Begin{MessageRole::plain, ~uint64_t{0}, 1, 2, 0, 0, 0},
      sample_feedback(),
      Probe{9, 4},
      Complete{MessageRole::plain, 9, CompletionStatus::partial, 0x0123456789abcdef},
      Retired{MessageRole::data, 11}};
  for (const ControlMessage& message : messages) {
    const auto bytes = encoded(message);
    const auto parsed = parse_control(bytes);
    REQUIRE(std::holds_alternative<ParsedControl>(parsed));
    REQUIRE(std::get<ParsedControl>(parsed).connection == 0x1122334455667788);
    // Equal messages have equal encodings, and the encoding holds every field.
    REQUIRE(encoded(std::get<ParsedControl>(parsed).message) == bytes);
    REQUIRE(std::get<ParsedControl>(parsed).message.index() == message.index());
  }
  REQUIRE(encoded(Complete{}).size() == kCompleteBytes);
}

TEST_CASE("a feedback keeps its ranges") {
  const auto parsed = parse_control(encoded(sample_feedback()));
  const auto& feedback = std::get<Feedback>(std::get<ParsedControl>(parsed).message);
  REQUIRE(feedback.sections.size() == 2);
  REQUIRE(feedback.sections[0].missing == std::vector<PacketRange>{{200, 201}, {300, 310}});
  REQUIRE(feedback.sections[1].end == 200);
  REQUIRE(feedback.echoes.size() == 2);
  REQUIRE(feedback.echoes[0].channel == 3);
  REQUIRE(feedback.echoes[1].packet == uint64_t{1} << 33);
  REQUIRE(feedback.echo_hold == Duration::microseconds(3));
}

TEST_CASE("every truncation and every trailing byte is refused") {
  const std::vector<ControlMessage> messages = {ClearToSend{}, Begin{},    sample_feedback(),
                                                Probe{},       Complete{}, Retired{}};
  for (const ControlMessage& message : messages) {
    auto bytes = encoded(message);
    for (size_t length = 0; length < bytes.size(); ++length) {
      REQUIRE(std::holds_alternative<ControlError>(parse_control(std::span(bytes).first(length))));
    }
    bytes.push_back(std::byte{0});
    REQUIRE(std::get<ControlError>(parse_control(bytes)) == ControlError::trailing_bytes);
  }
}

TEST_CASE("lies are refused by kind") {
  const auto error_of = [](std::vector<std::byte> bytes) {
    return std::get<ControlError>(parse_control(bytes));
  };
  auto other_version = encoded(Probe{});
  other_version[0] = std::byte{kControlVersion + 1};
  REQUIRE(error_of(other_version) == ControlError::version);
  auto unknown_type = encoded(Probe{});
  unknown_type[1] = std::byte{7};
  REQUIRE(error_of(unknown_type) == ControlError::type);
  REQUIRE(error_of(encoded(ClearToSend{MessageRole::data, 1, 0, 0, 1024, 0, 0})) ==
          ControlError::value);
  REQUIRE(error_of(encoded(Begin{MessageRole::data, 1, 1, 0, 200, 100, 1})) == ControlError::value);
  REQUIRE(error_of(encoded(Begin{MessageRole::data, 1, 1, 0, 32, 8, 0})) == ControlError::value);
  REQUIRE(error_of(encoded(ClearToSend{MessageRole::data, 1, 0, kMaxGenerations, 0, 0, 0})) ==
          ControlError::value);
  REQUIRE(error_of(encoded(Begin{MessageRole::parity, 1, 1, 0, 0, 0, 0})) == ControlError::value);
  REQUIRE(error_of(encoded(Begin{MessageRole::plain, 1, 1, 0, 4, 2, 1})) == ControlError::value);
  Feedback channel = sample_feedback();
  channel.echoes = {{kMaxChannels, 0}};
  REQUIRE(error_of(encoded(channel)) == ControlError::value);
  Feedback outside = sample_feedback();
  outside.sections = {{10, 20, {{15, 21}}}};
  REQUIRE(error_of(encoded(outside)) == ControlError::value);
  Feedback overflow = sample_feedback();
  overflow.sections = {{~uint64_t{0}, 1, {}}};
  REQUIRE(error_of(encoded(overflow)) == ControlError::value);
}

TEST_CASE("random bytes neither crash nor make a message that does not encode back") {
  Rng rng(1);
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = encoded(sample_feedback());
    for (uint64_t flips = rng.between(1, 4); flips > 0; --flips) {
      bytes[rng.below(bytes.size())] = static_cast<std::byte>(rng.next());
    }
    const auto parsed = parse_control(bytes);
    if (const auto* control = std::get_if<ParsedControl>(&parsed)) {
      const auto again = parse_control(encoded(control->message));
      REQUIRE(std::holds_alternative<ParsedControl>(again));
    }
  }
}

}  // namespace
}  // namespace longhaul
