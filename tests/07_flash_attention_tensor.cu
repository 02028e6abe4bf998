// Chapter 07, the rungs for tensor cores: right for every shape around their tiles, masked rows,
// large scores, and the same result every time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "07_flash_attention/attention_16bit/c_interface.cu"
#include "07_flash_attention/attention_16bit/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "tests/07_flash_attention.hpp"
#include "tests/by_itself.hpp"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"
#include "tests/verify.hpp"

using namespace attention;

namespace {

using tests::in_16_bits;

template <class T>
using Rungs = std::vector<bench::Variant<Problem<T>>>;

template <class T>
Rungs<T> tensor_rungs() {
  Rungs<T> rungs;
  const auto ladder = attention_16bit_ladder<T>();
  for (const auto& variant : ladder.variants) {
    const bool is_ours = variant.kind == bench::Kind::rung || variant.kind == bench::Kind::chooser;
    if (is_ours && variant.name != "naive") rungs.push_back(variant);
  }
  return rungs;
}

// The rungs that this device runs; if there are none, the reason in `why_none`.
template <class T>
Rungs<T> rungs_here(std::string& why_none) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  Rungs<T> rungs;
  Problem<T> smallest({1, 1, 1, 1, 64, false}, 1);
  for (const auto& rung : tensor_rungs<T>()) {
    const auto verdict = tests::verify(smallest, rung, device, stream.get());
    if (verdict.status != bench::Status::skipped) rungs.push_back(rung);
    why_none = rungs.empty() ? verdict.reason : "";
  }
  return rungs;
}

// Those of `rungs` that have one of these names, which the ladder for bf16 must know.
template <class AnyRungs>
AnyRungs named(const AnyRungs& rungs, const std::set<std::string>& names) {
  const auto all = tensor_rungs<__nv_bfloat16>();
  for (const auto& name : names) tests::variant_named(all, name);
  AnyRungs found;
  for (const auto& rung : rungs) {
    if (names.count(rung.name) > 0) found.push_back(rung);
  }
  return found;
}

// Calls test(element, rungs, device, stream) for an element of either 16-bit type, with the rungs
// that this device runs; a section is skipped if there are none.
template <class Test>
void with_rungs(Test test) {
  in_16_bits([&](auto element) {
    std::string why_none;
    const auto rungs = rungs_here<decltype(element)>(why_none);
    if (rungs.empty()) SKIP_TEST(why_none);
    const bench::DeviceFacts device = bench::query_device();
    const bench::WorkStream stream(device);
    test(element, rungs, device, stream.get());
  });
}

// Runs every rung on every shape, with each of these d, causal and not.
void check_with(const std::vector<int>& head_dims, const std::vector<Shape>& shapes,
                double spread) {
  with_rungs([&](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    for (Shape shape : shapes) {
      for (const int d : head_dims) {
        for (const bool causal : {false, true}) {
          shape.d = d;
          shape.causal = causal;
          Problem<decltype(element)> problem(shape, 7, spread);
          for (const auto& rung : rungs) tests::check_variant(problem, rung, device, stream);
        }
      }
    }
  });
}

// The same with every d; without a GPU those above 64 take long.
void check_here(const std::vector<Shape>& shapes, double spread) {
  check_with(tests::is_real_gpu() ? std::vector{64, 128, 256} : std::vector{64}, shapes, spread);
}

}  // namespace

TEST_CASE("attention in 16 bits: the rows that use no rung for tensor cores are right") {
  in_16_bits([](auto element) {
    using T = decltype(element);
    const bench::DeviceFacts device = bench::query_device();
    const bench::WorkStream stream(device);
    const auto ladder = attention_16bit_ladder<T>();
    for (const char* name : {"naive", "cublas"}) {
      DYNAMIC_SECTION(name) {
        const auto& variant = tests::variant_named(ladder.variants, name);
        const std::string reason = bench::why_skipped(variant, device);
        if (!reason.empty()) SKIP_SECTION(reason);
        for (const Shape shape : {Shape{1, 1, 1, 1, 64, false}, Shape{2, 3, 5, 7, 64, false},
                                  Shape{1, 2, 31, 33, 64, false}, Shape{1, 1, 65, 63, 64, false},
                                  Shape{1, 1, 37, 101, 128, false}, Shape{1, 2, 33, 33, 64, true},
                                  Shape{1, 1, 97, 17, 64, true}, Shape{1, 1, 129, 129, 64, true},
                                  Shape{1, 1, 35, 34, 256, true}}) {
          Problem<T> problem(shape, 7);
          tests::check_variant(problem, variant, device, stream.get());
          // All scores are kept, 16 bits each.
          if (variant.name == "naive") {
            CHECK(problem.workspace.asked_bytes() == 2.0 * shape.rows() * shape.n_k);
          }
        }
      }
    }
  });
}

