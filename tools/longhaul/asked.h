#pragma once

/// What was asked, in words: the head of the table and of the report.

#include <string>
#include <utility>
#include <vector>

#include "tools/longhaul/results.h"

namespace longhaul {

/// ("path", "400 Gb/s, RTT 36.7 ms, ..."), ("loss", ...). What differs between points is listed.
std::vector<std::pair<std::string, std::string>> describe_asked(const Results& results);

/// The same as a short paragraph for readers who have never seen Longhaul.
std::string describe_question(const Results& results);

/// Round-trip time without queueing.
Duration rtt(const sim::PathSpec& path);
/// Bytes in flight when the path is full: rate x round-trip time.
uint64_t bandwidth_delay_bytes(const sim::PathSpec& path);
/// Data packets of one message; a message of 0 bytes has none.
uint64_t packets_of(const Point& point);

}  // namespace longhaul
