#include "core/reliability/policy_spec.h"

#include "core/base/edit_distance.h"
#include "tests/catch.h"

namespace longhaul {
namespace {

TEST_CASE("A policy's name reads back as the same policy") {
  for (const char* name :
       {"sr(nack)", "sr(rto=3rtt)", "sr(rto=1rtt)", "sr(rto=2.5rtt)", "sr(rto=1.001rtt)",
        "sr(rto=1000rtt)", "ec(32,8)", "ec(1,1)", "ec(254,1)", "ec(1,254)",
        "ec(16,4,fallback=0rtt)", "ec(32,8,fallback=0.25rtt)", "ec(32,8,fallback=1000rtt)"}) {
    const ParsedPolicy parsed = parse_policy(name);
    CHECK(parsed.error == "");
    CHECK(parsed.policy.name() == name);
    CHECK(parse_policy(parsed.policy.name()).policy == parsed.policy);
  }
}

TEST_CASE("Other spellings have one canonical name") {
  CHECK(parse_policy("sr").policy.name() == "sr(nack)");
  CHECK(parse_policy("sr()").policy.name() == "sr(nack)");
  CHECK(parse_policy(" sr ( rto = 3 rtt ) ").policy.name() == "sr(rto=3rtt)");
  CHECK(parse_policy("sr(rto=3.000rtt)").policy.name() == "sr(rto=3rtt)");
  CHECK(parse_policy("ec( 032 , 8 )").policy.name() == "ec(32,8)");
  CHECK(parse_policy("ec(32,8,fallback=0.5rtt)").policy.name() == "ec(32,8)");
}

TEST_CASE("A policy's fields") {
  const PolicySpec rto = parse_policy("sr(rto=2.5rtt)").policy;
  CHECK(rto.kind == PolicySpec::Kind::selective_repeat);
  CHECK(rto.detection == PolicySpec::Detection::rto);
  CHECK(rto.rto_millirtt == 2500);

  const PolicySpec nack = parse_policy("sr(nack)").policy;
  CHECK(nack.kind == PolicySpec::Kind::selective_repeat);
  CHECK(nack.detection == PolicySpec::Detection::nack);

  const PolicySpec code = parse_policy("ec(20,10,fallback=0.125rtt)").policy;
  CHECK(code.kind == PolicySpec::Kind::erasure_code);
  CHECK(code.data_count == 20);
  CHECK(code.parity_count == 10);
  CHECK(code.fallback_millirtt == 125);
}

TEST_CASE("What is wrong with a policy, and what would be right") {
  const std::string forms = " Policies: sr(nack), sr(rto=3rtt), ec(32,8), ec(32,8,fallback=0.5rtt)";
  const auto [text, error] = GENERATE_COPY(table<std::string, std::string>({
      {"", "a policy is missing." + forms},
      {"  ", "a policy is missing." + forms},
      {"sw(nack)", "there is no policy \"sw\"; did you mean sr?" + forms},
      {"tcp", "there is no policy \"tcp\"" + forms},
      {"SR", "there is no policy \"SR\"" + forms},
      {"sr(nak)", "sr has no option \"nak\"; did you mean sr(nack)?" + forms},
      {"sr(rot=3rtt)", "sr has no option \"rot\"; did you mean sr(rto=3rtt)?" + forms},
      {"sr(nack,rto=3rtt)", "sr takes one option, got 2: sr(nack) or sr(rto=3rtt)"},
      {"sr(nack=1)", "nack takes no value: sr(nack)"},
      {"sr(rto)", "rto needs a value, for example sr(rto=3rtt)"},
      {"sr(rto=3)", "rto=3 is not in round-trip times; write for example rto=3rtt"},
      {"sr(rto=75ms)", "rto=75ms is not in round-trip times; write for example rto=3rtt"},
      {"sr(rto=rtt)", "rto=rtt is not a number of round-trip times with at most three decimals"},
      {"sr(rto=1.2345rtt)",
       "rto=1.2345rtt is not a number of round-trip times with at most three decimals"},
      {"sr(rto=-3rtt)",
       "rto=-3rtt is not a number of round-trip times with at most three decimals"},
      {"sr(rto=0.999rtt)",
       "rto=0.999rtt is below the round-trip time: every packet would be sent several times; use "
       "1rtt or more, for example sr(rto=3rtt)"},
      {"sr(rto=1000.001rtt)", "rto=1000.001rtt is above 1000rtt"},
      {"sr(rto=99999999999rtt)",
       "rto=99999999999rtt is not a number of round-trip times with at most three decimals"},
      {"sr(nack", "\"sr(nack\" has unbalanced parentheses." + forms},
      {"sr)nack(", "\"sr)nack(\" has unbalanced parentheses." + forms},
      {"ec((32,8))", "\"ec((32,8))\" has unbalanced parentheses." + forms},
      {"ec", "ec needs two counts, data and parity packets of a stripe, for example ec(32,8)"},
      {"ec(32)", "ec needs two counts, data and parity packets of a stripe, for example ec(32,8)"},
      {"ec(32,)", "ec needs two whole numbers, got \"\"; for example ec(32,8)"},
      {"ec(32,x)", "ec needs two whole numbers, got \"x\"; for example ec(32,8)"},
      {"ec(-32,8)", "ec needs two whole numbers, got \"-32\"; for example ec(32,8)"},
      {"ec(0,8)", "ec needs at least 1 data and 1 parity packet, for example ec(32,8)"},
      {"ec(32,0)", "ec needs at least 1 data and 1 parity packet, for example ec(32,8)"},
      {"ec(200,100)",
       "ec(200,100) has stripes of 300 packets; data + parity is at most 255 in GF(256)"},
      {"ec(255,1)",
       "ec(255,1) has stripes of 256 packets; data + parity is at most 255 in GF(256)"},
      {"ec(4294967297,1)", "ec needs two whole numbers, got \"4294967297\"; for example ec(32,8)"},
      {"ec(32,8,beta=0.5rtt)", "ec has no option \"beta\"" + forms},
      {"ec(32,8,fallbak=0.5rtt)",
       "ec has no option \"fallbak\"; did you mean ec(k,m,fallback=0.5rtt)?" + forms},
      {"ec(32,8,fallback)", "fallback needs a value, for example ec(32,8,fallback=0.5rtt)"},
      {"ec(32,8,fallback=0.5)",
       "fallback=0.5 is not in round-trip times; write for example fallback=0.5rtt"},
      {"ec(32,8,fallback=0.5rtt,4)", "ec takes two counts and one option," + forms},
  }));
  CHECK(parse_policy(text).error == error);
}

TEST_CASE("Edit distance counts letters and swaps of neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("rate", "") == 4);
  CHECK(edit_distance("", "rate") == 4);
  CHECK(edit_distance("rate", "rate") == 0);
  CHECK(edit_distance("rte", "rate") == 1);
  CHECK(edit_distance("raite", "rate") == 1);
  CHECK(edit_distance("rage", "rate") == 1);
  CHECK(edit_distance("raet", "rate") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("The nearest word, or none when the text is nothing like any") {
  const std::vector<std::string> words{"distance", "rtt", "rate"};
  CHECK(nearest_word("distanse", words) == "distance");
  CHECK(nearest_word("rat", words) == "rate");  // as near as rate, and first
  CHECK(nearest_word("", words) == "");
  CHECK(nearest_word("colour", words) == "");
  CHECK(nearest_word(std::string(100'000, 'r'), words) == "");
}

}  // namespace
}  // namespace longhaul
