// Chapter 05: every variant is right at every size, the program refuses what it must refuse, and
// what the lesson claims about the kernels is so.
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "05_reduction/affine/ladder.cu"
#include "05_reduction/scan/ladder.cu"
#include "05_reduction/study/summation_error.cuh"
#include "05_reduction/sum/ladder.cu"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/repeats.hpp"
#include "tests/verify.hpp"

using namespace affine;
using namespace reduction;
using namespace scan;

namespace {

// Around a warp, a float4, the blocks and tiles of the rungs, primes, and some that need many
// blocks or a second pass.
const std::vector<std::int64_t> kSizes = {1,    2,    3,      4,      5,      31,      32,     33,
                                          127,  255,  256,    257,    511,    512,     513,    1021,
                                          1023, 1024, 1025,   2047,   2049,   4095,    4097,   8191,
                                          8192, 8193, 32'767, 32'769, 65'537, 100'003, 300'007};

// On a GPU one more: there every thread of a grid that fills the chip goes round its loop several
// times, and the slots of the scan's ring are used again.
constexpr std::int64_t kLarge = 20'000'003;

// The checked build of the emulator is some fifty times slower.
#ifdef SIMT_INSTRUMENTED
constexpr std::int64_t kLargest = 70'000;
#else
constexpr std::int64_t kLargest = 1'000'000'000;
#endif

std::vector<std::int64_t> sizes_for(const bench::DeviceFacts& device) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t n : kSizes) {
    if (n <= kLargest) sizes.push_back(n);
  }
  if (device.is_real_gpu()) sizes.push_back(kLarge);
  return sizes;
}

std::vector<bench::Settings::Given> all_sizes() {
  std::vector<bench::Settings::Given> sizes;
  for (const std::int64_t n : sizes_for(bench::query_device())) sizes.push_back({{"n", n}});
  return sizes;
}

}  // namespace

TEST_CASE("every variant is right at every size") {
  tests::every_variant_is_right(reduction::ladder(), all_sizes());
  tests::every_variant_is_right(extremum_ladder<Max>(), all_sizes());
  tests::every_variant_is_right(extremum_ladder<ArgMax>(), all_sizes());
  tests::every_variant_is_right(affine::ladder(), all_sizes());
  tests::every_variant_is_right(scan::ladder(), all_sizes());
}

// One tile more than all blocks have slots: some slot is filled a second time.
TEST_CASE("scan: slots that TMA fills again") {
  const auto device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (tests::ran_on_a_smaller_gpu(2)) return;
  auto ladder = scan::ladder();
  ladder.variants = {tests::variant_named(ladder.variants, "producer_warp"),
                     tests::variant_named(ladder.variants, "pipelined")};
  const std::int64_t slots = std::int64_t{scan::kSlots} * device.multiprocessors;
  tests::every_variant_is_right(ladder, {{{"n", (slots + 1) * scan::kRingTile}}});
}

