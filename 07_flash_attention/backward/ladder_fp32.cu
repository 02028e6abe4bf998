// The gradients in fp32: ladder.cuh lists the rungs.
#include "07_flash_attention/backward/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

namespace ladders {

bench::Ladders backward_fp32() { return {backward::backward_ladder<float>()}; }

}  // namespace ladders