TEST_CASE("attention, tensor cores: there are rungs, and each names what it needs") {
  in_16_bits([](auto element) {
    using T = decltype(element);
    CHECK(tensor_rungs<T>().size() >= (std::is_same_v<T, __nv_bfloat16> ? 18 : 4));
    bool is_hopper = false;  // all rungs after the first that needs it, but for the chooser
    for (const auto& rung : tensor_rungs<T>()) {
      INFO(rung.name);
      CHECK(rung.needs.compute_capability >= 80);
      is_hopper = is_hopper || rung.needs.exactly_this_capability;
      CHECK(rung.needs.exactly_this_capability == (is_hopper && rung.kind != bench::Kind::chooser));
    }
    CHECK(is_hopper);
  });
}

TEST_CASE("attention, tensor cores: right for one query, one key, and around every tile") {
  // Tiles have 64 to 256 queries, of which a warpgroup has 64, and 32, 64, 80 or 128 keys.
  check_here({{1, 1, 1, 1, 64, false},
              {3, 1, 1, 2, 64, false},
              {1, 2, 15, 17, 64, false},
              {1, 1, 31, 33, 64, false},
              {2, 1, 63, 65, 64, false},
              {1, 3, 64, 64, 64, false},
              {1, 1, 65, 79, 64, false},
              {1, 1, 80, 81, 64, false},
              {1, 1, 127, 129, 64, false},
              {1, 1, 128, 128, 64, false},
              {1, 1, 129, 127, 64, false},
              {1, 1, 191, 193, 64, false},
              {1, 1, 193, 191, 64, false}},
             1);
}

TEST_CASE("attention, tensor cores: where d is 64, three or four warpgroups compute") {
  // In longest_first tiles of 256 queries, of which some warpgroups have none, then of 192; in
  // early_scores with a mask of 192 where they fit. In the last three cases there are more of them
  // than SMs.
  if (tests::ran_on_a_smaller_gpu(2)) return;
  const int heads = kit::multiprocessor_count() + 1;
  with_rungs([&](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    for (const bool causal : {false, true}) {
      for (const Shape& shape : {Shape{1, 1, 193, 300, 64, causal},
                                 {1, 1, 255, 65, 64, causal},
                                 {1, 1, 320, 330, 64, causal},
                                 {1, heads, 193, 70, 64, causal},
                                 {1, heads, 129, 130, 64, causal},
                                 {1, heads, 260, 270, 64, causal}}) {
        Problem<decltype(element)> problem(shape, 7);
        for (const auto& rung : named(rungs, {"longest_first", "early_scores"})) {
          tests::check_variant(problem, rung, device, stream);
        }
      }
    }
  });
}

TEST_CASE("attention, tensor cores: early_scores goes on to a fifth tile of queries and further") {
  // What is told of queries lies in four places, which are then written again. Tiles of 64 and 128
  // keys where d is 128.
  if (tests::ran_on_a_smaller_gpu(2)) return;
  const int heads = 4 * kit::multiprocessor_count() + 1;
  with_rungs([&](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    std::vector<Shape> shapes = {{1, heads, 70, 50, 64, false},
                                 {1, heads, 3, 100, 128, false},
                                 {1, heads / 4 + 1, 130, 260, 128, true},
                                 {1, heads / 4 + 1, 70, 70, 256, true}};
    if (tests::is_real_gpu()) {
      shapes.insert(shapes.end(), {{1, heads, 260, 270, 64, true},
                                   {1, heads, 193, 70, 64, false},
                                   {1, heads, 130, 260, 128, true},
                                   {1, heads, 70, 70, 256, true}});
    }
    for (const Shape& shape : shapes) {
      Problem<decltype(element)> problem(shape, 7);
      for (const auto& rung : named(rungs, {"early_scores"})) {
        tests::check_variant(problem, rung, device, stream);
      }
    }
  });
}

