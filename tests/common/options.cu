// common/bench/options.hpp: everything that is not understood is refused, with one clear line.
#include "common/bench/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/catch.hpp"

namespace {

struct Parsed {
  std::int64_t n = 7;
  std::string sweep;
  std::string file;
  bool list = false;
};

Parsed parse(std::vector<std::string> arguments) {
  Parsed parsed;
  bench::OptionParser parser;
  parser.add_integer("n", "elements", &parsed.n, 1, 1000);
  parser.add_choice("sweep", {"size", "block"}, "what to sweep", &parsed.sweep);
  parser.add_value("json", "FILE", "output", [&](const std::string& text) { parsed.file = text; });
  parser.add_flag("list", "list", [&] { parsed.list = true; });
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  parser.parse(static_cast<int>(arguments.size()), argv.data());
  return parsed;
}

// The message of the UsageError that parsing must throw; empty if it threw nothing.
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const bench::UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options are understood in both spellings and in any order") {
  CHECK(parse({}).n == 7);
  CHECK(parse({"--n", "12"}).n == 12);
  CHECK(parse({"--n=12"}).n == 12);
  CHECK(parse({"--n", "1000"}).n == 1000);
  const Parsed parsed = parse({"--list", "--sweep", "block", "--json", "out.json"});
  CHECK(parsed.list);
  CHECK(parsed.sweep == "block");
  CHECK(parsed.file == "out.json");
}

TEST_CASE("numbers out of range and words that are no numbers are refused") {
  CHECK(refusal({"--n", "0"}) == "--n: 0 is not between 1 and 1000");
  CHECK(refusal({"--n", "-1"}) == "--n: -1 is not between 1 and 1000");
  CHECK(refusal({"--n", "1001"}) == "--n: 1001 is not between 1 and 1000");
  CHECK(refusal({"--n", "99999999999999999999"}) ==
        "--n: 99999999999999999999 is not between 1 and 1000");
  // More than 64 bits is not the largest number of 64 bits, also where that one is allowed.
  const auto of_64_bits = [](const std::string& text) {
    return bench::parse_integer("seed", text, INT64_MIN, INT64_MAX);
  };
  CHECK(of_64_bits("9223372036854775807") == INT64_MAX);
  CHECK_THROWS_AS(of_64_bits("9223372036854775808"), bench::UsageError);
  CHECK_THROWS_AS(of_64_bits("-9223372036854775809"), bench::UsageError);
  for (const char* text : {"abc", "", "-", "12x", "1.5", "1e3", " 12", "+12", "0x10"}) {
    INFO("--n " << text);
    CHECK(refusal({"--n", text}) == "--n: '" + std::string(text) + "' is not a whole number");
  }
}

TEST_CASE("unknown options, missing values and stray arguments are refused") {
  CHECK(refusal({"--nosuch"}) == "unknown option --nosuch (--help lists them)");
  CHECK(refusal({"-x"}) == "unknown option -x (--help lists them)");
  CHECK(refusal({"--n"}) == "--n needs a value");
  CHECK(refusal({"--json", "--list"}) == "--json needs a value, not --list");
  CHECK(parse({"--json=--list"}).file == "--list");  // who means it can say it
  CHECK(refusal({"12"}) == "unexpected argument '12'");
  CHECK(refusal({"--sweep", "stride"}) == "--sweep: 'stride' is not one of size|block");
  CHECK(refusal({"--list=yes"}) == "--list takes no value");
  CHECK(refusal({"-h"}) == "unknown option -h (--help lists them)");  // there is no --help here
}

TEST_CASE("an abbreviation is taken where it fits one option, and refused where it fits several") {
  CHECK(parse({"--sw", "block"}).sweep == "block");
  const auto refusal_of = [](const std::string& argument) {
    bench::OptionParser parser;
    parser.add_flag("repeat", "", [] {});
    parser.add_flag("report", "", [] {});
    std::string program = "program", given = argument;
    char* argv[] = {program.data(), given.data(), nullptr};
    try {
      parser.parse(2, argv);
    } catch (const bench::UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal_of("--rep") == "ambiguous option --rep (--help lists them)");
  CHECK(refusal_of("--r=3") == "ambiguous option --r=3 (--help lists them)");
  CHECK(refusal_of("--repe").empty());
}

TEST_CASE("what is nearly right is named") {
  CHECK(bench::letters_apart("kitten", "sitting") == 3);
  CHECK(bench::letters_apart("", "abc") == 3);
  CHECK(bench::letters_apart("abc", "abc") == 0);
  CHECK(bench::did_you_mean("tild", {"naive", "tiled", "tile"}) == ": did you mean tiled?");
  CHECK(bench::did_you_mean("x", {"y"}).empty());
  CHECK(bench::did_you_mean("abcdef", {"abcxyz"}).empty());
  CHECK(refusal({"--lst"}) == "unknown option --lst: did you mean --list? (--help lists them)");
  CHECK(refusal({"--sweep", "sise"}) ==
        "--sweep: 'sise' is not one of size|block: did you mean size?");
}

TEST_CASE("-h is --help, whose lines fit a screen") {
  bench::OptionParser parser;
  int asked = 0;
  parser.add_flag("list", "list", [] {});
  parser.add_flag("help", "help", [&] { ++asked; });
  for (const char* word : {"-h", "--help", "--he"}) {
    std::string program = "program", given = word;
    char* argv[] = {program.data(), given.data(), nullptr};
    parser.parse(2, argv);
  }
  CHECK(asked == 3);
  parser.add_choice("sweep", {"a", "b"}, std::string(30, 'x') + " " + std::string(30, 'y'),
                    [](int) {});
  const std::string forty(40, 'x');  // with a blank and 39 more it fills a line
  CHECK(bench::wrapped(forty + " " + std::string(39, 'y'), 0).find('\n') == std::string::npos);
  CHECK(bench::wrapped(forty + " " + std::string(40, 'y'), 0)[40] == '\n');
  const std::string left = "  --sweep a|b            ", indent(25, ' ');
  CHECK(parser.help() == "  --list                 list\n  --help                 help\n" + left +
                             std::string(30, 'x') + "\n" + indent + std::string(30, 'y') + "\n");
}

TEST_CASE("an option that is given twice is refused, not ignored once") {
  CHECK(refusal({"--n", "1", "--n", "2"}) == "--n is given twice");
  CHECK(refusal({"--list", "--list"}) == "--list is given twice");
}

TEST_CASE("lists are split at commas, empty parts kept") {
  using List = std::vector<std::string>;
  CHECK(bench::split_commas("a,b") == List{"a", "b"});
  CHECK(bench::split_commas("a") == List{"a"});
  CHECK(bench::split_commas("a,,b") == List{"a", "", "b"});
}
