// Chapter 05: every variant is right at every size, the program refuses what it must refuse, and
// what the lesson claims about the kernels is so.
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "05_reduction/affine/variants.cuh"
#include "05_reduction/scan/variants.cuh"
#include "05_reduction/sum/variants.cuh"
#include "05_reduction/summation_error.cuh"
#include "common/harness.cuh"
#include "tests/catch.hpp"
#include "tests/repeats.hpp"
#include "tests/run_command.hpp"

namespace {

const std::string kProgram = TEST_BUILD "/05_reduction/reduction";

// Around a warp, a float4, the blocks and tiles of the rungs, primes, and some that need many
// blocks or a second pass.
const std::vector<std::int64_t> kSizes = {1,    2,    3,      4,      5,      31,      32,     33,
                                          127,  255,  256,    257,    511,    512,     513,    1021,
                                          1023, 1024, 1025,   2047,   2049,   4095,    4097,   8191,
                                          8192, 8193, 32'767, 32'769, 65'537, 100'003, 300'007};

// On a GPU one more: there every thread of a grid that fills the chip goes round its loop several
// times, and the slots of the scan's ring are used again.
constexpr std::int64_t kLarge = 20'000'003;

// The checked build of the CPU layer is some fifty times slower.
#ifdef SIMT_INSTRUMENTED
constexpr std::int64_t kLargest = 70'000;
#else
constexpr std::int64_t kLargest = 1'000'000'000;
#endif

std::vector<std::int64_t> sizes_for(const common::DeviceFacts& device) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : kSizes) {
    if (n <= kLargest) sizes.push_back(n);
  }
  if (device.keeps_time()) sizes.push_back(kLarge);
  return sizes;
}

template <class Problem>
void check_all(const std::vector<common::Variant<Problem>>& variants) {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  for (const auto& variant : variants) {
    DYNAMIC_SECTION(variant.name) {
      const std::string reason = common::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      for (const std::int64_t n : sizes_for(device)) {
        INFO("n = " << n);
        Problem problem(n, 7);
        const auto verdict = common::verify(problem, variant, device, stream.get());
        INFO(verdict.reason);
        REQUIRE(verdict.status != common::Status::wrong);
        if (verdict.status == common::Status::skipped) SKIP_TEST(verdict.reason);
        CHECK(verdict.max_error == 0.0);
      }
    }
  }
}

}  // namespace

TEST_CASE("sum: every variant is right at every size") { check_all(sum_variants()); }
TEST_CASE("max: every variant is right at every size") { check_all(extremum_variants<Max>()); }
TEST_CASE("argmax: every variant is right at every size") {
  check_all(extremum_variants<ArgMax>());
}
TEST_CASE("affine: every variant is right at every size") { check_all(affine_variants()); }
TEST_CASE("scan: every variant is right at every size") { check_all(scan_variants()); }

TEST_CASE("fifty runs, no hang and no difference") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
#ifdef SIMT_INSTRUMENTED
  SKIP_TEST("too slow with the checks of the CPU layer");
#else
#ifdef __SIMT__
  const std::int64_t n = 20'011;
#else
  const std::int64_t n = 3'000'017;
#endif
  tests::check_fifty_runs(Sum(n, 11), sum_variants());
  tests::check_fifty_runs(Reduction<ArgMax>(n, 11), extremum_variants<ArgMax>());
  tests::check_fifty_runs(Affine(n, 11), affine_variants());
  tests::check_fifty_runs(Scan(n, 11), scan_variants());
#endif
}

