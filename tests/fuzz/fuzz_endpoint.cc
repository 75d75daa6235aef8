/// A hostile peer: control messages of any content, in any number, at a live queue pair. Nothing
/// may crash, write outside the posted buffer, or stop the connection from accepting what is valid.
///
/// Input: records of (length byte, message bytes without version and connection id).

#include <cstdint>
#include <vector>

#include "core/transfer/queue_pair.h"
#include "tests/support/null_backend.h"

namespace {

using namespace longhaul;

constexpr uint64_t kConnection = 0x1234;

void append_control(EventBatch& events, const uint8_t* data, size_t size) {
  std::vector<std::byte> message;
  // A valid head, so that the fuzzer spends its time on what follows.
  encode_control(kConnection, Probe{}, message);
  message.resize(10);
  for (size_t i = 0; i < size; ++i) message.push_back(static_cast<std::byte>(data[i]));
  if (size > 0) message[1] = static_cast<std::byte>(data[0] % 8);
  if (size > 0) message.erase(message.begin() + 10);
  events.events.emplace_back(ControlArrived{static_cast<uint32_t>(events.control_bytes.size()),
                                            static_cast<uint32_t>(message.size())});
  events.control_bytes.insert(events.control_bytes.end(), message.begin(), message.end());
}

/// What the user of the queue pair does between turns, by the fuzzer's choice.
void use(QueuePair& queue_pair, Instant now, const MemorySlice& slice, uint8_t choice) {
  static constexpr uint64_t kPosts = 8;
  switch (choice % 5) {
    case 0:
      queue_pair.recv_post(now, slice);
      break;
    case 1:
      if (const uint64_t id = queue_pair.send_start(now, slice, 1); id < kPosts)
        queue_pair.send_continue(now, id, choice % 40, 40 - choice % 40);
      break;
    case 2:
      queue_pair.transfer_recv(now, slice);
      break;
    case 3:
      queue_pair.transfer_send(now, slice, choice);
      break;
    default:
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  test::NullBackend backend({1024, 16, 10'000'000'000, 102, 1024, true});
  QueuePairAttributes attributes;
  attributes.connection = kConnection;
  attributes.generations = 2;
  attributes.channels = 2;
  attributes.round_trip = Duration::milliseconds(1);
  if (data[0] % 2 == 1) {
    attributes.policy.kind = PolicySpec::Kind::erasure_code;
    attributes.policy.data_count = 4;
    attributes.policy.parity_count = 2;
  }
  std::vector<std::byte> memory(40'000);
  const MemoryRegion region{memory.data(), memory.size(), 1024, 1024};
  const MemorySlice slice{backend.register_memory(region), region, 0, memory.size()};
  QueuePair queue_pair(attributes, backend);
  queue_pair.transfer_send({}, slice, 1);
  queue_pair.transfer_recv({}, slice);
  const auto received = queue_pair.recv_post({}, slice);
  bool completed = false;
  CommandBatch commands;
  Instant now{};
  for (size_t at = 1; at < size;) {
    const size_t length = std::min<size_t>(data[at] % 64, size - at - 1);
    EventBatch events;
    append_control(events, data + at + 1, length);
    events.events.emplace_back(WritesCompleted{0, 8});
    events.events.emplace_back(
        PacketsArrived{static_cast<uint8_t>(data[at] % 3), static_cast<uint8_t>(data[at] % 5),
                       static_cast<uint16_t>(data[at] % 4), data[at], 1, data[at], now, now});
    queue_pair.turn(now, events, commands);
    commands.clear();
    now += Duration::microseconds(100);
    if (data[at] >= 128) use(queue_pair, now, slice, data[at]);
    if (data[at] == 127 && !completed) {
      queue_pair.recv_complete(now, *received);
      completed = true;
    }
    at += length + 1;
  }
  return 0;
}
