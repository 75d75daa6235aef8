#include "core/transfer/send_transfer.h"

#include <algorithm>

namespace longhaul {
namespace {

/// Feedback periods without a word from the receiver, beyond a round trip, before a PROBE.
constexpr int kSilentPeriods = 4;

uint64_t packets_in(uint64_t bytes, uint32_t mtu_bytes) {
  return (bytes + mtu_bytes - 1) / mtu_bytes;
}

}  // namespace

void send_control(Instant now, uint64_t connection, const ControlMessage& message, WireClock& wire,
                  QueuePairCounters& counters, CommandBatch& out) {
  const size_t offset = out.control_bytes.size();
  encode_control(connection, message, out.control_bytes);
  const size_t bytes = out.control_bytes.size() - offset;
  out.commands.emplace_back(
      SendControl{static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
  wire.send_control(now, bytes);
  ++counters.control_packets;
}

SendTransfer::SendTransfer(uint32_t id, Instant now, MemoryHandle source,
                           const MemoryRegion& region, uint64_t bytes, uint32_t user_immediate,
                           const QueuePairAttributes& attributes, Backend& backend,
                           RoundTrip& round_trip)
    : id_(id),
      bytes_(bytes),
      user_immediate_(user_immediate),
      attributes_(attributes),
      backend_(backend),
      round_trip_(round_trip),
      checksum_(memory_checksum({region.address, region.stored_bytes(bytes)})) {
  data_.memory = source;
  data_.bytes = bytes;
  data_.packets = packets_in(bytes, region.packet_bytes);
  status_.posted = now;
  if (attributes.policy.kind == PolicySpec::Kind::erasure_code && bytes > 0) encode_parity(region);
  policy_ = make_sender_policy(attributes.policy, data_.packets, parity_.packets, round_trip_);
  for (Stream* stream : {&data_, &parity_}) {
    stream->slots.resize(packets_in(stream->packets, kMaxMessagePackets));
    stream->cleared.resize(stream->slots.size());
  }
}

SendTransfer::~SendTransfer() {
  if (parity_.packets > 0) backend_.deregister_memory(parity_.memory);
}

void SendTransfer::encode_parity(const MemoryRegion& region) {
  layout_ = StripeLayout::make(data_.packets, attributes_.policy.data_count,
                               attributes_.policy.parity_count);
  const TransferCode code(layout_, region.stored_packet_bytes);
  parity_memory_.resize(code.parity_stored_bytes());
  code.encode({region.address, region.stored_bytes(bytes_)}, parity_memory_);
  parity_.packets = layout_.parity_packets();
  parity_.bytes = parity_.packets * region.packet_bytes;
  parity_.memory = backend_.register_memory(
      {parity_memory_.data(), parity_.bytes, region.packet_bytes, region.stored_packet_bytes});
}

void SendTransfer::on_clear_to_send(const ClearToSend& message) {
  Stream& stream = stream_of(message.role);
  if (message.role == MessageRole::data && message.segment == 0) cleared_ = true;
  if (message.segment >= stream.slots.size()) return;
  stream.slots[message.segment] = {message.generation, message.slot};
  stream.cleared[message.segment] = true;
  for (size_t s = stream.armed_packets / kMaxMessagePackets;
       s < stream.slots.size() && stream.cleared[s]; ++s) {
    stream.armed_packets =
        std::min<uint64_t>(stream.packets, (s + 1) * uint64_t{kMaxMessagePackets});
  }
}

void SendTransfer::on_feedback(const Feedback& message, Instant now) {
  if (status_.state != TransferState::active || !started_) return;
  silent_since_ = std::max(silent_since_, now);
  begin_confirmed_ |= message.has_begin;
  begin_wanted_ |= !begin_confirmed_;
  const Instant departure = policy_->echoed_departure(message);
  if (departure != Instant::never() && departure < now - message.echo_hold) {
    round_trip_.sample(now - message.echo_hold - departure);
  }
  policy_->on_feedback(message, now);
}

void SendTransfer::on_complete(const Complete& message, Instant now) {
  if (status_.state != TransferState::active) return;
  if (message.status != CompletionStatus::delivered) {
    return finish(TransferState::failed, "the receiver gave up", now);
  }
  if (message.checksum != checksum_) {
    return finish(TransferState::failed, "the end-to-end checksum differs", now);
  }
  finish(TransferState::delivered, "", now);
}

void SendTransfer::finish(TransferState state, const char* reason, Instant now) {
  status_.state = state;
  status_.reason = reason;
  status_.finished = now;
  wants_wire_ = false;
}

void SendTransfer::turn(Instant now, WireClock& wire, QueuePairCounters& counters,
                        CommandBatch& out) {
  if (status_.state != TransferState::active) return;
  if (now >= status_.posted + attributes_.give_up) {
    return finish(TransferState::failed,
                  started_ ? "not complete within the give-up time"
                           : "no clear-to-send within the give-up time",
                  now);
  }
  if (!cleared_) return;
  if (!started_) start(now, wire, counters, out);
  if (!begin_confirmed_ && (begin_wanted_ || now >= begin_deadline_))
    send_begin(now, wire, counters, out);
  policy_->on_timer(now);
  send_data(now, wire, counters, out);
  probe_if_silent(now, wire, counters, out);
}

void SendTransfer::start(Instant now, WireClock& wire, QueuePairCounters& counters,
                         CommandBatch& out) {
  started_ = true;
  send_begin(now, wire, counters, out);
  status_.started = wire.free_at();
  silent_since_ = now;
  sent_by_ = wire.free_at();
}

void SendTransfer::send_begin(Instant now, WireClock& wire, QueuePairCounters& counters,
                              CommandBatch& out) {
  Begin begin{id_, bytes_, user_immediate_, 0, 0, 0};
  if (parity_.packets > 0) {
    begin.data_count = static_cast<uint8_t>(layout_.data_rows);
    begin.parity_count = static_cast<uint8_t>(layout_.parity_rows);
    begin.stripes = static_cast<uint32_t>(layout_.stripes);
  }
  send_control(now, attributes_.connection, begin, wire, counters, out);
  begin_wanted_ = false;
  begin_deadline_ = now + round_trip_.overdue();
}

void SendTransfer::send_data(Instant now, WireClock& wire, QueuePairCounters& counters,
                             CommandBatch& out) {
  wants_wire_ = false;
  while (true) {
    if (wire.room() == 0) {
      wants_wire_ = true;
      return;
    }
    const auto run = policy_->next({data_.armed_packets, parity_.armed_packets, wire.room()});
    if (!run) break;
    const uint32_t last_bytes = bytes_of(stream_of(run->role), run->first + run->count - 1);
    const Instant start = wire.send_data(now, run->count, last_bytes);
    policy_->on_sent(*run, start, wire.packet_time());
    send_run(*run, out);
    sent_by_ = wire.free_at();
    (run->role == MessageRole::parity ? counters.parity_packets
     : run->repair                    ? counters.retransmitted_packets
                                      : counters.data_packets) += run->count;
  }
  // A second BEGIN right behind the data of a short transfer: losing the first one then costs no
  // round trip.
  if (!begin_confirmed_ && !begin_repeated_ && data_.armed_packets == data_.packets && bytes_ > 0) {
    begin_repeated_ = true;
    send_begin(now, wire, counters, out);
  }
}

uint32_t SendTransfer::bytes_of(const Stream& stream, uint64_t packet) const {
  const uint32_t mtu_bytes = backend_.capabilities().mtu_bytes;
  return static_cast<uint32_t>(std::min<uint64_t>(mtu_bytes, stream.bytes - packet * mtu_bytes));
}

void SendTransfer::send_run(const PacketRun& run, CommandBatch& out) const {
  const Stream& stream = stream_of(run.role);
  const Capabilities& capabilities = backend_.capabilities();
  for (uint64_t at = run.first, end = run.first + run.count; at < end;) {
    const auto offset = static_cast<uint32_t>(at % kMaxMessagePackets);
    const auto count = static_cast<uint32_t>(
        std::min<uint64_t>({end - at, capabilities.max_run_packets, kMaxMessagePackets - offset}));
    const SlotId slot = stream.slots[at / kMaxMessagePackets];
    out.commands.emplace_back(WriteRun{0, slot.generation, slot.slot, offset, count,
                                       bytes_of(stream, at + count - 1), stream.memory,
                                       at * capabilities.mtu_bytes, user_immediate_});
    at += count;
  }
}

void SendTransfer::probe_if_silent(Instant now, WireClock& wire, QueuePairCounters& counters,
                                   CommandBatch& out) {
  probe_deadline_ = Instant::never();
  if (wants_wire_) return;
  // What left last can be answered a round trip later at the earliest.
  const Instant answerable = std::max(silent_since_, sent_by_ + round_trip_.smoothed());
  const Duration patience = round_trip_.feedback_period() * kSilentPeriods;
  probe_deadline_ = answerable + patience;
  if (now < probe_deadline_) return;
  send_control(now, attributes_.connection, Probe{id_, probe_sequence_++}, wire, counters, out);
  silent_since_ = now;
  probe_deadline_ = now + patience;
}

Instant SendTransfer::next_deadline() const {
  if (status_.state != TransferState::active) return Instant::never();
  Instant deadline = status_.posted + attributes_.give_up;
  if (!cleared_) return deadline;
  deadline = std::min({deadline, policy_->next_deadline(), probe_deadline_});
  return begin_confirmed_ ? deadline : std::min(deadline, begin_deadline_);
}

}  // namespace longhaul
