// The chapters in one file, 01_vector_add/vector_add.cu and its kin: right at awkward sizes, wrong
// where a kernel is, and built by nothing but the compiler's own command line.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/bench/provenance.hpp"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

// A mistake planted into a copy of the source, and the rows of the table that must then be wrong.
struct Mistake {
  std::string right, wrong;
  std::set<std::string> rows;
};

struct Program {
  std::string folder;
  std::vector<std::string> kernels;  // rows of the table
  std::vector<std::string> sizes;    // arguments at which it must be right
  std::string missing;               // too few or too many arguments
  std::string huge;                  // arguments for which no machine has the memory
  std::vector<Mistake> mistakes;

  std::string name() const { return folder.substr(3); }
  std::string source() const { return folder + "/" + name() + ".cu"; }
  std::string built() const { return TEST_BUILD "/" + folder + "/" + name(); }
};

const std::string kHuge = "9223372036854775807";

const std::vector<Program> kPrograms = {
    {"01_vector_add",
     {"one_each", "grid_stride", "vectorized"},
     {"1", "2", "3", "4", "5", "255", "256", "257", "1000003"},
     "1 2",
     kHuge,
     {{"if (i < n) y[i] += x[i];", "if (i < n - 1) y[i] += x[i];", {"one_each"}},
      {"i < n; i += stride", "i < n - 1; i += stride", {"grid_stride"}},
      {"Size i = first; i < n; ++i", "Size i = first; i < n - 1; ++i", {"vectorized"}}}},
    {"02_warp_divergence",
     {"divergent", "uniform", "vector_store"},
     {"1", "2", "127", "128", "129", "257", "100003"},
     "1 2",
     kHuge,
     {{"i % 2 == 0", "i % 2 == 1", {"divergent"}},
      {"z[2 * i + 1] = sinf(phi[i]);", "", {"uniform"}},  // what nobody writes is NaN
      {"&point.y, &point.x", "&point.x, &point.y", {"vector_store"}}}},
    {"03_coalescing",
     {"copy", "naive", "tiled", "padded"},
     {"1 1", "1 1000", "1000 1", "31 33", "32 32", "33 31", "2097185 1", "1 2097185", "67 129"},
     "5",
     kHuge + " " + kHuge,
     {{"out[row * cols + col] = in", "out[row * cols + col] = -in", {"copy"}},
      {"cols) out[col * rows + row] = in", "cols) out[col * rows + row] = -in", {"naive"}},
      {"shared[x][y];", "shared[y][x];", {"tiled", "padded"}}}},
    {"04_matmul",
     {"naive", "coalesced", "tiled"},
     {"1 1 1", "1 1 5000", "1 70001 2", "2097185 1 1", "31 32 33", "64 64 64", "65 33 70"},
     "5 5",
     kHuge + " 1 1",
     {{"++p) sum += a", "++p) sum -= a", {"naive", "coalesced"}},
      {"p < k; p += kTile", "p < k - kTile; p += kTile", {"tiled"}}}},
    {"05_reduction",
     {"atomic", "tree", "shuffles"},
     {"1", "2", "31", "33", "1023", "1024", "1025", "100003"},
     "1 2",
     kHuge,
     {{"atomicAdd(sum, element(x, n));", "atomicAdd(sum, 2 * element(x, n));", {"atomic"}},
      {"half = kBlock / 2; half > 0", "half = kBlock / 2; half > 1", {"tree"}},
      {"half = kWarp / 2; half > 0", "half = kWarp / 2; half > 1", {"shuffles"}}}},
    {"06_atomics_streams",
     {"global", "privatized", "copy, count", "streams"},
     {"1", "2", "15", "16", "17", "255", "257", "100003"},
     "1 2",
     kHuge,
     {{"Count{1}", "Count{2}", {"global"}},
      {"&own[x[i]], 1u", "&own[x[i]], 2u", {"privatized", "copy, count", "streams"}},
      {"(d_x + first, d_bins, length)", "(d_x, d_bins, length)", {"streams"}}}},
    {"07_flash_attention",
     {"matrix", "flash"},
     {"1", "2", "15", "16", "17", "31", "32", "33", "130"},
     "1 2",
     kHuge,
     {{"+ lane] = score;", "+ lane] = 0;", {"matrix"}}, {"sum *= correction;", "", {"flash"}}}},
};