TEST_CASE("n = 0 gives the identity") {
  CHECK(sum_sequential(nullptr, 0) == 0);
  CHECK(sum_openmp(nullptr, 0) == 0);
  const AffineMap none = affine_sequential(nullptr, 0), none_openmp = affine_openmp(nullptr, 0);
  CHECK((none.a == 1 && none.b == 0));
  CHECK((none_openmp.a == 1 && none_openmp.b == 0));
  scan_sequential(nullptr, nullptr, 0);
  scan_openmp(nullptr, nullptr, 0);

  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const common::WorkStream stream(device);
  const auto all_right = [&](auto problem, const auto& variants) {
    for (const auto& variant : variants) {
      // CUB's answer to n = 0 is its own affair, and the affine peer has no last element.
      if (variant.kind != common::Kind::rung) continue;
      const auto verdict = common::verify(problem, variant, device, stream.get());
      INFO(variant.name << ": " << verdict.reason);
      CHECK(verdict.status != common::Status::wrong);
    }
  };
  all_right(Sum(0, 1), sum_variants());
  all_right(Reduction<Max>(0, 1), extremum_variants<Max>());
  all_right(Reduction<ArgMax>(0, 1), extremum_variants<ArgMax>());
  all_right(Affine(0, 1), affine_variants());
  all_right(Scan(0, 1), scan_variants());
}

