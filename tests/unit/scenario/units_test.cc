#include "tools/longhaul/units.h"

#include <limits>

#include "tests/catch.h"

namespace longhaul {
namespace {

TEST_CASE("Quantities are read exactly") {
  const auto [text, dimension, value] = GENERATE(table<const char*, Dimension, uint64_t>({
      {"3750 km", Dimension::distance, 3'750'000'000},
      {"0.5km", Dimension::distance, 500'000},
      {"1.001 m", Dimension::distance, 1'001},
      {"37.5 ms", Dimension::time, 37'500'000'000},
      {"81.92 ns", Dimension::time, 81'920},
      {"1 ps", Dimension::time, 1},
      {"2.5 us", Dimension::time, 2'500'000},
      {"2.5 µs", Dimension::time, 2'500'000},
      {"60 s", Dimension::time, 60'000'000'000'000},
      {"0.000000000001 s", Dimension::time, 1},
      {"400 Gb/s", Dimension::rate, 400'000'000'000},
      {"3.2 Tb/s", Dimension::rate, 3'200'000'000'000},
      {"1 b/s", Dimension::rate, 1},
      {"56 kb/s", Dimension::rate, 56'000},
      {"100 Mb/s", Dimension::rate, 100'000'000},
      {"0 B", Dimension::size, 0},
      {"-0 B", Dimension::size, 0},
      {"+1 B", Dimension::size, 1},
      {"0.5 KiB", Dimension::size, 512},
      {"1e3 B", Dimension::size, 1'000},
      {"1.5e-3 MB", Dimension::size, 1'500},
      {"128 MiB", Dimension::size, 134'217'728},
      {"8 GiB", Dimension::size, 8'589'934'592},
      {"1 TiB", Dimension::size, 1'099'511'627'776},
      {"1 kB", Dimension::size, 1'000},
      {"1 MB", Dimension::size, 1'000'000},
      {"4294967297 B", Dimension::size, 4'294'967'297},
      {"4.2 GB", Dimension::size, 4'200'000'000},
      {"  64 KiB  ", Dimension::size, 65'536},
      {"64    KiB", Dimension::size, 65'536},
  }));
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  CAPTURE(text);
  CHECK(parsed.value == value);
  CHECK(parsed.error == "");
}

TEST_CASE("What is wrong with a quantity") {
  const std::string km = "Units of distance: km, m.";
  const std::string rates = "Units of rate: b/s, kb/s, Mb/s, Gb/s, Tb/s.";
  const std::string sizes = "Units of size: B, KiB, MiB, GiB, TiB, kB, MB, GB.";
  const auto [text, dimension, error,
              remedy] = GENERATE_COPY(table<std::string, Dimension, std::string, std::string>({
      {"400", Dimension::rate, "\"400\" has no unit",
       "Write a unit, for example 400 Gb/s. " + rates},
      {"", Dimension::rate, "\"\" is not a rate",
       "Write a number and a unit, for example 400 Gb/s. " + rates},
      {"fast", Dimension::rate, "\"fast\" is not a rate",
       "Write a number and a unit, for example 400 Gb/s. " + rates},
      {"Gb/s", Dimension::rate, "\"Gb/s\" is not a rate",
       "Write a number and a unit, for example 400 Gb/s. " + rates},
      {"1.2.3 km", Dimension::distance, "\".3 km\" is not a unit of distance", km},
      {"5. km", Dimension::distance, "\"5. km\" is not a distance",
       "Write a number and a unit, for example 3750 km. " + km},
      {"nan km", Dimension::distance, "\"nan km\" is not a distance",
       "Write a number and a unit, for example 3750 km. " + km},
      {"1,000 km", Dimension::distance, "\",000 km\" is not a unit of distance", km},
      {"0x10 km", Dimension::distance, "\"x10 km\" is not a unit of distance", km},
      {"3 KM", Dimension::distance, "\"KM\" is not a unit of distance", "Did you mean km? " + km},
      {"3 mi", Dimension::distance, "\"mi\" is not a unit of distance", "Did you mean m? " + km},
      {"3 ms", Dimension::distance, "\"ms\" is a unit of time, not of distance", km},
      {"-3 km", Dimension::distance, "-3 km is negative", "Write a distance of 0 or more."},
      {"400 Gbps", Dimension::rate, "\"Gbps\" is not a unit of rate",
       "Did you mean Gb/s? " + rates},
      {"400 gbit/s", Dimension::rate, "\"gbit/s\" is not a unit of rate",
       "Did you mean Gb/s? " + rates},
      {"400 Gbit/s", Dimension::rate, "\"Gbit/s\" is not a unit of rate",
       "Did you mean Gb/s? " + rates},
      {"400 GiB", Dimension::rate, "\"GiB\" is a unit of size, not of rate", rates},
      {"64 kib", Dimension::size, "\"kib\" is not a unit of size", "Did you mean KiB? " + sizes},
      {"64 KB", Dimension::size, "\"KB\" is not a unit of size", "Did you mean kB? " + sizes},
      {"0.1 B", Dimension::size, "0.1 B is not a whole number of bytes", "Write fewer decimals."},
      {"1e-400 B", Dimension::size, "1e-400 B is not a whole number of bytes",
       "Write fewer decimals."},
      {"16777216 TiB", Dimension::size, "16777216 TiB is too large",
       "Write a size that makes sense, for example 64 KiB."},
      {"1e300 B", Dimension::size, "1e300 B is too large",
       "Write a size that makes sense, for example 64 KiB."},
      {"1234567890123456789 B", Dimension::size, "\"1234567890123456789 B\" is not a size",
       "Write a number and a unit, for example 64 KiB. " + sizes},
  }));
  const ParsedQuantity parsed = parse_quantity(text, dimension);
  CAPTURE(text);
  CHECK(parsed.error == error);
  CHECK(parsed.remedy == remedy);
}

TEST_CASE("Probabilities, also in per cent, to the last bit") {
  CHECK(parse_probability("1e-4").value == 1e-4);
  CHECK(parse_probability("0.01 %").value == 1e-4);
  CHECK(parse_probability("0.01%").value == 1e-4);
  CHECK(parse_probability("7 %").value == 0.07);
  CHECK(parse_probability("0.3").value == 0.3);
  CHECK(parse_probability("0").value == 0);
  CHECK(parse_probability("0 %").value == 0);
  CHECK(parse_probability("100 %").value == 1);
  CHECK(parse_probability("1").error == "");
  CHECK(parse_probability("101 %").error == "101 % is not between 0 and 1");
  CHECK(parse_probability("-1e-4").error == "-1e-4 is not between 0 and 1");
  CHECK(parse_probability("1.0000001").error == "1.0000001 is not between 0 and 1");
  CHECK(parse_probability("1e300").error == "1e300 is not between 0 and 1");
  CHECK(parse_probability("often").error == "\"often\" is not a probability");
  CHECK(parse_probability("1e-4 km").error == "\"1e-4 km\" is not a probability");
}

TEST_CASE("Plain numbers and counts") {
  CHECK(parse_number("1.2").value == 1.2);
  CHECK(parse_number("1e3").value == 1000);
  CHECK(parse_number("-1").error == "-1 is negative");
  CHECK(parse_number("1e400").error == "1e400 is too large");
  CHECK(parse_number("inf").error == "\"inf\" is not a number");
  CHECK(parse_number("2 %").error == "\"2 %\" is not a number");

  CHECK(parse_count("0").value == 0);
  CHECK(parse_count(" 7 ").value == 7);
  CHECK(parse_count("1e6").value == 1'000'000);
  CHECK(parse_count("18446744073709551615").value == std::numeric_limits<uint64_t>::max());
  CHECK(parse_count("18446744073709551616").error ==
        "\"18446744073709551616\" is not a whole number");
  CHECK(parse_count("1e30").error == "1e30 is too large");
  CHECK(parse_count("2.5").error == "2.5 is not a whole number");
  CHECK(parse_count("-1").error == "-1 is negative");
  CHECK(parse_count("many").error == "\"many\" is not a whole number");
}

TEST_CASE("Quantities for people") {
  CHECK(format_duration({0}) == "0 s");
  CHECK(format_duration({1}) == "1 ps");
  CHECK(format_duration({81'920}) == "81.92 ns");
  CHECK(format_duration(Duration::nanoseconds(-2000)) == "-2 us");
  CHECK(format_duration(Duration::microseconds(37'500)) == "37.5 ms");
  CHECK(format_duration(Duration::microseconds(36'727)) == "36.73 ms");
  CHECK(format_duration({999'960'000}) == "1 ms");  // not 1000 us
  CHECK(format_duration(Duration::seconds(60)) == "60 s");
  CHECK(format_duration(Duration::seconds(2'592'000)) == "2592000 s");
  CHECK(format_duration({std::numeric_limits<int64_t>::min()}) == "-9223372 s");

  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(102) == "102 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(4096) == "4 KiB");
  CHECK(format_bytes(uint64_t{3} << 29) == "1.5 GiB");
  CHECK(format_bytes(uint64_t{1} << 40) == "1 TiB");
  CHECK(format_bytes(134'217'728) == "128 MiB");

  CHECK(format_rate(0) == "0 b/s");
  CHECK(format_rate(400'000'000'000) == "400 Gb/s");
  CHECK(format_rate(3'200'000'000'000) == "3.2 Tb/s");

  CHECK(format_distance(3'750'000'000) == "3750 km");
  CHECK(format_distance(350'000) == "350 m");

  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1'000) == "1,000");
  CHECK(format_count(1'234'567) == "1,234,567");
  CHECK(format_count(std::numeric_limits<uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("What is formatted for people reads back when it is exact") {
  for (const char* text : {"37.5 ms", "81.92 ns", "1 ps", "60 s"}) {
    const auto ps = static_cast<int64_t>(parse_quantity(text, Dimension::time).value);
    CHECK(format_duration({ps}) == text);
  }
  for (const char* text : {"0 B", "102 B", "4 KiB", "128 MiB", "1.5 GiB", "1 TiB"}) {
    CHECK(format_bytes(parse_quantity(text, Dimension::size).value) == text);
  }
}

}  // namespace
}  // namespace longhaul