// The rows of a table and what is said of each: name -> the line after the name.
std::vector<std::pair<std::string, std::string>> rows_of(const std::string& output) {
  std::vector<std::pair<std::string, std::string>> rows;
  std::istringstream lines(output);
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (in_table && line.rfind("  ", 0) != 0) {
      std::string name = line.substr(0, 12);
      name.erase(name.find_last_not_of(' ') + 1);
      rows.emplace_back(name, line.substr(std::min<std::size_t>(12, line.size())));
    }
    in_table = in_table || line.rfind("variant ", 0) == 0;
  }
  return rows;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As BUILD_FLAGS, but quicker: of simt the headers are compiled once for all.
std::string compiler() { return "SIMT_PRECOMPILE=1 " BUILD_FLAGS " -O1"; }

// Where a build in a chapter's folder puts its program, as a word of a command.
std::string alone() {
  const auto folder = tests::run_command("realpath " TEST_BUILD "/tests").output;
  return bench::shell_word(folder.substr(0, folder.find('\n')) + "/alone");
}

}  // namespace

TEST_CASE("right at awkward sizes: every variant, in order") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const Program& program : kPrograms) {
    for (const std::string& size : program.sizes) {
      DYNAMIC_SECTION(program.name() << " " << size) {
        const auto result = tests::run_command(program.built() + " " + size + " 2>&1");
        INFO(result.output);
        CHECK(result.status == 0);
        std::vector<std::string> names = {"sequential", "openmp", "copy in"};
        names.insert(names.end(), program.kernels.begin(), program.kernels.end());
        names.push_back("copy out");
        std::vector<std::string> seen;
        for (const auto& [name, said] : rows_of(result.output)) {
          seen.push_back(name);
          const bool is_copy = name.rfind("copy ", 0) == 0;
          const bool is_first = name == "sequential" && ends_with(said, "  reference");
          CHECK((is_copy || is_first || ends_with(said, "  right")));
        }
        CHECK(seen == names);
      }
    }
  }
}

TEST_CASE("without a GPU kernels have no times, and the table says why") {
  if (kit::kHasGpu) SKIP_TEST("needs simt");
  for (const Program& program : kPrograms) {
    DYNAMIC_SECTION(program.name()) {
      const auto result = tests::run_command(program.built() + " " + program.sizes[1]);
      CHECK(result.output.find("kernels are checked here, not timed") != std::string::npos);
      for (const auto& [name, said] : rows_of(result.output)) {
        std::istringstream words(said);
        std::string ms;
        words >> ms;
        const bool is_timed = name == "sequential" || name == "openmp";
        CHECK((ms == "-") != is_timed);
      }
    }
  }
}

TEST_CASE("a bad argument: exit status 2, one line, nothing else") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const Program& program : kPrograms) {
    const std::string& good = program.sizes.front();
    const std::string rest = good.substr(1);  // of a good size, after its first number, which is 1
    std::vector<std::string> all = {program.missing, good + " " + good, program.huge};
    for (const char* bad : {"0", "-1", "abc", "1.5", "''", "5x", "0x10"}) all.push_back(bad + rest);
    for (const std::string& arguments : all) {
      DYNAMIC_SECTION(program.name() << " " << arguments) {
        const std::string command = program.built() + " " + arguments;
        const auto said = tests::run_command(command + " 2>&1 >/dev/null");
        INFO(said.output);
        CHECK(said.status == 2);
        CHECK(said.lines == 1);
        const char* why = arguments == program.huge ? "memory" : "usage: ";
        CHECK(said.output.find(program.name() + ": ") == 0);
        CHECK(said.output.find(why) != std::string::npos);
        CHECK(tests::run_command(command + " 2>/dev/null").output.empty());
      }
    }
  }
}

