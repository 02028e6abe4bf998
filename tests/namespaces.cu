// The headers of several chapters in one file: each problem has a namespace of its own, so that
// nothing in one chapter hides or repeats what another one defines.
#include <set>
#include <string>

#include "01_vector_add/ladder.cu"
#include "02_warp_divergence/branch/ladder.cu"
#include "02_warp_divergence/polar/ladder.cu"
#include "03_coalescing/copy/ladder.cu"
#include "03_coalescing/latency/ladder.cu"
#include "03_coalescing/particles/ladder.cu"
#include "03_coalescing/transpose/ladder.cu"
#include "03_coalescing/window/ladder.cu"
#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/kit/cluster.cuh"
#include "04_matmul/bf16/kit/gemm_tile.cuh"
#include "04_matmul/bf16/kit/mma_gemm_tile.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "05_reduction/affine/ladder.cu"
#include "05_reduction/scan/ladder.cu"
#include "05_reduction/sum/ladder.cu"
#include "06_atomics_streams/histogram/ladder.cu"
#include "06_atomics_streams/lock/ladder.cu"
#include "06_atomics_streams/one_cell/ladder.cu"
#include "07_flash_attention/attention/kit/shared_tile.cuh"
#include "07_flash_attention/attention_16bit/kit/attention_tile.cuh"
#include "07_flash_attention/attention_16bit/kit/mma_attention_tile.cuh"
#include "07_flash_attention/backward/08_mma.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/gradient_tile_copier.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/problem.cuh"
#include "07_flash_attention/decode/kit/clusters.cuh"
#include "07_flash_attention/decode/problem.cuh"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/softmax/problem.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"

TEST_CASE("fourteen problems of five chapters stand in one file, and each is itself") {
  const auto names =
      tests::names_of(vector_add::ladder(), polar::ladder(), branch::ladder(),
                      coalesced_copy::ladder(), particles::ladder(), transpose::ladder(),
                      window::ladder(), latency::ladder(), reduction::ladder(), affine::ladder(),
                      scan::ladder(), one_cell::ladder(), histogram::ladder(), lock::ladder());
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("tiles of one name in chapters 04 and 07 are each its own problem's") {
  using Product = matmul::bf16::GemmTile<128, 256, 4>;
  using Forward = attention::AttentionTile<__half, 128, 2, 128, 2>;
  using Backward = backward::GradientTile<__half, 256>;
  CHECK(Product::kTileN == 256);
  CHECK(Forward::kThreads == 384);
  CHECK(Backward::kTileN == 64);
  CHECK(matmul::bf16::MmaGemmTile<false, 128, 128, 64, 32, 32, 1>::kThreads == 256);
  CHECK(attention::MmaAttentionTile<64>::kTileM == 128);
  CHECK(backward::MmaGradientTile<64>::kTileN == 128);
}

TEST_CASE("what has one name in two chapters does what its own chapter says") {
  tests::every_variant_is_right(vector_add::ladder(), {{{"n", 1003}}});
  tests::every_variant_is_right(reduction::ladder(), {{{"n", 1003}}});
  tests::every_variant_is_right(one_cell::ladder(), {{{"n", 1003}}});
}
