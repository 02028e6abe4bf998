// Attention in bf16: ladder.cuh lists the rungs.
#include <cuda_bf16.h>

#include "07_flash_attention/attention_16bit/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

namespace ladders {

bench::Ladders attention_16bit_bf16() {
  return {attention::attention_16bit_ladder<__nv_bfloat16>()};
}

}  // namespace ladders
