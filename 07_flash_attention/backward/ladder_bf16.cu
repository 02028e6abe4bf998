// The gradients in bf16: ladder.cuh lists the rungs.
#include <cuda_bf16.h>

#include "07_flash_attention/backward/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

namespace ladders {

bench::Ladders backward_bf16() { return {backward::backward_ladder<__nv_bfloat16>()}; }

}  // namespace ladders