TEST_CASE("every launch is in the stream that was given") {
  const bench::Settings::Given size = {{"n", 70'001}};  // several passes, several tiles
  tests::every_launch_is_in_its_stream(reduction::ladder(), size);
  tests::every_launch_is_in_its_stream(extremum_ladder<ArgMax>(), size);
  tests::every_launch_is_in_its_stream(affine::ladder(), size);
  tests::every_launch_is_in_its_stream(scan::ladder(), size);
}

TEST_CASE("what a run holds", "[.]") {
  tests::takes_what_it_says(reduction::ladder(), {{"n", 200'003}});
  tests::takes_what_it_says(affine::ladder(), {{"n", 200'003}});
  tests::takes_what_it_says(scan::ladder(), {{"n", 200'003}});
}

TEST_CASE("a run takes the memory that it says") {
  tests::passes_by_itself("SIMT_THREADS=1", "what a run holds");
}

TEST_CASE("sums whose grid strides: any grid covers any n, at any address") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  for (const int offset : {0, 1}) {
    for (const int grid : {1, 3}) {
      INFO("offset " << offset << ", " << grid << " blocks");
      Sum sum(20'011, 3);
      sum.each_array([](auto& array) { array.reset(bench::Side::device); });
      const std::int64_t n = sum.n - offset;
      const float* x = sum.x.device_data() + offset;
      const float expected = sum_sequential(sum.x.pristine() + offset, n);
      float* partials = sum.partials.device_data();
      const auto total = [&] {
        std::vector<float> of_blocks(grid);
        CUDA_CHECK(
            cudaMemcpy(of_blocks.data(), partials, grid * sizeof(float), cudaMemcpyDeviceToHost));
        return sum_sequential(of_blocks.data(), grid);
      };
      sum_grid_stride_kernel<<<grid, kSumBlock>>>(x, partials, n);
      CHECK(total() == expected);
      CUDA_CHECK(cudaMemset(partials, 0, grid * sizeof(float)));
      sum_operator_kernel<Plus><<<grid, kSumBlock>>>(x, partials, n);
      CHECK(total() == expected);

      float* result = sum.result.device_data();
      const auto answer = [&] {
        float got = 0;
        CUDA_CHECK(cudaMemcpy(&got, result, sizeof got, cudaMemcpyDeviceToHost));
        return got;
      };
      sum_single_pass_kernel<Plus>
          <<<grid, kSumBlock>>>(x, result, n, partials, sum.counter.device_data());
      CHECK(answer() == expected);
      CUDA_CHECK(cudaMemset(result, 0, sizeof(float)));
      sum_one_atomic_kernel<<<grid, kSumBlock>>>(x, result, n);
      CHECK(answer() == expected);
    }
  }
}

namespace {
__global__ void look_back_kernel(const std::uint64_t* states, std::int64_t tile, float* before) {
  const float sum = look_back(states, tile);
  before[threadIdx.x] = sum;
}

// The state of a tile as its block would publish it.
std::uint64_t published(std::uint64_t flag, float sum) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &sum, sizeof bits);
  return flag | bits;
}
}  // namespace

TEST_CASE("look-back adds up every tile before, however far the last complete one is") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int kTiles = 200;
  const kit::DeviceBuffer<std::uint64_t> d_states(kTiles);
  const kit::DeviceBuffer<float> d_before(32);
  for (const int tile : {0, 1, 31, 32, 33, 64, 65, 100, 199}) {
    for (const int complete : {-1, 0, 1, 30, 31, 32, 33, 63, 64, 98, 198}) {
      if (complete >= tile) continue;
      INFO("tile " << tile << ", complete up to " << complete);
      // Tile t alone has the sum t + 1; what the complete one knows is no sum of such.
      std::vector<std::uint64_t> states(kTiles);
      float expected = 0;
      for (int t = 0; t < tile; ++t) {
        const float value = t == complete ? 1e6f : static_cast<float>(t + 1);
        states[t] = published(t == complete ? kSumUpToEnd : kSumOfTile, value);
        if (t >= complete) expected += value;
      }
      CUDA_CHECK(
          cudaMemcpy(d_states.data(), states.data(), d_states.bytes(), cudaMemcpyHostToDevice));
      look_back_kernel<<<1, 32>>>(d_states.data(), tile, d_before.data());
      CUDA_CHECK(cudaGetLastError());
      std::vector<float> before(32);
      CUDA_CHECK(
          cudaMemcpy(before.data(), d_before.data(), d_before.bytes(), cudaMemcpyDeviceToHost));
      CHECK(before == std::vector<float>(32, expected));
    }
  }
}

TEST_CASE("fifty runs, no hang and no difference") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
#ifdef SIMT_INSTRUMENTED
  SKIP_TEST("too slow with the checks of the emulator");
#else
#ifdef __SIMT__
  const std::int64_t n = 20'011;
#else
  const std::int64_t n = 3'000'017;
#endif
  tests::check_fifty_runs(Sum(n, 11), reduction::ladder().variants);
  tests::check_fifty_runs(Reduction<ArgMax>(n, 11), extremum_ladder<ArgMax>().variants);
  tests::check_fifty_runs(Affine(n, 11), affine::ladder().variants);
  tests::check_fifty_runs(Scan(n, 11), scan::ladder().variants);
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

  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  const auto all_right = [&](auto problem, const auto& variants) {
    for (const auto& variant : variants) {
      // CUB's answer to n = 0 is its own affair, and the affine peer has no last element.
      if (variant.kind == bench::Kind::peer || variant.kind == bench::Kind::yardstick) continue;
      const auto verdict = tests::verify(problem, variant, device, stream.get());
      INFO(variant.name << ": " << verdict.reason);
      CHECK(verdict.status != bench::Status::wrong);
    }
  };
  all_right(Sum(0, 1), reduction::ladder().variants);
  all_right(Reduction<Max>(0, 1), extremum_ladder<Max>().variants);
  all_right(Reduction<ArgMax>(0, 1), extremum_ladder<ArgMax>().variants);
  all_right(Affine(0, 1), affine::ladder().variants);
  all_right(Scan(0, 1), scan::ladder().variants);
}

TEST_CASE("the check of a sum notices one element left out or taken twice") {
  Sum problem(100'003, 5);
  const float* x = problem.x.pristine();
  problem.result.reset(bench::Side::host);
  float& result = *problem.result.host_data();
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
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  constexpr std::int64_t n = 40'003;
  for (const std::int64_t first : {0, 3, 255, 256, 8'191, 20'000, 40'001}) {
    Reduction<ArgMax> problem(n, 3);
    for (const std::int64_t i : {first, first + 1, n - 1}) problem.x.pristine()[i] = 2;
    problem.expected = {2, first};
    for (const auto& variant : extremum_ladder<ArgMax>().variants) {
      if (!bench::why_skipped(variant, device).empty()) continue;
      const auto verdict = tests::verify(problem, variant, device, stream.get());
      INFO(variant.name << ", first at " << first << ": " << verdict.reason);
      CHECK(verdict.status != bench::Status::wrong);
    }
  }
}

TEST_CASE("the maximum of negative numbers is negative") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  Reduction<Max> problem(1'003, 3);
  for (std::int64_t i = 0; i < problem.n; ++i) problem.x.pristine()[i] -= 1.5f;
  problem.expected -= 1.5f;
  REQUIRE(problem.expected < 0);
  for (const auto& variant : extremum_ladder<Max>().variants) {
    if (!bench::why_skipped(variant, device).empty()) continue;
    INFO(variant.name);
    CHECK(tests::verify(problem, variant, device, stream.get()).status != bench::Status::wrong);
  }
}

TEST_CASE("the tuned sum is right for any number of tiles a block") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const bench::WorkStream stream(device);
  for (const int tiles : {1, 2, 3, 16}) {
    const auto variant =
        bench::device_variant<Reduction<ArgMax>>("tuned", "", [tiles](auto& p, cudaStream_t s) {
          launch_tuned<ArgMax>(p.x.device_data(), p.result.device_data(), p.n, tiles,
                               p.partials.device_data(), p.counter.device_data(), s);
        });
    for (const std::int64_t n : {kTunedTile - 1, kTunedTile, 2 * kTunedTile, 2 * kTunedTile + 1,
                                 3 * kTunedTile + 5, 7 * kTunedTile - 1}) {
      Reduction<ArgMax> problem(n, 13);
      problem.x.pristine()[n - 1] = 2;  // the largest one lies where a tile ends
      problem.expected = {2, n - 1};
      const auto verdict = tests::verify(problem, variant, device, stream.get());
      INFO(tiles << " tiles, n = " << n << ": " << verdict.reason);
      CHECK(verdict.status == bench::Status::right);
    }
  }
}

// A float travels in one word, value and position in four.
template <class Op>
void check_announcements(const std::vector<std::int64_t>& sizes, int tiles,
                         const bench::DeviceFacts& device) {
  const bench::WorkStream stream(device);
  const auto variant =
      bench::device_variant<Reduction<Op>>("early_ticket", "", [tiles](auto& p, cudaStream_t s) {
        launch_early_ticket<Op>(p.x.device_data(), p.result.device_data(), p.n, tiles,
                                p.words.device_data(), p.counter.device_data(), s);
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
      const auto verdict = tests::verify(problem, variant, device, stream.get());
      INFO(Op::name << ", " << tiles << " tiles, n = " << n << ", at " << at << ": "
                    << verdict.reason);
      CHECK(verdict.status == bench::Status::right);
      problem.x.pristine()[at] = before;
      problem.expected = expected;
    }
  }
}

TEST_CASE("partials of any size announce themselves, for any number of tiles a block") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  for (const int tiles : {1, 2, 5}) {
    std::vector<std::int64_t> sizes = {kEarlyTile - 1, kEarlyTile, 2 * kEarlyTile + 1,
                                       7 * kEarlyTile - 1};
    // More blocks than the last one asks for at once; the emulator would take minutes.
    if (device.is_real_gpu() && tiles == 1) sizes.push_back(2'100 * kEarlyTile);
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

TEST_CASE("sum and scan take pointers that are not aligned to 16 bytes, or refuse them") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 20'003;
  for (const int offset : {1, 2, 3, 4}) {  // 4: aligned again, but not to the allocation
    const std::int64_t m = n - offset;
    Sum sum(n, 3);
    sum.each_array([](auto& array) { array.reset(bench::Side::device); });
    sum.expected = sum_sequential(sum.x.pristine() + offset, m);
    const float* x = sum.x.device_data() + offset;
    const auto check_sum = [&](const char* name) {
      CUDA_CHECK(cudaDeviceSynchronize());
      sum.each_array([](auto& array) { array.fetch(bench::Side::device); });
      INFO(name << ", offset " << offset);
      CHECK(sum.check().right());
      CHECK(sum.counter.damage() == "");
      CHECK(sum.words.damage() == "");
      sum.result.reset(bench::Side::device);
    };
    sum_grid_stride(x, sum.result.device_data(), m, sum.partials.device_data(), nullptr);
    check_sum("grid_stride");
    sum_operator<Plus>(x, sum.result.device_data(), m, sum.partials.device_data(), nullptr);
    check_sum("operator");
    sum_single_pass<Plus>(x, sum.result.device_data(), m, sum.partials.device_data(),
                          sum.counter.device_data(), nullptr);
    check_sum("single_pass");
    const auto tuned = [&] {
      sum_tuned<Plus>(x, sum.result.device_data(), m, sum.partials.device_data(),
                      sum.counter.device_data(), nullptr);
    };
    const auto early_ticket = [&] {
      sum_early_ticket<Plus>(x, sum.result.device_data(), m, sum.words.device_data(),
                             sum.counter.device_data(), nullptr);
    };
    const std::string chosen =
        sum_chosen<Plus>(x, sum.result.device_data(), m, sum.partials.device_data(),
                         sum.words.device_data(), sum.counter.device_data(), nullptr);
    check_sum("chosen");
    if (offset % 4 == 0) {
      CHECK(chosen == "early_ticket");
      tuned();
      check_sum("tuned");
      early_ticket();
      check_sum("early_ticket");
    } else {
      CHECK(chosen == "single_pass");
      CHECK_THROWS_AS(tuned(), kit::Skip);
      CHECK_THROWS_AS(early_ticket(), kit::Skip);
    }
  }
}

TEST_CASE("scan: of x and y only one need be where float4 may not go, and it works") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t n = 20'003;
  Scan scan(n, 3);
  using Rung = std::function<void(const float*, float*, std::int64_t)>;
  const auto with_states = [&scan](auto rung) -> Rung {
    return [&scan, rung](const float* x, float* y, std::int64_t m) {
      rung(x, y, m, scan.states.device_data(), scan.counters.device_data(), nullptr);
    };
  };
  std::vector<Rung> rungs = {[&scan](const float* x, float* y, std::int64_t m) {
                               scan_registers(x, y, m, scan.totals.device_data(), nullptr);
                             },
                             with_states(scan_single_pass)};
  if (device.compute_capability() >= 90 &&
      device.shared_bytes_per_block_optin >= static_cast<int>(sizeof(ScanRing))) {
    rungs.push_back(with_states(scan_producer_warp));
    rungs.push_back(with_states(scan_pipelined));
  }
  for (const int offset : {1, 2, 3, 4}) {  // 4: aligned again, but not to the allocation
    const std::int64_t m = n - offset;
    for (const auto& [x_at, y_at] :
         {std::pair<int, int>{offset, 0}, {0, offset}, {offset, offset}}) {
      float before = 0;
      for (int i = 0; i < x_at; ++i) before += scan.x.pristine()[i];
      for (std::size_t r = 0; r < rungs.size(); ++r) {
        INFO("rung " << r << ", x at " << x_at << ", y at " << y_at);
        scan.each_array([](auto& array) { array.reset(bench::Side::device); });
        rungs[r](scan.x.device_data() + x_at, scan.y.device_data() + y_at, m);
        CUDA_CHECK(cudaDeviceSynchronize());
        scan.each_array([](auto& array) { array.fetch(bench::Side::device); });
        std::int64_t wrong = 0;
        for (std::int64_t i = 0; i < m; ++i) {
          wrong += !(scan.y.fetched()[y_at + i] == scan.expected[x_at + i] - before);
        }
        CHECK(wrong == 0);
        for (int i = 0; i < y_at; ++i) CHECK(bench::is_poison(scan.y.fetched()[i]));
        for (std::int64_t i = y_at + m; i < n; ++i) CHECK(bench::is_poison(scan.y.fetched()[i]));
        scan.each_array([](auto& array) { CHECK(array.damage() == ""); });
      }
    }
  }
}

TEST_CASE("a rung works where the one before it left its scratch") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  // Sizes go up and down; nothing is cleared in between but by the rungs themselves.
  const std::int64_t most = 70'001;
  Scan scan(most, 3);
  Sum sum(most, 3);
  scan.each_array([](auto& array) { array.reset(bench::Side::device); });
  sum.each_array([](auto& array) { array.reset(bench::Side::device); });
  for (const std::int64_t n : {70'001, 5, 33'000, 1, 70'001, 4'097}) {
    scan_single_pass(scan.x.device_data(), scan.y.device_data(), n, scan.states.device_data(),
                     scan.counters.device_data(), nullptr);
    sum_single_pass<Plus>(sum.x.device_data(), sum.result.device_data(), n,
                          sum.partials.device_data(), sum.counter.device_data(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    scan.y.fetch(bench::Side::device);
    sum.result.fetch(bench::Side::device);
    CHECK(scan.y.fetched()[n - 1] == scan.expected[n - 1]);
    CHECK(*sum.result.fetched() == sum_sequential(sum.x.pristine(), n));
    sum_early_ticket<Plus>(sum.x.device_data(), sum.result.device_data(), n,
                           sum.words.device_data(), sum.counter.device_data(), nullptr);
    CUDA_CHECK(cudaDeviceSynchronize());
    sum.result.fetch(bench::Side::device);
    CHECK(*sum.result.fetched() == sum_sequential(sum.x.pristine(), n));
  }
  sum.each_array([](auto& array) { array.fetch(bench::Side::device); });
  CHECK(sum.words.damage() == "");
  CHECK(sum.counter.damage() == "");
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
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  // A thread adds up 16 elements four by four, then the tree of the block, then that of the last.
  CHECK(error(sum_on_device(x.data(), n)) <= (4 + 2 + 10 + 1 + 10) * u);
}

TEST_CASE("float sums: the last block adds in a fixed order, so runs agree bit by bit") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  std::vector<float> x(50'000);
  fill_positive(x.data(), x.size(), 6);
  const float first = sum_on_device(x.data(), x.size());
  for (int run = 0; run < 20; ++run) CHECK(sum_on_device(x.data(), x.size()) == first);
}

// The last block of one sum waits for its others while blocks of another sum take their places.
// Every launch adds up other elements, so a word of another launch would show.
TEST_CASE("float sums in two streams at once end, and agree bit by bit with one after the other") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const std::int64_t n = device.is_real_gpu() ? kLarge : 100'003;
  const int launches = device.is_real_gpu() ? 200 : 5;  // in each stream
  const std::int64_t elements = n + 4 * 2 * launches;
  std::vector<float> x(elements);
  fill_positive(x.data(), elements, 6);
  const kit::DeviceBuffer<float> d_x(elements);
  CUDA_CHECK(cudaMemcpy(d_x.data(), x.data(), d_x.bytes(), cudaMemcpyHostToDevice));

  struct Lane {
    bench::WorkStream stream;
    kit::DeviceBuffer<float> sums;
    kit::DeviceBuffer<std::uint64_t> words;
    kit::DeviceBuffer<unsigned> counter{1};
    Lane(const bench::DeviceFacts& device, std::int64_t n, int launches)
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

// What the lesson says that each rung changes, as counts of the emulator.
#if SIMT_INSTRUMENTED

namespace {

// Runs one variant of `variants` at size n and returns what its kernels did, those whose name
// contains `kernel`.
template <class Problem>
simt::KernelProfile count(const std::vector<bench::Variant<Problem>>& variants,
                          const std::string& name, std::int64_t n, const std::string& kernel) {
  Problem problem(n, 3);
  const bench::WorkStream stream(bench::query_device());
  const auto& variant = tests::variant_named(variants, name);
  problem.each_array([](auto& array) { array.reset(bench::Side::device); });
  CUDA_CHECK(cudaDeviceSynchronize());
  simt::profile_reset();
  variant.run(problem, stream.get());
  CUDA_CHECK(cudaDeviceSynchronize());
  simt::profile_stop();
  return simt::profile(kernel);
}

simt::KernelProfile count_sum(const std::string& name, std::int64_t n) {
  return count(reduction::ladder().variants, name, n, "sum_" + name + "_kernel");
}

constexpr std::int64_t n = 1 << 14;

}  // namespace

TEST_CASE("the trees: lanes drop out, then banks collide, then neither") {
  const auto divergent = count_sum("divergent_tree", n);
  const auto conflicting = count_sum("conflicting_tree", n);
  const auto sequential = count_sum("sequential_tree", n);

  // The same additions with fuller warps: fewer instructions, and more lanes in each.
  CHECK(conflicting.instructions < divergent.instructions);
  CHECK(conflicting.active_lanes_per_instruction() > divergent.active_lanes_per_instruction());
  CHECK(conflicting.divergent_branches < divergent.divergent_branches);

  CHECK(sequential.instructions < divergent.instructions);
  CHECK(sequential.divergent_branches < divergent.divergent_branches);

  CHECK(divergent.shared.load_conflict_degree() == 1.0);
  CHECK(conflicting.shared.load_conflict_degree() > 2.0);
  CHECK(conflicting.shared.load_max_degree == 8);
  CHECK(sequential.shared.load_conflict_degree() == 1.0);
  CHECK(sequential.shared.store_conflict_degree() == 1.0);
}

TEST_CASE("the trees: the lesson's table") {
  constexpr std::int64_t size = 1 << 18;
  constexpr std::uint64_t kBlocks = 1024 + 4 + 1;  // of the three passes
  const auto divergent = count_sum("divergent_tree", size).shared;
  const auto conflicting = count_sum("conflicting_tree", size).shared;
  const auto sequential = count_sum("sequential_tree", size).shared;

  // An addition loads twice; at the end each block loads its sum once more.
  const auto additions = [](const auto& shared) { return (shared.load_requests - kBlocks) / 2; };
  CHECK(additions(divergent) == 48'363);
  CHECK(additions(conflicting) == 12'348);
  CHECK(additions(sequential) == 12'348);

  // What the second tree saves in requests it pays back in conflicts: as many passes as the first.
  CHECK(divergent.load_wavefronts == 97'755);
  CHECK(conflicting.load_wavefronts == 97'755);
  CHECK(sequential.load_wavefronts == 25'725);
}

TEST_CASE("fewer barriers from rung to rung") {
  // 64 blocks of 256 elements and one for their sums; one barrier after loading, one a step.
  CHECK(count_sum("sequential_tree", n).barriers == 65 * 9);
  CHECK(count_sum("first_add", n).barriers == 33 * 9);
  CHECK(count_sum("shuffle_down", n).barriers == 33);
  CHECK(count_sum("shuffle_xor", n).barriers == 33);
}

TEST_CASE("every sum reads each element once") {
  for (const char* name : {"single_block", "grid_stride", "operator", "single_pass", "one_atomic",
                           "tuned", "early_ticket"}) {
    const auto counts = count_sum(name, n);
    INFO(name);
    CHECK(counts.global.load_bytes >= 4 * n);
    CHECK(counts.global.load_bytes < 4.1 * n);  // and the partial sums
  }
}

TEST_CASE("float4: 16 sectors a request instead of 4") {
  CHECK(count_sum("first_add", n).global.load_sectors_per_request() == 4.0);
  CHECK(count_sum("tuned", 4 * n).global.load_sectors_per_request() > 15.0);
}

TEST_CASE("one launch, and one atomic per block") {
  const auto single = count_sum("single_pass", n);
  CHECK(single.launches == 1);
  CHECK(single.atomics.global_requests == single.threads / kSumBlock);
  CHECK(count_sum("grid_stride", n).launches == 2);
  const auto atomic = count_sum("one_atomic", n);
  CHECK(atomic.launches == 1);
  CHECK(atomic.atomics.global_requests == atomic.threads / kSumBlock);
}

// How often the last block looks for the others is a matter of time, so there is no upper bound of
// what it loads; with one block, above, there is.
TEST_CASE("early_ticket: one launch, one number a block") {
  const auto counts = count_sum("early_ticket", 8 * n);
  CHECK(counts.launches == 1);
  CHECK(counts.threads == 8 * kTunedBlock);
  CHECK(counts.atomics.global_requests == 8);
  CHECK(counts.global.load_bytes >= 4 * 8 * n);
}

TEST_CASE("ordered reduction: runs cost 32 sectors a request, rows 8") {
  const auto runs = count(affine::ladder().variants, "contiguous", n, "affine_contiguous_kernel");
  const auto rows =
      count(affine::ladder().variants, "ordered_shuffle", n, "affine_ordered_shuffle_kernel");
  CHECK(runs.global.load_sectors_per_request() > 31.0);
  CHECK(rows.global.load_sectors_per_request() < 8.1);
  CHECK(runs.global.load_bytes == rows.global.load_bytes);
}

TEST_CASE("scan: four passes over memory, three, two") {
  const auto passes = [](const char* name) {
    const auto global = count(scan::ladder().variants, name, 4 * n, "scan_").global;
    return static_cast<double>(global.load_bytes_moved() + global.store_bytes_moved()) / (16 * n);
  };
  // Besides the array, each warp of a tile reads what lies before it: up to a quarter of a pass
  // here.
  const auto about = [](double value, double wanted) {
    return value >= wanted - 0.01 && value < wanted + 0.25;
  };
  CHECK(about(passes("three_kernels"), 4 - 2.0 / 64));  // the first of 64 tiles is not added to
  CHECK(about(passes("reduce_then_scan"), 3));
  CHECK(about(passes("registers"), 3));
  CHECK(about(passes("single_pass"), 2));
}

TEST_CASE("scan: Blelloch adds less and conflicts more") {
  const auto hillis =
      count(scan::ladder().variants, "hillis_steele", n, "scan_hillis_steele_kernel");
  const auto blelloch = count(scan::ladder().variants, "blelloch", n, "scan_blelloch_kernel");
  CHECK(blelloch.shared.store_requests < hillis.shared.store_requests);
  CHECK(hillis.shared.load_conflict_degree() < 1.1);
  CHECK(blelloch.shared.load_conflict_degree() > 1.5);
  CHECK(blelloch.barriers > 1.5 * hillis.barriers);
}

#else

TEST_CASE("counts of the rungs") { SKIP_TEST("counters need simt"); }

#endif