TEST_CASE("attention, tensor cores: as many keys as queries, fewer, more; masked rows") {
  // With fewer keys than queries a causal mask leaves the first queries without any: the harness
  // expects zeros and -infinity there. 300 queries and 100 keys: whole tiles of queries see none.
  check_here({{1, 1, 257, 255, 64, false},
              {2, 1, 1, 600, 64, false},
              {1, 2, 600, 1, 64, false},
              {1, 1, 300, 100, 64, false},
              {1, 1, 100, 300, 64, false},
              {1, 1, 141, 140, 64, false}},
             1);
}

TEST_CASE("attention, tensor cores: where d is 256, O leaves in parts and Q stays") {
  // A tile of queries of which one half sees no key, and one whose last keys only the other half
  // sees.
  check_with({256}, {{1, 1, 128, 64, 64, false}, {1, 1, 70, 130, 64, false}}, 1);
}

TEST_CASE("attention, tensor cores: where d is 256, too, blocks that stay take a second tile") {
  if (tests::ran_on_a_smaller_gpu(2)) return;
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    Problem<decltype(element)> problem({1, kit::multiprocessor_count() + 1, 1, 1, 256, false}, 7);
    const std::set<std::string> stay = {"persistent", "async_store", "tile_counter",
                                        "longest_first", "early_scores"};
    for (const auto& rung : named(rungs, stay)) {
      tests::check_variant(problem, rung, device, stream);
    }
  });
}

TEST_CASE("attention, tensor cores: many heads, so that a block works on several tiles") {
  if (tests::ran_on_a_smaller_gpu(2)) return;
  const int heads = kit::multiprocessor_count() / 2 + 4;
  std::vector<Shape> shapes = {{2, heads, 65, 40, 64, false}};  // more tiles than SMs
  if (tests::is_real_gpu()) {
    shapes.insert(
        shapes.end(),
        {{2, 150, 65, 40, 64, false}, {3, 80, 130, 65, 64, false}, {1, 3, 1021, 1031, 64, false}});
  }
  check_here(shapes, 1);
}

TEST_CASE("attention, tensor cores: more heads than a grid has rows") {
  if (!tests::is_real_gpu()) SKIP_TEST("takes long without a GPU");
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    using T = decltype(element);
    for (const int d : {64, 256}) {
      Problem<T> problem({2, 35'000, 1, 2, d, false}, 3);
      for (const auto& rung : rungs) tests::check_variant(problem, rung, device, stream);
    }
  });
}

TEST_CASE("attention, tensor cores: 131072 tokens, without extra memory") {
  if (!tests::is_real_gpu()) SKIP_TEST("takes long without a GPU");
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    using T = decltype(element);
    for (const int d : {64, 128, 256}) {
      Problem<T> problem({1, 1, 131'072, 131'072, d, d == 128}, 3);
      for (const auto& rung : rungs) tests::check_variant(problem, rung, device, stream);
      CHECK(problem.workspace.held_bytes() == 0);
    }
  });
}

TEST_CASE("attention, tensor cores: the C interface runs its rungs on either element type") {
  in_16_bits([](auto element) {
    using T = decltype(element);
    const bench::DeviceFacts device = bench::query_device();
    const bench::WorkStream stream(device);
    Problem<T> problem({2, 3, 70, 90, 64, true}, 7);
    for (const char* rung : {"chosen", "lazy_rescale"}) {
      const auto run = [rung](Problem<T>& p, cudaStream_t stream) {
        const Shape& s = p.shape;
        const auto t = p.device_data();
        REQUIRE(attention_forward(rung, t.q, t.k, t.v, t.o, t.lse, s.batch, s.heads, s.n_q, s.n_k,
                                  s.d, s.causal, std::is_same_v<T, __half>, stream) == 0);
      };
      const auto variant =
          bench::device_variant<Problem<T>>(rung, "through C", run, bench::needs_exactly_sm(90));
      const std::string reason = bench::why_skipped(variant, device);
      if (!reason.empty()) SKIP_TEST(reason);
      tests::check_variant(problem, variant, device, stream.get());
    }
  });
}

