// common/bench/report.hpp, table.hpp: numbers and tables a person can read, JSON a program can
// read.
#include "common/bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/bench/kept_counts.hpp"
#include "common/bench/table.hpp"
#include "tests/catch.hpp"

namespace {

bench::Row right_row(const char* name, const char* place) {
  bench::Row row;
  row.name = name;
  row.place = place;
  row.verdict = {bench::Status::right, 0, ""};
  return row;
}

void add_time(bench::Row& row, double ms) {
  row.timing.median_ms = ms;
  row.timing.min_ms = ms / 2;
  row.timing.max_ms = 2 * ms;
  row.timing.samples = 10;
  row.gbps = 8 / ms;
  row.gflops = 4 / ms;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

}  // namespace

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

TEST_CASE("where kernels were timed, a table has every column of times that says something") {
  bench::Row cpu = right_row("sequential", "cpu"), trip = right_row("pinned", "round_trip");
  add_time(cpu, 4);
  add_time(trip, 0.5);
  trip.percent_of_roof = 12.34;
  trip.speedup = 8;
  trip.ratio_to_peer = 1.5;
  trip.phases = {{"copy in", 0.25, 32, 50}};
  bench::Row skipped = right_row("cub", "device");
  skipped.verdict = {bench::Status::skipped, bench::kUnknown, "needs CUB"};
  bench::Row chooser = right_row("chosen", "device");
  chooser.chose = "pinned";
  bench::ProblemReport report{"p", {}, false, {cpu, trip, skipped, chooser}};
  CHECK(bench::table_text(report) ==
        "variant        ms spread  GB/s % peak x seq x lib error verdict\n"
        "sequential  4.000  150.0 2.000      -     -     -     0 right\n"
        "pinned     0.5000  150.0 16.00   12.3 8.000 1.500     0 right\n"
        "  copy in  0.2500        32.00   50.0\n"
        "cub             -      -     -      -     -     -     - skipped: needs CUB\n"
        "chosen          -      -     -      -     -     -     0 right, took pinned\n");
  report.rows[1].ratio_to_peer = bench::kUnknown;
  CHECK(bench::table_text(report).find("x lib") == std::string::npos);
  report.rows[0].timing.samples = 1;  // one sample has no spread
  CHECK(bench::table_text(report).find("sequential  4.000      - 2.000") != std::string::npos);
}

TEST_CASE("without times of kernels, a table has the columns that say something") {
  bench::Row cpu = right_row("sequential", "cpu");
  cpu.percent_of_roof = 90;  // of a copy by the CPU: no peak
  const bench::Row kernel = right_row("k", "device");
  const auto table = [&] {
    return bench::table_text(bench::ProblemReport{"p", {}, true, {cpu, kernel}});
  };
  CHECK(table() ==
        "variant    error verdict\n"
        "sequential     0 right\n"
        "k              0 right\n");
  add_time(cpu, 4);
  CHECK(table() ==
        "variant       ms spread GFLOP/s error verdict\n"
        "sequential 4.000  150.0   1.000     0 right\n"
        "k              -      -       -     0 right\n");
}

TEST_CASE("where a row passes 10,000 GFLOP/s, the table is in TFLOP/s") {
  bench::Row row = right_row("k", "device");
  add_time(row, 4);
  const auto rate_at = [&row](double gflops) {
    row.gflops = gflops;
    const auto text = bench::table_text(bench::ProblemReport{"p", {}, true, {row}});
    return text.substr(0, text.find(" error")) + text.substr(text.find('\n'));
  };
  CHECK(rate_at(9999).find("GFLOP/s") != std::string::npos);
  CHECK(rate_at(9999).find(" 9999 ") != std::string::npos);
  CHECK(rate_at(12000).find("TFLOP/s") != std::string::npos);
  CHECK(rate_at(12000).find(" 12.00 ") != std::string::npos);
}

TEST_CASE("what was counted stands in the place of times, beside the verdict") {
  bench::Row tiled = right_row("tiled", "device"), bad = right_row("bad", "device");
  tiled.counts = {2.5e6, 4, 8.25, 1.5, 31.96, 640, 3, 4.2e7};
  bad.counts.active_lanes = 16;
  bad.verdict = {bench::Status::wrong, 1, "1 of 2 wrong"};
  bench::ProblemReport report{"p", {}, false, {tiled, bad}};
  CHECK(bench::table_text(report) ==
        "variant    MB load store passes lanes barrier atomic tensor verdict\n"
        "tiled   2.500  4.0   8.2   1.50  32.0     640      3  42.00 right\n"
        "bad         -    -     -      -  16.0       -      -      - wrong: 1 of 2 "
        "wrong\n");
  // One pass through shared memory is no news.
  report.rows[0].counts.conflict = 1;
  CHECK(bench::table_text(report).find("passes") == std::string::npos);
  // Where both were asked for, times win: a profiler has the counts.
  add_time(report.rows[0], 1);
  const auto timed = bench::table_text(report);
  CHECK(timed.find("spread") != std::string::npos);
  CHECK(timed.find("lanes") == std::string::npos);
}

TEST_CASE(
    "loops of the CPU have a table of times, kernels one of the counts that tell them apart") {
  bench::Row cpu = right_row("sequential", "cpu"), one = right_row("one", "device");
  add_time(cpu, 4);
  one.counts = {2.5e6, 4, 4, 1, 32};
  bench::Row other = one;
  other.name = "other";
  other.counts.load_sectors = 32;
  other.counts.barriers = 640;  // the other has none: the dash tells them apart
  const bench::ProblemReport report{"p", {}, false, {cpu, one, other}};
  CHECK(bench::table_text(report) ==
        "variant       ms spread  GB/s error verdict\n"
        "sequential 4.000  150.0 2.000     0 right\n"
        "\n"
        "variant load barrier verdict\n"
        "one      4.0       - right\n"
        "other   32.0     640 right\n");
  std::string legend;
  for (const bench::Column& column : bench::columns_shown(report)) {
    if (column.use == bench::Use::count) legend += column.title + ": " + column.meaning + "\n";
  }
  CHECK(legend ==
        "load: sectors, pieces of 32 bytes, that one load of a warp touches\n"
        "barrier: executed by warps in one run\n");
}

TEST_CASE("a table fits 80 columns with the longest name and the widest figures") {
  bench::Row cpu = right_row("sequential", "cpu"), kernel = right_row("device", "device");
  kernel.name = "register_double_buffer";  // the longest of all
  add_time(cpu, 0.0001234);
  add_time(kernel, 0.0001234);
  kernel.percent_of_roof = 100;
  kernel.gflops = 1'234'567;
  kernel.speedup = 12'345.6;
  kernel.ratio_to_peer = 1;
  kernel.verdict.max_error = 1.2e-7;
  kernel.chose = "register_double_buffer";
  bench::Row skipped = right_row("cub_reduce", "device");
  skipped.verdict = {bench::Status::skipped, bench::kUnknown,
                     "needs CUB, which comes with the CUDA Toolkit (argmax: version 3), and words "
                     "enough for a second line"};
  bench::ProblemReport report{"p", {}, true, {cpu, kernel, skipped}};
  CHECK(widest_line(bench::table_text(report)) <= bench::kLineWidth);
  CHECK(bench::table_text(report).find("right,\n    took register_double_buffer\n") !=
        std::string::npos);
  CHECK(bench::table_text(report).find("skipped:\n    needs CUB, which") != std::string::npos);
  // Of counts, those of the table that has most of them: attention in 16 bits.
  bench::Row counted = right_row("gemm_softmax_overlap", "device");
  counted.counts = {555.7e6, 16, 32, 16.5, 31.96, 74'088, 8192, 4.2e7};
  report.rows = {cpu, counted, counted, skipped};
  report.rows[2].counts = {0.0332e6, 2.62, 3.45, 1, 32, 8, 1, 8e6};
  CHECK(widest_line(bench::table_text(report)) <= bench::kLineWidth);
  const std::vector<std::string> columns(6, "lost_percent");
  const std::vector<double> point(6, 12'345'678);
  CHECK(widest_line(bench::table_text(bench::Sweep{"p", "s", columns, {point}})) == 5 * 14 - 2);
}

TEST_CASE("a sweep with more columns than fit into a line goes on below") {
  bench::Sweep sweep{"p", "n", {"n", "first", "second"}, {{64, 1, 20}, {128, 3, 4.5}}};
  CHECK(bench::table_text(sweep) ==
        "    n  first  second\n"
        "64.00  1.000   20.00\n"
        "128.0  3.000   4.500\n");
  sweep.columns[1] = std::string(40, 'x');
  sweep.columns[2] = std::string(31, 'y');  // with n and two gaps 80
  CHECK(widest_line(bench::table_text(sweep)) == bench::kLineWidth);
  sweep.columns[2] += 'y';
  const std::string first(35, ' '), second(27, ' ');
  CHECK(bench::table_text(sweep) == "    n  " + sweep.columns[1] + "\n64.00  " + first +
                                        "1.000\n128.0  " + first + "3.000\n\n    n  " +
                                        sweep.columns[2] + "\n64.00  " + second + "20.00\n128.0  " +
                                        second + "4.500\n");
}

TEST_CASE("what a column means fits its line of the legend") {
  std::vector<bench::Column> columns = bench::count_columns();
  using bench::Rate;
  for (const Rate rate : {Rate::bytes, Rate::giga_operations, Rate::tera_operations}) {
    for (const bench::Column& column : bench::time_columns(rate)) columns.push_back(column);
  }
  for (const bench::Column& column : columns) {
    INFO(column.title);
    CHECK(column.title.size() < 10);
    CHECK(10 + column.meaning.size() <= bench::kLineWidth);
  }
}

TEST_CASE("a long line is broken between words") {
  CHECK(bench::wrapped("short", 4) == "short");
  const std::string word(50, 'w');
  CHECK(bench::wrapped(word + " " + word, 4) == word + "\n    " + word);
  CHECK(bench::wrapped(word + " 29 " + word.substr(24), 4) == word + " 29 " + word.substr(24));
  CHECK(bench::wrapped(word + " 29 " + word.substr(23), 2) == word + " 29\n  " + word.substr(23));
  CHECK(bench::wrapped(word + word, 4) == word + word);  // one word
}

TEST_CASE("a row that was right has the counts that were kept of it") {
  std::istringstream file(
      "02_polar: counted yesterday\n"
      "p n=7\n"
      "p/one active_lanes=1\n"
      "01_add: counted today\n"
      "p rows=20 cols=1000\n"
      "p/one load_sectors=4 active_lanes=31.5\n"
      "p/changed\n"
      "p/too\n"
      "p/bad active_lanes=32\n"
      "p/bad_and_changed\n"
      "q/other active_lanes=32\n");
  const bench::KeptCounts kept = bench::read_kept_counts(file, "01_add");
  CHECK(kept.about == "counted today");
  CHECK(kept.rows.size() == 6);
  bench::ProblemReport report{"p", {{"rows", 20}, {"cols", 1000}}, false, {}};
  for (const char* name : {"one", "changed", "too", "bad", "other", "bad_and_changed"}) {
    report.rows.push_back(right_row(name, "device"));
  }
  report.rows[3].verdict.status = report.rows[5].verdict.status = bench::Status::wrong;
  std::string changed;
  const auto rows = bench::with_kept_counts(report, kept, &changed).rows;
  CHECK(changed == "changed, too, bad_and_changed");
  CHECK(rows[0].counts.load_sectors == 4);
  CHECK(rows[0].counts.active_lanes == 31.5);
  CHECK(std::isnan(rows[0].counts.barriers));
  for (int i : {1, 2, 3, 4, 5}) CHECK_FALSE(rows[i].counts.any());
  // What is counted in this run wins.
  report.rows[0].counts.active_lanes = 8;
  CHECK(bench::with_kept_counts(report, kept, &changed).rows[0].counts.active_lanes == 8);
  // A table is of one size: what was counted at another one does not stand in it.
  report.sizes[0].second = 21;
  changed.clear();
  const auto at_another_size = bench::with_kept_counts(report, kept, &changed).rows;
  CHECK(changed == "changed, too, bad, bad_and_changed");
  for (int i : {1, 2, 3, 4, 5}) CHECK_FALSE(at_another_size[i].counts.any());
}

TEST_CASE("no verdict passes the end of a line, however long it is") {
  for (std::size_t length = 60; length < 100; ++length) {
    std::string verdict(length, 'a');  // in words of three letters
    for (std::size_t i = 3; i + 1 < length; i += 4) verdict[i] = ' ';
    CHECK(widest_line(bench::aligned({{"variant", "verdict"}, {"tiled", verdict}})) <=
          bench::kLineWidth);
  }
}

TEST_CASE("kept counts that are none are refused") {
  for (const char* word : {"lanes=4", "active_lanes", "active_lanes4=", "=4"}) {
    std::istringstream file("01_add: x\np/one " + std::string(word) + "\n");
    CHECK_THROWS(bench::read_kept_counts(file, "01_add"));
  }
  std::istringstream no_size("01_add: x\np 1000\n");
  CHECK_THROWS(bench::read_kept_counts(no_size, "01_add"));
}
