// Decoding in fp16: ladder.cuh lists the rungs.
#include <cuda_fp16.h>

#include "07_flash_attention/decode/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

namespace ladders {

bench::Ladders decode_fp16() {
  return {decode::decode_ladder<__half>(), decode::decode_paged_ladder<__half>()};
}

}  // namespace ladders