TEST_CASE("attention, tensor cores: the chooser takes the last rungs that run here") {
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    using T = decltype(element);
    const auto& chooser = rungs.back();
    REQUIRE(chooser.kind == bench::Kind::chooser);
    const bool is_hopper = rungs.size() > 1 && rungs[rungs.size() - 2].name == "early_scores";
    const auto taken = [&](const Shape& shape) {
      Problem<T> problem(shape, 3);
      REQUIRE(tests::verify(problem, chooser, device, stream).status == bench::Status::right);
      return chooser.chose(problem);
    };
    for (const Shape& shape : {Shape{1, 1, 40, 30, 64, true},
                               {1, 1, 3, 2100, 64, false},
                               {1, 1, 3, 2048, 128, false},
                               {1, 1, 3, 2100, 128, true},
                               {1, 1, 4, 5, 256, true}}) {
      CHECK(taken(shape) == (is_hopper ? "early_scores" : "lazy_rescale"));
    }
    for (const Shape& shape : {Shape{1, 1, 3, 2100, 128, false}, {1, 1, 4, 5, 256, false}}) {
      CHECK(taken(shape) == (is_hopper ? "longest_first" : "lazy_rescale"));
    }
  });
}

TEST_CASE("attention, tensor cores: a queue hands out every tile once, the longest first") {
  for (const int heads : {1, 2, 7, 16, 17, 64}) {
    for (const int most : {1, 2, 3, 6, 100}) {
      for (const int q_tiles : {1, 5, 32}) {
        INFO(heads << " heads, groups of at most " << most << ", " << q_tiles << " tiles");
        const TileOrder order = TileOrder::of(heads, q_tiles, most);
        REQUIRE(order.count() == heads * q_tiles);
        std::set<std::pair<int, int>> plain, causal;
        // Where q_tile jumps back to the last one, a group begins; its heads have all been met by
        // the time q_tile first falls.
        std::vector<int> group_sizes;
        int before = 0;
        for (int t = 0; t < order.count(); ++t) {
          int head = -1, q_tile = -1;
          order.locate<false>(t, head, q_tile);
          plain.insert({head, q_tile});
          order.locate<true>(t, head, q_tile);
          causal.insert({head, q_tile});
          REQUIRE((head >= 0 && head < heads && q_tile >= 0 && q_tile < q_tiles));
          if (q_tiles == 1) continue;
          if (t == 0 || q_tile > before) group_sizes.push_back(0);
          if (q_tile == q_tiles - 1) ++group_sizes.back();
          before = q_tile;
        }
        CHECK(static_cast<int>(plain.size()) == order.count());
        CHECK(static_cast<int>(causal.size()) == order.count());
        for (const int size : group_sizes) {
          CHECK(size <= most);
          CHECK(size >= group_sizes.front() - 1);
        }
      }
    }
  }
}

__global__ void draw_kernel(TileCounter counter, int count, int* drawn) {
#if defined(__CUDA_ARCH__)
  for (int tile = blockIdx.x; tile < count; tile = counter.next()) atomicAdd(&drawn[tile], 1);
  counter.leave();
#endif
}

TEST_CASE("attention, tensor cores: a counter hands out every tile of every launch once") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int kTiles = 10, kLaunches = 150;  // more launches than there are counters
  int* drawn = nullptr;
  CUDA_CHECK(cudaMallocManaged(&drawn, kTiles * sizeof(int)));
  std::fill_n(drawn, kTiles, 0);
  for (int launch = 0; launch < kLaunches; ++launch) {
    draw_kernel<<<3, 1>>>(TileCounter::of_launch(), kTiles, drawn);
    CUDA_CHECK(cudaGetLastError());
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  for (int tile = 0; tile < kTiles; ++tile) CHECK(drawn[tile] == kLaunches);
  CUDA_CHECK(cudaFree(drawn));
}

TEST_CASE("attention, tensor cores: every launch is in the stream that was given") {
  bench::Ladder<Problem<__nv_bfloat16>> ladder = attention_16bit_ladder<__nv_bfloat16>();
  ladder.variants = tensor_rungs<__nv_bfloat16>();
  for (const int d : {64, 256}) {
    DYNAMIC_SECTION("d = " << d) {
      bench::Settings::Given size = {{"heads", 2}, {"n", 65}, {"nk", 66}, {"causal", 1}};
      size["d"] = d;
      tests::every_launch_is_in_its_stream(ladder, size);
    }
  }
}

