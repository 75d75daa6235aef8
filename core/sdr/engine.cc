#include "core/sdr/engine.h"

namespace longhaul {

void append_writes(const Engine& engine, const Turn& turn, const WriteRun& run,
                   const ChannelMap& channels, uint64_t bytes, uint32_t first, uint32_t count) {
  const uint32_t max_packets = engine.capabilities.max_run_packets;
  for (uint32_t at = first, end = first + count; at < end;) {
    uint32_t length = std::min(end - at, max_packets);
    if (channels.channels > 1)
      length = std::min(length, channels.chunk_packets - at % channels.chunk_packets);
    // Copied whole and then changed in place: the other order stalls on its own stores.
    auto& write = std::get<WriteRun>(turn.out.commands.emplace_back(run));
    write.channel = channels.channel_of(at);
    write.first_packet = at;
    write.packet_count = length;
    write.last_packet_bytes = engine.bytes_of_packet(at + length - 1, bytes);
    write.source_offset += uint64_t{at} * engine.mtu_bytes;
    turn.wire.handed_over(write.channel, length);
    at += length;
  }
}

}  // namespace longhaul
