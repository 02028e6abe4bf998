// common/bench/json.hpp: what is written is JSON, whatever the values.
#include "common/bench/json.hpp"

#include <limits>
#include <string>

#include "tests/catch.hpp"

TEST_CASE("objects, arrays and values nest with commas in the right places") {
  bench::JsonWriter json;
  json.begin_object();
  json.field("name", "x");
  json.field("count", 3);
  json.field("yes", true);
  json.key("list");
  json.begin_array();
  json.value(1.5);
  json.begin_object();
  json.end_object();
  json.begin_array();
  json.end_array();
  json.end_array();
  json.field("last", std::int64_t{1} << 40);
  json.end_object();
  CHECK(json.text() ==
        R"({"name":"x","count":3,"yes":true,"list":[1.5,{},[]],"last":1099511627776})");
}

TEST_CASE("text is escaped") {
  bench::JsonWriter json;
  json.value("a\"b\\c\nd\x01");
  CHECK(json.text() == R"("a\"b\\c\u000ad\u0001")");
}

TEST_CASE("what is no UTF-8 is replaced byte by byte, and all that is stays") {
  const auto written = [](const std::string& text) {
    bench::JsonWriter json;
    json.value(text);
    return json.text();
  };
  // The first and the last character of each length, and those around what UTF-16 keeps for itself.
  for (const std::string good :
       {"a\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(written(good) == '"' + good + '"');
  }
  const std::string gap = "\\ufffd";
  CHECK(written("a\xff"
                "b") == "\"a" + gap + "b\"");
  // A byte that continues nothing, and characters that end too early or go on with another one.
  CHECK(written("\x80") == '"' + gap + '"');
  CHECK(written("\xc3") == '"' + gap + '"');
  CHECK(written("\xe2\x82") == '"' + gap + gap + '"');
  CHECK(written("\xe2\x82x") == '"' + gap + gap + "x\"");
  CHECK(written("\xc3\"") == '"' + gap + "\\\"\"");
  // Longer than need be, half a pair of UTF-16, beyond Unicode.
  for (const std::string bad : {"\xc0\x80", "\xc1\xbf"})
    CHECK(written(bad) == '"' + gap + gap + '"');
  for (const std::string bad : {"\xe0\x9f\xbf", "\xed\xa0\x80"}) {
    CHECK(written(bad) == '"' + gap + gap + gap + '"');
  }
  for (const std::string bad : {"\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"}) {
    CHECK(written(bad) == '"' + gap + gap + gap + gap + '"');
  }
}

TEST_CASE("whole numbers are exact, others have nine digits") {
  bench::JsonWriter json;
  json.begin_array();
  json.value(327654632987.0);
  json.value(9007199254740992.0);
  json.value(-32.0);
  json.value(0.0);
  json.value(1.0 / 3);
  json.value(1e300);
  json.value(1.5e-9);
  json.end_array();
  CHECK(json.text() == "[327654632987,9007199254740992,-32,0,0.333333333,1e+300,1.5e-09]");
}

TEST_CASE("what JSON cannot say becomes null") {
  bench::JsonWriter json;
  json.begin_array();
  json.value(std::numeric_limits<double>::quiet_NaN());
  json.value(std::numeric_limits<double>::infinity());
  json.end_array();
  CHECK(json.text() == "[null,null]");
}
