// common/report.hpp: numbers a person can read, JSON a program can read.
#include "common/report.hpp"

#include "tests/catch.hpp"

TEST_CASE("numbers are short and have no exponent where one can do without") {
  CHECK(common::short_number(0) == "0");
  CHECK(common::short_number(0.03291) == "0.0329");
  CHECK(common::short_number(1.65) == "1.650");
  CHECK(common::short_number(12.345) == "12.35");
  CHECK(common::short_number(4388.2) == "4388");
  CHECK(common::short_number(123456) == "123456");
  CHECK(common::short_number(1.5e-7) == "1.5e-07");
  CHECK(common::short_number(common::kUnknown) == "-");
  CHECK(common::with_decimals(97.25, 1) == "97.2");
  CHECK(common::with_decimals(common::kUnknown, 1) == "-");
}

TEST_CASE("large counts are grouped by thousands") {
  CHECK(common::grouped(7) == "7");
  CHECK(common::grouped(999) == "999");
  CHECK(common::grouped(1000) == "1,000");
  CHECK(common::grouped(10'000'000) == "10,000,000");
}

TEST_CASE("a row in JSON has every field; what was not measured is null") {
  common::ProblemReport report;
  report.problem = "p";
  report.sizes = {{"n", 5}};
  common::Row row;
  row.name = "a";
  row.kind = "rung";
  row.place = "cpu";
  row.verdict = {common::Status::skipped, common::kUnknown, "needs a GPU"};
  report.rows.push_back(row);
  common::JsonWriter json;
  json.begin_array();
  common::write_json(json, report);
  json.end_array();
  CHECK(
      json.text() ==
      R"([{"problem":"p","name":"a","kind":"rung","place":"cpu","sizes":{"n":5},"median_ms":null,"min_ms":null,)"
      R"("max_ms":null,"samples":0,"gbps":null,"gflops":null,"percent_of_roof":null,)"
      R"("speedup":null,"ratio_to_peer":null,"extra_bytes":null,"max_error":null,"status":"skipped",)"
      R"("reason":"needs a GPU","phases":[]}])");
}
