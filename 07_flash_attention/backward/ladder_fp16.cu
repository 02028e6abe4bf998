// The gradients in fp16: ladder.cuh lists the rungs.
#include <cuda_fp16.h>

#include "07_flash_attention/backward/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

namespace ladders {

bench::Ladders backward_fp16() { return {backward::backward_ladder<__half>()}; }

}  // namespace ladders