TEST_CASE("more threads than OpenMP can start: exit status 2, one line") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const Program& program : kPrograms) {
    DYNAMIC_SECTION(program.name()) {
      const auto said = tests::run_command("OMP_NUM_THREADS=100000 " + program.built() + " " +
                                           program.sizes[1] + " 2>&1 >/dev/null");
      INFO(said.output);
      CHECK(said.status == 2);
      CHECK(said.lines == 1);
      CHECK(said.output.find(program.name() + ": OMP_NUM_THREADS asks for 100000") == 0);
    }
  }
}

TEST_CASE("a broken kernel: exit status 1, its rows are wrong, no others, and where is said") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const Program& program : kPrograms) {
    for (const Mistake& mistake : program.mistakes) {
      DYNAMIC_SECTION(program.name() << ": " << mistake.wrong << " for " << mistake.right) {
        std::string text = text_of(program.source());
        const std::size_t at = text.find(mistake.right);
        REQUIRE(at != std::string::npos);
        REQUIRE(text.find(mistake.right, at + 1) == std::string::npos);
        text.replace(at, mistake.right.size(), mistake.wrong);
        const std::string broken = TEST_BUILD "/tests/broken_" + program.name();
        std::ofstream(broken + ".cu") << text;
        const auto built =
            tests::run_command(compiler() + " " + broken + ".cu -o " + broken + " 2>&1");
        INFO(built.output);
        REQUIRE(built.status == 0);

        // The last size of each has edges, and more than one block, tile or chunk.
        const auto result = tests::run_command(broken + " " + program.sizes.back());
        INFO(result.output);
        CHECK(result.status == 1);
        std::set<std::string> wrong;
        for (const auto& [name, said] : rows_of(result.output)) {
          if (ends_with(said, "  WRONG")) wrong.insert(name);
        }
        CHECK(wrong == mistake.rows);
        CHECK(result.output.find(", expected ") != std::string::npos);
      }
    }
  }
}

TEST_CASE("a program is one file: of ours it includes how to check and to time") {
  for (const Program& program : kPrograms) {
    INFO(program.source());
    std::istringstream source(text_of(program.source()));
    std::set<std::string> includes;
    for (std::string line; std::getline(source, line);) {
      if (line.rfind("#include \"", 0) == 0) includes.insert(line.substr(10, line.size() - 11));
    }
    CHECK(includes == std::set<std::string>{"common/kit/check.cuh", "common/kit/cpu_timer.hpp",
                                            "common/kit/gpu_timer.cuh"});
  }
}

TEST_CASE("in its folder simt/nvcc builds it with -I.. alone, and the table says what that lacks") {
  for (const Program& program : kPrograms) {
    DYNAMIC_SECTION(program.name()) {
      const std::string to = alone();
      const auto built = tests::run_command("cd " + program.folder +
                                            " && SIMT_PRECOMPILE=1 ../simt/nvcc -O1 -I.. " +
                                            program.name() + ".cu -o " + to + " 2>&1");
      INFO(built.output);
      CHECK(built.status == 0);
      CHECK(built.output.empty());
      const auto result = tests::run_command(to + " " + program.sizes[1]);
      INFO(result.output);
      CHECK(result.status == 0);
      CHECK(result.output.find("openmp        skipped: built without") != std::string::npos);
    }
  }
}

// Takes most of a minute: at night, and for one commit of nine (.ci/run).
TEST_CASE("in its folder the toolkit's nvcc builds it with -I.. alone, where there is one",
          "[.nvcc]") {
  const auto nvcc = tests::run_command(
      "command -v nvcc || (test -x /usr/local/cuda/bin/nvcc && echo /usr/local/cuda/bin/nvcc)");
  if (nvcc.status != 0) SKIP_TEST("needs nvcc");
  const std::string found = nvcc.output.substr(0, nvcc.output.find('\n'));
  for (const Program& program : kPrograms) {
    DYNAMIC_SECTION(program.name()) {
      const auto built = tests::run_command("cd " + program.folder + " && " + found + " -O3 -I.. " +
                                            program.name() + ".cu -o " + alone() + " 2>&1");
      INFO(built.output);
      CHECK(built.status == 0);
      CHECK(built.output.empty());
    }
  }
}