TEST_CASE("attention, tensor cores: scores of 10000 stay finite and right") {
  check_here({{1, 1, 65, 130, 64, false}, {1, 2, 300, 299, 64, false}}, 2500);
}

TEST_CASE("attention, tensor cores: a score that grows from tile to tile rescales O every time") {
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    using T = decltype(element);
    // Key j is j / 8 times the same vector, and queries have either sign: for some of them each
    // tile has a larger score than the tile before, whichever way the tiles are walked through.
    for (const int d : {64, 128, 256}) {
      if (d > 64 && !tests::is_real_gpu()) continue;  // takes long without a GPU
      Problem<T> problem({1, 1, 70, 1000, d, false}, 3);
      for (int i = 0; i < 1000 * d; ++i) {
        problem.k.pristine()[i] = T(static_cast<float>(i / d / 8) / d);
      }
      for (int i = 0; i < 70 * d; ++i) {
        problem.q.pristine()[i] = T(i / d % 2 == 0 ? 8.0f : -8.0f);
      }
      problem.compute_reference();
      for (const auto& rung : rungs) tests::check_variant(problem, rung, device, stream);
    }
  });
}

TEST_CASE("attention, tensor cores: small weights add up") {
  if (!tests::is_real_gpu()) SKIP_TEST("takes long without a GPU");
  // The first column adds 12 to the score of one key: the weights of the others are about e^-12,
  // which fp16 keeps with 7 bits, below its normal numbers. Together they are a twelfth of the sum.
  // The large one is among the last keys, with which the rungs begin.
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    using T = decltype(element);
    for (const int d : {64, 256}) {  // whose roots are whole numbers
      Problem<T> problem({1, 1, 70, 8000, d, false}, 3);
      for (int i = 0; i < 8000 * d; ++i) {
        if (i % d == 0) problem.k.pristine()[i] = T(i == 7990 * d ? 1.0f : 0.0f);
        T& v = problem.v.pristine()[i];
        v = T(std::fabs(static_cast<float>(v)));
      }
      for (int i = 0; i < 70 * d; i += d) {
        problem.q.pristine()[i] = T(12 * std::sqrt(static_cast<float>(d)));
      }
      problem.compute_reference();
      for (const auto& rung : rungs) tests::check_variant(problem, rung, device, stream);
    }
  });
}

TEST_CASE("attention, tensor cores: a hundred runs give the same bits") {
  if (!tests::is_real_gpu()) SKIP_TEST("takes long without a GPU");
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t stream) {
    using T = decltype(element);
    for (const int d : {64, 128, 256}) {
      Problem<T> problem({1, 80, 400, 333, d, true}, 5);
      for (const auto& rung : rungs) {
        if (tests::verify(problem, rung, device, stream).status == bench::Status::skipped) {
          continue;
        }
        INFO(rung.name << ", d = " << d);
        CHECK(tests::count_different(problem, rung, 100, stream) == 0);
      }
    }
  });
}

TEST_CASE("attention, tensor cores: two streams at once do not disturb each other") {
  if (!tests::is_real_gpu()) SKIP_TEST("takes long without a GPU");
  with_rungs([](auto element, const auto& rungs, const auto& device, cudaStream_t) {
    using T = decltype(element);
    const bench::WorkStream one(device), two(device);
    Problem<T> a({1, 40, 300, 300, 128, true}, 5), b({1, 60, 200, 400, 128, true}, 6);
    for (const auto& rung : rungs) {
      INFO(rung.name);
      for (Problem<T>* problem : {&a, &b}) {
        problem->each_array([](auto& array) { array.reset(bench::Side::device); });
      }
      CUDA_CHECK(cudaDeviceSynchronize());
      for (int run = 0; run < 20; ++run) {
        rung.run(a, one.get());
        rung.run(b, two.get());
      }
      CUDA_CHECK(cudaDeviceSynchronize());
      for (Problem<T>* problem : {&a, &b}) {
        problem->each_array([](auto& array) { array.fetch(bench::Side::device); });
        CHECK(problem->check().right());
      }
    }
  });
}
