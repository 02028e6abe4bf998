// Mistakes with wgmma and the registers of warpgroups. Each kernel has two forms: with the mistake,
// k<true>, and mended, k<false>. "fault:" marks the line that a tool should name. Tiles are full of
// ones in bf16, so every sum of 16 products is 16.
#include "suite.cuh"

namespace {

constexpr unsigned kOnes = 0x3f803f80;  // two of them
int sixteen(int) { return 16; }
int same(int i) { return i; }

// A K-major tile without a swizzle: matrices of 8 x 16 bytes, two of them side by side along K.
__device__ uint64_t tile_of(const void* tile) {
  return (SHARED(tile) & 0x3ffff) >> 4 | uint64_t{128 >> 4} << 16 | uint64_t{256 >> 4} << 32;
}

// Both operands, written by all threads.
struct Tiles {
  alignas(1024) unsigned a[64 * 8];
  alignas(1024) unsigned b[8 * 8];
};
__device__ void write(Tiles& tiles) {
  for (int i = threadIdx.x; i < 64 * 8; i += 128) tiles.a[i] = kOnes;
  if (threadIdx.x < 8 * 8) tiles.b[threadIdx.x] = kOnes;
}

// wgmma reads shared memory as TMA does: what threads wrote needs a fence.
template <bool faulty>
__global__ void operand_without_fence(const int*, int* out) {
  __shared__ Tiles tiles;
  write(tiles);
  if (!faulty) PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  FENCE();
  PRODUCT(d, tile_of(tiles.a), tile_of(tiles.b));  // fault: operand_without_fence
  COMMIT();
  PRODUCTS_DONE();
  out[threadIdx.x] = static_cast<int>(d[0]);
}

// The accumulators were set by the threads; no wgmma.fence follows.
template <bool faulty>
__global__ void accumulators_without_fence(const int*, int* out) {
  __shared__ Tiles tiles;
  write(tiles);
  PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  if (!faulty) FENCE();
  PRODUCT(d, tile_of(tiles.a), tile_of(tiles.b));  // fault: accumulators_without_fence
  COMMIT();
  PRODUCTS_DONE();
  out[threadIdx.x] = static_cast<int>(d[0]);
}

// They are read before the product is done.
template <bool faulty>
__global__ void accumulators_read_early(const int*, int* out) {
  __shared__ Tiles tiles;
  write(tiles);
  PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  FENCE();
  PRODUCT(d, tile_of(tiles.a), tile_of(tiles.b));
  COMMIT();
  if (!faulty) PRODUCTS_DONE();
  out[threadIdx.x] = static_cast<int>(d[0]);  // fault: accumulators_read_early
  if (faulty) PRODUCTS_DONE();
}

// A comes from registers, which are written again while the product may still read them.
template <bool faulty>
__global__ void registers_reused(const int*, int* out) {
  __shared__ Tiles tiles;
  write(tiles);
  PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  unsigned a[4] = {kOnes, kOnes, kOnes, kOnes};
  FENCE();
  PRODUCT_A(d, a, tile_of(tiles.b));
  COMMIT();
  if (!faulty) PRODUCTS_DONE();
  a[2] = threadIdx.x;  // fault: registers_reused
  if (faulty) PRODUCTS_DONE();
  out[threadIdx.x] = static_cast<int>(d[0]);
  out[128 + threadIdx.x] = static_cast<int>(a[2]);
}

// Registers of A are changed between two products; the second one has no fence in front.
template <bool faulty>
__global__ void registers_without_fence(const int*, int* out) {
  __shared__ Tiles tiles;
  write(tiles);
  PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  unsigned a[4] = {kOnes, kOnes, kOnes, kOnes};
  FENCE();
  PRODUCT_A(d, a, tile_of(tiles.b));
  COMMIT();
  PRODUCTS_DONE();
  for (int i = 0; i < 4; ++i) a[i] = 0;
  if (!faulty) FENCE();
  PRODUCT_A(d, a, tile_of(tiles.b));  // fault: registers_without_fence
  COMMIT();
  PRODUCTS_DONE();
  out[threadIdx.x] = static_cast<int>(d[0]);
}

// A tile is filled anew while a product may still read it.
template <bool faulty>
__global__ void operand_refilled(const int* in, int* out) {
  __shared__ Tiles tiles;
  __shared__ alignas(8) uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  write(tiles);
  PROXY_FENCE();
  __syncthreads();
  float d[4] = {};
  FENCE();
  PRODUCT(d, tile_of(tiles.a), tile_of(tiles.b));  // fault: operand_refilled
  COMMIT();
  if (!faulty) {
    PRODUCTS_DONE();
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    EXPECT(&full, 512);
    LOAD(tiles.a, in, 512, &full);  // fault: operand_refilled
  }
  if (faulty) PRODUCTS_DONE();
  WAIT(&full, 0);
  out[threadIdx.x] = static_cast<int>(d[0]);
}

// The warpgroups ask for more registers than the multiprocessor has: 128 x 40 + 256 x 240.
template <bool faulty>
__global__ void __launch_bounds__(384, 1) registers_too_many(const int* in, int* out) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
  } else if (faulty) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");  // fault: registers_too_many
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  }
  out[threadIdx.x] = in[threadIdx.x];
}

constexpr Pair kPairs[] = {
    PAIR(operand_without_fence, 1, 128, 128, sixteen),
    PAIR(accumulators_without_fence, 1, 128, 128, sixteen),
    PAIR(accumulators_read_early, 1, 128, 128, sixteen),
    PAIR(registers_reused, 1, 128, 128, sixteen),
    PAIR(registers_without_fence, 1, 128, 128, sixteen),
    PAIR(operand_refilled, 1, 128, 128, sixteen),
    PAIR(registers_too_many, 1, 384, 384, same),
};

}  // namespace

int main(int argc, char** argv) { return run_suite(kPairs, argc, argv); }
