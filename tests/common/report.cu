// common/bench/report.hpp: numbers a person can read, JSON a program can read.
#include "common/bench/report.hpp"

#include "tests/catch.hpp"

TEST_CASE("numbers are short and have no exponent where one can do without") {
  CHECK(bench::short_number(0) == "0");
  CHECK(bench::short_number(0.03291) == "0.0329");
  CHECK(bench::short_number(1.65) == "1.650");
  CHECK(bench::short_number(12.345) == "12.35");
  CHECK(bench::short_number(4388.2) == "4388");
  CHECK(bench::short_number(123456) == "123456");
  CHECK(bench::short_number(1.5e-7) == "1.5e-07");
  CHECK(bench::short_number(bench::kUnknown) == "-");
  CHECK(bench::with_decimals(97.25, 1) == "97.2");
  CHECK(bench::with_decimals(bench::kUnknown, 1) == "-");
}

TEST_CASE("large counts are grouped by thousands") {
  CHECK(bench::grouped(7) == "7");
  CHECK(bench::grouped(999) == "999");
  CHECK(bench::grouped(1000) == "1,000");
  CHECK(bench::grouped(10'000'000) == "10,000,000");
}

TEST_CASE("a row in JSON has every field; what was not measured is null") {
  bench::ProblemReport report;
  report.problem = "p";
  report.sizes = {{"n", 5}};
  bench::Row row;
  row.name = "a";
  row.kind = "rung";
  row.place = "cpu";
  row.verdict = {bench::Status::skipped, bench::kUnknown, "needs a GPU"};
  report.rows.push_back(row);
  bench::JsonWriter json;
  json.begin_array();
  bench::write_json(json, report);
  json.end_array();
  CHECK(
      json.text() ==
      R"([{"problem":"p","name":"a","kind":"rung","place":"cpu","sizes":{"n":5},"median_ms":null,"min_ms":null,)"
      R"("max_ms":null,"samples":0,"gbps":null,"gflops":null,"percent_of_roof":null,)"
      R"("speedup":null,"ratio_to_peer":null,"extra_bytes":null,"max_error":null,"status":"skipped",)"
      R"("reason":"needs a GPU","phases":[]}])");
}

TEST_CASE("a timed row in JSON: each figure under its own name") {
  bench::Row row;
  row.name = "fast";
  row.kind = "rung";
  row.place = "device";
  row.verdict = {bench::Status::right, 0.5, ""};
  row.timing.median_ms = 2;
  row.timing.min_ms = 1;
  row.timing.max_ms = 4;
  row.timing.samples = 11;
  row.gbps = 5;
  row.gflops = 6;
  row.percent_of_roof = 7;
  row.speedup = 8;
  row.ratio_to_peer = 9;
  row.extra_bytes = 10;
  row.chose = "other";
  row.phases = {{"copy", 3, 12, 13}};
  bench::JsonWriter json;
  json.begin_array();
  bench::write_json(json, bench::ProblemReport{"p", {{"n", 5}, {"m", 6}}, false, {row}});
  json.end_array();
  CHECK(json.text() ==
        R"([{"problem":"p","name":"fast","kind":"rung","place":"device","sizes":{"n":5,"m":6},)"
        R"("median_ms":2,"min_ms":1,"max_ms":4,"samples":11,"gbps":5,"gflops":6,)"
        R"("percent_of_roof":7,"speedup":8,"ratio_to_peer":9,"extra_bytes":10,"max_error":0.5,)"
        R"("status":"right","reason":"","chose":"other",)"
        R"("phases":[{"name":"copy","median_ms":3,"gbps":12,"percent_of_roof":13}]}])");
}