TEST_CASE("the check of a sum notices one element left out or taken twice") {
  Sum problem(100'003, 5);
  const float* x = problem.x.pristine();
  problem.result.reset(common::Side::host);
  float& result = *problem.result.on_host();
  result = sum_sequential(x, problem.n);
  CHECK(problem.check().right());
  for (const std::int64_t i : {0, 1, 50'000, 100'002}) {
    const float right = result;
    result = right - x[i];
    CHECK_FALSE(problem.check().right());
    result = right + x[i];
    CHECK_FALSE(problem.check().right());
    result = right;
  }
  result = std::nanf("");
  CHECK_FALSE(problem.check().right());
}

TEST_CASE("of equal largest elements argmax names the first, wherever they are") {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  constexpr std::int64_t n = 40'003;
  for (const std::int64_t first : {0, 3, 255, 256, 8'191, 20'000, 40'001}) {
    Reduction<ArgMax> problem(n, 3);
    for (const std::int64_t i : {first, first + 1, n - 1}) problem.x.pristine()[i] = 2;
    problem.expected = {2, first};
    for (const auto& variant : extremum_variants<ArgMax>()) {
      if (!common::why_skipped(variant, device).empty()) continue;
      const auto verdict = common::verify(problem, variant, device, stream.get());
      INFO(variant.name << ", first at " << first << ": " << verdict.reason);
      CHECK(verdict.status != common::Status::wrong);
    }
  }
}

TEST_CASE("the maximum of negative numbers is negative") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  Reduction<Max> problem(1'003, 3);
  for (std::int64_t i = 0; i < problem.n; ++i) problem.x.pristine()[i] -= 1.5f;
  problem.expected -= 1.5f;
  REQUIRE(problem.expected < 0);
  for (const auto& variant : extremum_variants<Max>()) {
    if (!common::why_skipped(variant, device).empty()) continue;
    INFO(variant.name);
    CHECK(common::verify(problem, variant, device, stream.get()).status != common::Status::wrong);
  }
}

TEST_CASE("the tuned sum is right for any number of tiles a block") {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const common::WorkStream stream(device);
  for (const int tiles : {1, 2, 3, 16}) {
    const auto variant =
        common::on_device<Reduction<ArgMax>>("tuned", "", [tiles](auto& p, cudaStream_t s) {
          launch_tuned<ArgMax>(p.x.on_device(), p.result.on_device(), p.n, tiles,
                               p.partials.on_device(), p.counter.on_device(), s);
        });
    for (const std::int64_t n : {kTunedTile - 1, kTunedTile, 2 * kTunedTile, 2 * kTunedTile + 1,
                                 3 * kTunedTile + 5, 7 * kTunedTile - 1}) {
      Reduction<ArgMax> problem(n, 13);
      problem.x.pristine()[n - 1] = 2;  // the largest one lies where a tile ends
      problem.expected = {2, n - 1};
      const auto verdict = common::verify(problem, variant, device, stream.get());
      INFO(tiles << " tiles, n = " << n << ": " << verdict.reason);
      CHECK(verdict.status == common::Status::right);
    }
  }
}

// A float travels in one word, value and position in four.
template <class Op>
void check_announcements(const std::vector<std::int64_t>& sizes, int tiles,
                         const common::DeviceFacts& device) {
  const common::WorkStream stream(device);
  const auto variant =
      common::on_device<Reduction<Op>>("early_ticket", "", [tiles](auto& p, cudaStream_t s) {
        launch_early_ticket<Op>(p.x.on_device(), p.result.on_device(), p.n, tiles,
                                p.words.on_device(), p.counter.on_device(), s);
      });
  for (const std::int64_t n : sizes) {
    Reduction<Op> problem(n, 13);
    // In the first block, one in the middle, the last: the largest element decides, if one does.
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      const float before = problem.x.pristine()[at];
      const auto expected = problem.expected;
      if constexpr (std::is_same_v<Op, ArgMax>) {
        problem.x.pristine()[at] = 2;
        problem.expected = {2, at};
      }
      const auto verdict = common::verify(problem, variant, device, stream.get());
      INFO(Op::name << ", " << tiles << " tiles, n = " << n << ", at " << at << ": "
                    << verdict.reason);
      CHECK(verdict.status == common::Status::right);
      problem.x.pristine()[at] = before;
      problem.expected = expected;
    }
  }
}

TEST_CASE("partials of any size announce themselves, for any number of tiles a block") {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  for (const int tiles : {1, 2, 5}) {
    std::vector<std::int64_t> sizes = {kEarlyTile - 1, kEarlyTile, 2 * kEarlyTile + 1,
                                       7 * kEarlyTile - 1};
    // More blocks than the last one asks for at once; the CPU layer would take minutes.
    if (device.keeps_time() && tiles == 1) sizes.push_back(2'100 * kEarlyTile);
    check_announcements<Plus>(sizes, tiles, device);
    check_announcements<ArgMax>(sizes, tiles, device);
  }
}

TEST_CASE("early_ticket: one tile a block for small n, four where SMs have enough to do") {
  const std::int64_t round = 12 * 132 * kEarlyTile;  // twelve blocks for each of 132 SMs
  CHECK(tiles_per_early_block(0, 132) == 1);
  CHECK(tiles_per_early_block(2 * round - 1, 132) == 1);
  CHECK(tiles_per_early_block(2 * round, 132) == 2);
  CHECK(tiles_per_early_block(4 * round, 132) == 4);
  CHECK(tiles_per_early_block(std::int64_t{1} << 40, 132) == 4);
}

TEST_CASE("affine maps do not commute: any other order gives another map") {
  Affine problem(4'099, 9);
  AffineMap* maps = problem.maps.pristine();
  const auto same = [&](AffineMap m) {
    return m.a == problem.expected.a && m.b == problem.expected.b;
  };
  CHECK(same(affine_sequential(maps, problem.n)));
  // The order of a grid-stride loop: thread t takes t, t + 256, ..., and then the threads meet.
  AffineMap all = identity_map();
  for (int t = 0; t < 256; ++t) {
    for (std::int64_t i = t; i < problem.n; i += 256) all = then(all, maps[i]);
  }
  CHECK_FALSE(same(all));
  std::swap(maps[2'000], maps[2'001]);
  CHECK_FALSE(same(affine_sequential(maps, problem.n)));
}

TEST_CASE("sum and scan take pointers that are not aligned to 16 bytes") {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 20'003;
  for (const int offset : {1, 2, 3, 4}) {  // 4: aligned again, but not to the allocation
    const std::int64_t m = n - offset;
    Sum sum(n, 3);
    sum.each_array([](auto& array) { array.reset(common::Side::device); });
    sum.expected = sum_sequential(sum.x.pristine() + offset, m);
    const float* x = sum.x.on_device() + offset;
    const auto check_sum = [&](const char* name) {
      CUDA_CHECK(cudaDeviceSynchronize());
      sum.each_array([](auto& array) { array.fetch(common::Side::device); });
      INFO(name << ", offset " << offset);
      CHECK(sum.check().right());
      CHECK(sum.counter.damage().empty());
      CHECK(sum.words.damage().empty());
      sum.result.reset(common::Side::device);
    };
    sum_grid_stride(x, sum.result.on_device(), m, sum.partials.on_device(), nullptr);
    check_sum("grid_stride");
    sum_operator<Plus>(x, sum.result.on_device(), m, sum.partials.on_device(), nullptr);
    check_sum("operator");
    sum_single_pass<Plus>(x, sum.result.on_device(), m, sum.partials.on_device(),
                          sum.counter.on_device(), nullptr);
    check_sum("single_pass");
    sum_tuned<Plus>(x, sum.result.on_device(), m, sum.partials.on_device(), sum.counter.on_device(),
                    nullptr);
    check_sum("tuned");
    sum_early_ticket<Plus>(x, sum.result.on_device(), m, sum.partials.on_device(),
                           sum.words.on_device(), sum.counter.on_device(), nullptr);
    check_sum("early_ticket");

    Scan scan(n, 3);
    float before = 0;
    for (int i = 0; i < offset; ++i) before += scan.x.pristine()[i];
    using Rung =
        void (*)(const float*, float*, std::int64_t, std::uint64_t*, unsigned*, cudaStream_t);
    std::vector<Rung> rungs = {scan_single_pass};
    if (device.compute_capability() >= 90 &&
        device.shared_bytes_per_block_optin >= static_cast<int>(sizeof(ScanRing))) {
      rungs.push_back(scan_pipelined);
    }
    for (const Rung rung : rungs) {
      scan.each_array([](auto& array) { array.reset(common::Side::device); });
      rung(scan.x.on_device() + offset, scan.y.on_device() + offset, m, scan.states.on_device(),
           scan.counters.on_device(), nullptr);
      CUDA_CHECK(cudaDeviceSynchronize());
      scan.each_array([](auto& array) { array.fetch(common::Side::device); });
      std::int64_t wrong = 0;
      for (std::int64_t i = offset; i < n; ++i) {
        wrong += !(scan.y.fetched()[i] == scan.expected[i] - before);
      }
      CHECK(wrong == 0);
      CHECK(common::is_poison(scan.y.fetched()[offset - 1]));
      CHECK(scan.y.damage().empty());
      CHECK(scan.states.damage().empty());
      CHECK(scan.counters.damage().empty());
    }
  }
}

TEST_CASE("a rung works where the one before it left its scratch") {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  // Sizes go up and down; nothing is cleared in between but by the rungs themselves.
  const std::int64_t most = 70'001;
  Scan scan(most, 3);
  Sum sum(most, 3);
  scan.each_array([](auto& array) { array.reset(common::Side::device); });
  sum.each_array([](auto& array) { array.reset(common::Side::device); });
  for (const std::int64_t n : {70'001, 5, 33'000, 1, 70'001, 4'097}) {
    scan_single_pass(scan.x.on_device(), scan.y.on_device(), n, scan.states.on_device(),
                     scan.counters.on_device(), nullptr);
    sum_single_pass<Plus>(sum.x.on_device(), sum.result.on_device(), n, sum.partials.on_device(),
                          sum.counter.on_device(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    scan.y.fetch(common::Side::device);
    sum.result.fetch(common::Side::device);
    CHECK(scan.y.fetched()[n - 1] == scan.expected[n - 1]);
    CHECK(*sum.result.fetched() == sum_sequential(sum.x.pristine(), n));
    sum_early_ticket<Plus>(sum.x.on_device(), sum.result.on_device(), n, sum.partials.on_device(),
                           sum.words.on_device(), sum.counter.on_device(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    sum.result.fetch(common::Side::device);
    CHECK(*sum.result.fetched() == sum_sequential(sum.x.pristine(), n));
  }
  sum.each_array([](auto& array) { array.fetch(common::Side::device); });
  CHECK(sum.words.damage().empty());
  CHECK(sum.counter.damage().empty());
}

TEST_CASE("sums of arbitrary floats stay within their bounds") {
  const std::int64_t n = 100'000;
  std::vector<float> x(n);
  fill_positive(x.data(), n, 4);
  const double exact = exact_sum(x.data(), n);
  // All elements are positive, so the sum of their sizes is the sum: errors are relative to it.
  const auto error = [&](double sum) { return std::fabs(sum - exact) / exact; };
  const double u = 0x1p-24;
  const double tree = std::ceil(std::log2(n));
  CHECK(error(sum_sequential(x.data(), n)) <= n * u);
  CHECK(error(sum_pairwise(x.data(), n)) <= tree * u);
  CHECK(error(sum_kahan(x.data(), n)) <= 2 * u + n * u * u);
  CHECK(error(sum_in_double(x.data(), n)) <= n * 0x1p-53);
  // The loop is the bad one: that is what the table in the lesson shows.
  CHECK(error(sum_sequential(x.data(), n)) > 10 * error(sum_kahan(x.data(), n)));
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  // A thread adds up 16 elements four by four, then the tree of the block, then that of the last.
  CHECK(error(sum_on_device(x.data(), n)) <= (4 + 2 + 10 + 1 + 10) * u);
}

TEST_CASE("float sums: the last block adds in a fixed order, so runs agree bit by bit") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  std::vector<float> x(50'000);
  fill_positive(x.data(), x.size(), 6);
  const float first = sum_on_device(x.data(), x.size());
  for (int run = 0; run < 20; ++run) CHECK(sum_on_device(x.data(), x.size()) == first);
}

// The last block of one sum waits for its others while blocks of another sum take their places.
// Every launch adds up other elements, so a word of another launch would show.
TEST_CASE("float sums in two streams at once end, and agree bit by bit with one after the other") {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const std::int64_t n = device.keeps_time() ? kLarge : 100'003;
  const int launches = device.keeps_time() ? 200 : 5;  // in each stream
  const std::int64_t elements = n + 4 * 2 * launches;
  std::vector<float> x(elements);
  fill_positive(x.data(), elements, 6);
  const common::DeviceBuffer<float> d_x(elements);
  CUDA_CHECK(cudaMemcpy(d_x.data(), x.data(), d_x.bytes(), cudaMemcpyHostToDevice));

  struct Lane {
    common::WorkStream stream;
    common::DeviceBuffer<float> sums;
    common::DeviceBuffer<std::uint64_t> words;
    common::DeviceBuffer<unsigned> counter{1};
    Lane(const common::DeviceFacts& device, std::int64_t n, int launches)
        : stream(device), sums(launches), words(Sum::words_for(n)) {
      CUDA_CHECK(cudaMemset(words.data(), 0, words.bytes()));
      CUDA_CHECK(cudaMemset(counter.data(), 0, counter.bytes()));
      CUDA_CHECK(cudaDeviceSynchronize());
    }
  };
  const Lane lanes[] = {Lane(device, n, launches), Lane(device, n, launches)};
  const auto run = [&](const Lane& lane, int i) {
    const int number = 2 * i + (&lane == &lanes[1] ? 1 : 0);
    launch_early_ticket<Plus>(d_x.data() + 4 * number, lane.sums.data() + i, n, 1,
                              lane.words.data(), lane.counter.data(), lane.stream.get());
  };
  const auto sums_of = [&](const Lane& lane) {
    CUDA_CHECK(cudaStreamSynchronize(lane.stream.get()));
    std::vector<float> sums(launches);
    CUDA_CHECK(
        cudaMemcpy(sums.data(), lane.sums.data(), lane.sums.bytes(), cudaMemcpyDeviceToHost));
    return sums;
  };
  std::vector<float> alone[2];
  for (int l = 0; l < 2; ++l) {
    for (int i = 0; i < launches; ++i) run(lanes[l], i);
    alone[l] = sums_of(lanes[l]);
    CUDA_CHECK(cudaMemset(lanes[l].sums.data(), 0xff, lanes[l].sums.bytes()));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  const double exact = exact_sum(x.data(), n);
  CHECK(std::fabs(alone[0][0] - exact) <= 50 * 0x1p-24 * exact);
  CHECK(alone[0][0] != alone[1][launches - 1]);

  for (int i = 0; i < launches; ++i) {
    for (const Lane& lane : lanes) run(lane, i);
  }
  for (int l = 0; l < 2; ++l) {
    CHECK(sums_of(lanes[l]) == alone[l]);
    std::vector<std::uint64_t> words(lanes[l].words.size());
    CUDA_CHECK(cudaMemcpy(words.data(), lanes[l].words.data(), lanes[l].words.bytes(),
                          cudaMemcpyDeviceToHost));
    CHECK(words == std::vector<std::uint64_t>(words.size(), 0));
    unsigned counter = 1;
    CUDA_CHECK(
        cudaMemcpy(&counter, lanes[l].counter.data(), sizeof counter, cudaMemcpyDeviceToHost));
    CHECK(counter == 0);
  }
}

TEST_CASE("bad arguments: exit status 2 and one line, at once") {
  for (const char* arguments :
       {"--n 0", "--n -1", "--n abc", "--n 99999999999999", "--n 99999999999999999999",
        "--n 1000000000000", "--n 1.5", "--n ''", "--n", "--only nosuch", "--only ''", "--nosuch",
        "-n 5", "stray", "--repeats 0", "--seed -1", "--sweep nosuch",
        "--json /nonexistent/out.json --n 10 --only scan/sequential"}) {
    INFO(arguments);
    const auto result = tests::run_command(kProgram + " " + arguments + " 2>&1 >/dev/null");
    CHECK(result.status == 2);
    CHECK(result.lines == 1);
    CHECK(result.seconds < 5.0);
  }
}

TEST_CASE("--list prints one variant a line") {
  const auto result = tests::run_command(kProgram + " --list");
  CHECK(result.status == 0);
  const std::size_t variants = sum_variants().size() + 2 * extremum_variants<Max>().size() +
                               affine_variants().size() + scan_variants().size();
  CHECK(result.lines == static_cast<int>(variants));
}

TEST_CASE("a small run is right and prints a table per problem and the table of errors") {
  const auto result = tests::run_command(kProgram + " --n 5000 --repeats 2");
  INFO(result.output);
  CHECK(result.status == 0);
  for (const char* problem : {"sum", "max", "argmax", "affine", "scan"}) {
    CHECK(result.output.find("\n" + std::string(problem) + ", n = 5,000") != std::string::npos);
  }
  CHECK(result.output.find("error of a sum of floats") != std::string::npos);
  CHECK(result.output.find("wrong") == std::string::npos);
}

TEST_CASE("sweeps print a table each") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  const auto tiles = tests::run_command(kProgram + " --sweep tiles --n 20000 --repeats 1");
  INFO(tiles.output);
  CHECK(tiles.status == 0);
  CHECK(tiles.output.find("sum, swept over tiles") != std::string::npos);
  const auto size = tests::run_command(kProgram + " --sweep size --n 65536 --repeats 1");
  INFO(size.output);
  CHECK(size.status == 0);
  CHECK(size.output.find("sum, swept over size") != std::string::npos);
  CHECK(size.output.find("scan, swept over size") != std::string::npos);
}

TEST_CASE("--only takes a problem, a variant, or both") {
  const auto result =
      tests::run_command(kProgram + " --n 1000 --repeats 2 --only affine,scan/openmp");
  CHECK(result.status == 0);
  CHECK(result.output.find("\naffine, ") != std::string::npos);
  CHECK(result.output.find("\nscan, ") != std::string::npos);
  CHECK(result.output.find("\nsum, ") == std::string::npos);
  CHECK(result.output.find("\nblelloch ") == std::string::npos);
}
