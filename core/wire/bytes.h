#pragma once

/// Writing and reading the bytes that both ends exchange: big-endian integers, LEB128, raw bytes.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace longhaul {

/// Appends to a vector that must outlive it.
class ByteWriter {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  template <class T>
  void fixed(T value) {
    for (size_t i = sizeof(T); i-- > 0;) out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::byte>(value | 0x80));
    out_.push_back(static_cast<std::byte>(value));
  }
  void raw(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

 private:
  std::vector<std::byte>& out_;
};

/// Reads past the end yield zeros (no bytes at all from `raw`) and set `truncated`; checked once at
/// the end. `invalid` is set by `varint`, and by callers who find a value out of range.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T fixed() {
    if (bytes_.size() < sizeof(T)) return fail();
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value =
          static_cast<T>(static_cast<uint64_t>(value) << 8 | std::to_integer<uint64_t>(bytes_[i]));
    }
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return fail();
      const auto byte = std::to_integer<uint64_t>(bytes_.front());
      bytes_ = bytes_.subspan(1);
      if (shift == 63 && byte > 1) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    invalid = true;
    return 0;
  }
  /// The next `count` bytes, which belong to the span that is being read.
  std::span<const std::byte> raw(size_t count) {
    if (bytes_.size() < count) {
      fail();
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  size_t left() const { return bytes_.size(); }

  bool truncated = false;
  bool invalid = false;

 private:
  uint8_t fail() {
    truncated = true;
    bytes_ = {};
    return 0;
  }
  std::span<const std::byte> bytes_;
};

}  // namespace longhaul
