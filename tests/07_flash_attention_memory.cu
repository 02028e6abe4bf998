// What the problems of attention say that they take, before anything is allocated, is at least what
// they then take.
#include "07_flash_attention/attention_fp8/problem.cuh"
#include "07_flash_attention/backward/problem.cuh"
#include "07_flash_attention/decode/problem.cuh"
#include "07_flash_attention/problem.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"

namespace {

// The guard words of a problem's arrays.
constexpr double kGuards = 2e5;

// `make` makes a problem as it is on a GPU, with all sets of its inputs.
template <class Make>
void takes_no_more_than(const bench::MemoryNeed& promised, double beside, Make make) {
  const bench::MemoryNeed before = tests::held_bytes();
  const auto problem = make();
  problem->each_array([](auto& array) { array.host_data(); });
  CHECK(tests::held_bytes().host - before.host <= promised.host - beside + kGuards);
  problem->each_array([](auto& array) { array.device_data(); });
  for (int set = 0; set < 64; ++set) problem->rotate(set);
  CHECK(tests::held_bytes().device - before.device <= promised.device);
}

}  // namespace

// Few keys and many rows; one row; as many keys as rows.
TEST_CASE("attention takes no more memory than it says") {
  if (bench::query_device().is_real_gpu()) SKIP_TEST("a GPU rounds allocations up");
  using Float = attention::Problem<float>;
  using Bf16 = attention::Problem<__nv_bfloat16>;
  for (const attention::Shape& shape :
       {attention::Shape{16, 4, 16, 16, 64, false}, attention::Shape{1, 1, 1, 1, 64, true},
        attention::Shape{1, 2, 128, 128, 128, true}}) {
    INFO(shape.batch << " x " << shape.n_q);
    takes_no_more_than(Float::memory(shape), Float::kBeside,
                       [&] { return std::make_unique<Float>(shape, 7); });
    takes_no_more_than(Bf16::memory(shape), Bf16::kBeside,
                       [&] { return std::make_unique<Bf16>(shape, 7); });
    using Fp8 = attention::fp8::AttentionFp8;
    attention::Shape wide = shape;
    wide.d = attention::fp8::kHeadDim;
    takes_no_more_than(Fp8::memory(wide), Fp8::kBeside,
                       [&] { return std::make_unique<Fp8>(wide, 7); });
  }
}

TEST_CASE("backward takes no more memory than it says") {
  if (bench::query_device().is_real_gpu()) SKIP_TEST("a GPU rounds allocations up");
  using Bf16 = backward::Backward<__nv_bfloat16>;
  for (const backward::Shape& shape :
       {backward::Shape{16, 4, 2, 16, 16, 64, false}, backward::Shape{1, 1, 1, 1, 1, 64, true},
        backward::Shape{1, 2, 2, 128, 128, 128, true}}) {
    INFO(shape.batch << " x " << shape.n_q);
    takes_no_more_than(Bf16::memory(shape), Bf16::kBeside,
                       [&] { return std::make_unique<Bf16>(shape, 7, true); });
  }
}

TEST_CASE("decode takes no more memory than it says") {
  if (bench::query_device().is_real_gpu()) SKIP_TEST("a GPU rounds allocations up");
  using Bf16 = decode::Decode<__nv_bfloat16>;
  const decode::Layout whole, pages{16};
  for (const decode::Shape& shape : {decode::Shape{512, 8, 1, 3, 64}, decode::Shape{1, 1, 1, 1, 64},
                                     decode::Shape{2, 8, 2, 1024, 128}}) {
    for (const decode::Layout& layout : {whole, pages}) {
      INFO(shape.batch << " x " << shape.n << ", pages of " << layout.page);
      takes_no_more_than(Bf16::memory(shape, layout), Bf16::kBeside,
                         [&] { return std::make_unique<Bf16>(shape, layout, 7, true); });
    }
  }
}
