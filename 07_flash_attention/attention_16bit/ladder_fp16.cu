// Attention in fp16: ladder.cuh lists the rungs.
#include <cuda_fp16.h>

#include "07_flash_attention/attention_16bit/ladder.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"

namespace ladders {

bench::Ladders attention_16bit_fp16() { return {attention::attention_16bit_ladder<__half>()}; }

}  // namespace ladders
