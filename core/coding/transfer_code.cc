#include "core/coding/transfer_code.h"

#include <algorithm>
#include <vector>

#include "core/base/check.h"

namespace longhaul {

TransferCode::TransferCode(const StripeLayout& layout, uint32_t stored_packet_bytes)
    : layout_(layout),
      packet_bytes_(stored_packet_bytes),
      code_(layout.data_rows, layout.parity_rows) {}

void TransferCode::encode(std::span<const std::byte> data, std::span<std::byte> parity) const {
  LONGHAUL_CHECK_OP(parity.size(), ==, parity_stored_bytes());
  const size_t row_bytes = layout_.stripes * packet_bytes_;
  const uint32_t last_row = layout_.data_rows - 1;
  const size_t last_row_bytes = data.size() - last_row * row_bytes;
  std::vector<const std::byte*> sources(layout_.data_rows);
  std::vector<std::byte*> outputs(layout_.parity_rows);
  // Two ranges of columns: where the last row has data, and where it counts as zeros.
  const auto encode_columns = [&](size_t begin, size_t end, bool with_last_row) {
    if (begin == end) return;
    for (uint32_t r = 0; r < layout_.data_rows; ++r)
      sources[r] = data.data() + r * row_bytes + begin;
    if (!with_last_row) sources[last_row] = nullptr;
    for (uint32_t r = 0; r < layout_.parity_rows; ++r)
      outputs[r] = parity.data() + r * row_bytes + begin;
    code_.encode(sources, outputs, end - begin);
  };
  encode_columns(0, last_row_bytes, true);
  encode_columns(last_row_bytes, row_bytes, false);
}

uint64_t TransferCode::decode(std::span<std::byte> data, const PacketBitmap& arrived,
                              std::span<const std::byte> parity,
                              const PacketBitmap& parity_arrived) const {
  // Missing packets in stripe order; there are few, or there would be nothing to decode from.
  std::vector<std::pair<uint64_t, uint32_t>> missing;
  for (uint64_t p = arrived.next_clear(0); p < arrived.packets(); p = arrived.next_clear(p + 1)) {
    missing.emplace_back(layout_.stripe_of(p), static_cast<uint32_t>(p / layout_.stripes));
  }
  std::sort(missing.begin(), missing.end());
  std::vector<uint32_t> erased;
  for (size_t i = 0; i < missing.size();) {
    const uint64_t stripe = missing[i].first;
    erased.clear();
    for (; i < missing.size() && missing[i].first == stripe; ++i)
      erased.push_back(missing[i].second);
    decode_stripe(stripe, erased, data, parity, parity_arrived);
  }
  return missing.size();
}

void TransferCode::decode_stripe(uint64_t stripe, std::span<const uint32_t> erased,
                                 std::span<std::byte> data, std::span<const std::byte> parity,
                                 const PacketBitmap& parity_arrived) const {
  std::vector<uint32_t> parity_rows;
  for (uint32_t r = 0; r < layout_.parity_rows && parity_rows.size() < erased.size(); ++r) {
    if (parity_arrived.test(r * layout_.stripes + stripe)) parity_rows.push_back(r);
  }
  LONGHAUL_CHECK_OP(parity_rows.size(), ==, erased.size());
  const auto plan = code_.plan_decode(erased, parity_rows);

  const auto offset = [&](uint32_t row) {
    return (row * layout_.stripes + stripe) * packet_bytes_;
  };
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> outputs;
  // The transfer's last packet may be short: then its missing bytes count as zeros, and are not
  // written, so that the stripe is decoded in two ranges of bytes.
  const size_t last_offset = (layout_.data_packets - 1) * packet_bytes_;
  const size_t last_bytes = data.size() - last_offset;
  const bool short_last =
      last_bytes < packet_bytes_ && offset(layout_.data_rows - 1) == last_offset;
  std::vector<std::byte> scratch;
  const auto decode_bytes = [&](size_t begin, size_t end) {
    sources.clear();
    outputs.clear();
    const auto stored = [&](uint32_t row) { return offset(row) + begin < data.size(); };
    for (const uint32_t source : plan.sources()) {
      if (source >= layout_.data_rows) {
        sources.push_back(parity.data() + offset(source - layout_.data_rows) + begin);
      } else {
        sources.push_back(stored(source) ? data.data() + offset(source) + begin : nullptr);
      }
    }
    for (const uint32_t row : plan.erased()) {
      if (stored(row)) {
        outputs.push_back(data.data() + offset(row) + begin);
      } else {
        scratch.resize(end - begin);
        outputs.push_back(scratch.data());
      }
    }
    code_.decode(plan, sources, outputs, end - begin);
  };
  if (short_last) decode_bytes(0, last_bytes);
  decode_bytes(short_last ? last_bytes : 0, packet_bytes_);
}

}  // namespace longhaul
