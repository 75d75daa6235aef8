#pragma once

/// A receive completion as a NIC reports it.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace longhaul {

/// Field for field the layout of rdma-core's `ibv_wc`, so that what ibv_poll_cq has written can be
/// read in place.
struct ReceiveCompletion {
  uint64_t wr_id = 0;   ///< set when the receive was posted: the generation of its queue pair
  uint32_t status = 0;  ///< kCompletionSuccess, or everything but wr_id is undefined
  uint32_t opcode = 0;
  uint32_t vendor_err = 0;
  uint32_t byte_len = 0;
  uint32_t imm_data = 0;  ///< network order
  uint32_t qp_num = 0;
  uint32_t src_qp = 0;
  uint32_t wc_flags = 0;
  uint16_t pkey_index = 0;
  uint16_t slid = 0;
  uint8_t sl = 0;
  uint8_t dlid_path_bits = 0;
};
static_assert(sizeof(ReceiveCompletion) == 48);
static_assert(offsetof(ReceiveCompletion, status) == 8);
static_assert(offsetof(ReceiveCompletion, imm_data) == 24);
static_assert(offsetof(ReceiveCompletion, pkey_index) == 40);
static_assert(offsetof(ReceiveCompletion, dlid_path_bits) == 45);

inline constexpr uint32_t kCompletionSuccess = 0;       ///< IBV_WC_SUCCESS
inline constexpr uint32_t kReceiveWithImmediate = 129;  ///< IBV_WC_RECV_RDMA_WITH_IMM

/// Between host and network order, either way.
constexpr uint32_t swap_network_order(uint32_t value) {
  if constexpr (std::endian::native == std::endian::big) return value;
  return __builtin_bswap32(value);
}

}  // namespace longhaul
