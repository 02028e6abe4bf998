// Decoding in bf16: ladder.cuh lists the rungs.
#include <cuda_bf16.h>

#include "07_flash_attention/decode/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

namespace ladders {

bench::Ladders decode_bf16() {
  return {decode::decode_ladder<__nv_bfloat16>(), decode::decode_paged_ladder<__nv_bfloat16>()};
}

}  // namespace ladders
