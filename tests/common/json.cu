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
  json.value("a\"b\\c\nd\x01 \xc2\xb5s");
  CHECK(json.text() == "\"a\\\"b\\\\c\\u000ad\\u0001 \xc2\xb5s\"");
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
