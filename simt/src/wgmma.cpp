// wgmma: the four warps of a warpgroup multiply tiles in shared memory. Each thread brings its
// accumulators; when all 128 have come, the product is computed at once and all go on.

#include <cstring>

#include "async.h"
#include "device.h"
#include "elements.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {
namespace {

using ptx::Element;

constexpr int kRows = 64, kMostColumns = 256, kMostK = 32;

struct WgmmaLane {
  const ptx::Wgmma* shape;
  void* const* d;
  const unsigned* a;  // null: a_tile
  uint64_t a_tile, b_tile;
  bool accumulate;
  int scale_a, scale_b, transposed_a, transposed_b;
};

// ---- tiles in shared memory
// ---------------------------------------------------------------------------------------

// A matrix descriptor. Tiles are built of rows of `row_bytes`: 16 without a swizzle, else as long
// as the swizzle. K-major: a row runs along K and eight rows, then eight more stride_bytes further,
// run along M or N. MN-major: a row runs along M or N, and rows along K.
struct Tile {
  const char* start;
  unsigned leading, stride;  // bytes
  unsigned swizzle;          // bytes, 0: none

  explicit Tile(uint64_t descriptor) {
    constexpr unsigned kSwizzles[4] = {0, 128, 64, 32};
    leading = (descriptor >> 16 & 0x3fff) << 4;
    stride = (descriptor >> 32 & 0x3fff) << 4;
    swizzle = kSwizzles[descriptor >> 62];
    // 18 bits of an address, of which there are a little more.
    unsigned offset = (descriptor & 0x3fff) << 4;
    const size_t end = kStaticSharedBytes + state.block->launch->dynamic_shared;
    if (offset + (1u << 18) < end) offset += 1u << 18;
    start = state.shared + offset;
  }

  const char* place(size_t offset) const {
    auto bits = reinterpret_cast<uintptr_t>(start + offset);
    if (swizzle == 128) bits ^= (bits >> 7 & 7) << 4;
    if (swizzle == 64) bits ^= (bits >> 7 & 3) << 4;
    if (swizzle == 32) bits ^= (bits >> 7 & 1) << 4;
    return reinterpret_cast<const char*>(bits);
  }

  // The 16 bytes of row `r` (along M or N) that begin at byte `k` along K.
  const char* k_major(unsigned r, unsigned k) const {
    if (swizzle == 0) return place(r % 8 * 16 + size_t(r / 8) * stride + k / 16 * leading);
    return place(r % 8 * swizzle + size_t(r / 8) * stride + k);
  }
  // The 16 bytes of row `k` (along K) that begin at byte `r` along M or N.
  const char* mn_major(unsigned r, unsigned k) const {
    if (swizzle == 0) return place(k % 8 * 16 + size_t(r / 16) * stride + k / 8 * leading);
    return place(k % 8 * swizzle + size_t(k / 8) * stride + size_t(r / swizzle) * leading +
                 r % swizzle);
  }
};

uint32_t element_bits(const char* piece, int index, unsigned bytes) {
  uint32_t bits = 0;
  memcpy(&bits, piece + index * bytes, bytes);
  return bits;
}

// Calls f(row along M or N, k, value) for `rows` x `k_count` elements.
template <class Function>
void for_each_element(const Tile& tile, Element element, int rows, int k_count, bool transposed,
                      Function f) {
  const unsigned bytes = bits_of(element) / 8;
  const int per = int(16 / bytes);
  if (!transposed) {
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < k_count; k += per) {
        const char* piece = tile.k_major(unsigned(row), unsigned(k) * bytes);
        for (int e = 0; e < per; ++e)
          f(row, k + e, element_value(element, element_bits(piece, e, bytes)));
      }
    return;
  }
  for (int k = 0; k < k_count; ++k)
    for (int row = 0; row < rows; row += per) {
      const char* piece = tile.mn_major(unsigned(row) * bytes, unsigned(k));
      for (int e = 0; e < per; ++e)
        f(row + e, k, element_value(element, element_bits(piece, e, bytes)));
    }
}

// ---- the product
// ---------------------------------------------------------------------------------------

struct Product {
  alignas(64) float a[kRows][kMostK];
  alignas(64) float b[kMostK][kMostColumns];
  alignas(64) float d[kRows][kMostColumns];
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SIMT_VECTORS __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define SIMT_VECTORS
#endif

// Four rows at a time, so that a row of B is read once for them.
SIMT_VECTORS void multiply(Product& p, int columns, int k_count) {
  for (int row = 0; row < kRows; row += 4)
    for (int k = 0; k < k_count; ++k) {
      const float a0 = p.a[row][k], a1 = p.a[row + 1][k], a2 = p.a[row + 2][k],
                  a3 = p.a[row + 3][k];
      const float* b = p.b[k];
      float *d0 = p.d[row], *d1 = p.d[row + 1], *d2 = p.d[row + 2], *d3 = p.d[row + 3];
      for (int n = 0; n < columns; ++n) {
        d0[n] += a0 * b[n];
        d1[n] += a1 * b[n];
        d2[n] += a2 * b[n];
        d3[n] += a3 * b[n];
      }
    }
}

// Row and first column of a thread's accumulators; the next ones follow by 8 columns.
int row_of(int thread, int pair) { return 16 * (thread / 32) + thread % 32 / 4 + 8 * (pair % 2); }
int column_of(int thread, int pair) { return 8 * (pair / 2) + 2 * (thread % 4); }

// A pair of accumulators that lie side by side: two registers, or one of two halves.
void load_pair(const ptx::Wgmma& shape, void* const* d, int pair, float* low, float* high) {
  if (shape.d == Element::f16) {
    uint32_t bits;
    memcpy(&bits, d[pair], 4);
    *low = float_from_half_bits(static_cast<uint16_t>(bits));
    *high = float_from_half_bits(static_cast<uint16_t>(bits >> 16));
  } else if (shape.d == Element::f32) {
    memcpy(low, d[2 * pair], 4);
    memcpy(high, d[2 * pair + 1], 4);
  }
}

void store_pair(const ptx::Wgmma& shape, void* const* d, int pair, float low, float high,
                bool accumulate) {
  if (shape.d == Element::f16) {
    const uint32_t bits =
        half_bits_from_float(low) | static_cast<uint32_t>(half_bits_from_float(high)) << 16;
    memcpy(d[pair], &bits, 4);
  } else if (shape.d == Element::f32) {
    memcpy(d[2 * pair], &low, 4);
    memcpy(d[2 * pair + 1], &high, 4);
  } else {  // integers: the sums of one instruction are exact in floats, the accumulators are not
    for (int i = 0; i < 2; ++i) {
      int old;
      memcpy(&old, d[2 * pair + i], 4);
      const unsigned sum = static_cast<unsigned>(accumulate ? old : 0) +
                           static_cast<unsigned>(static_cast<int>(i ? high : low));
      memcpy(d[2 * pair + i], &sum, 4);
    }
  }
}

void compute(void** lanes) {
  static thread_local Product p;
  const WgmmaLane& one = *static_cast<WgmmaLane*>(lanes[0]);
  const ptx::Wgmma& shape = *one.shape;
  if (one.a) {
    const int per = int(32 / bits_of(shape.a));
    for (int thread = 0; thread < int(kWarpgroupThreads); ++thread) {
      const auto& mine = *static_cast<WgmmaLane*>(lanes[thread]);
      for (int r = 0; r < 4; ++r)
        for (int e = 0; e < per; ++e)
          p.a[row_of(thread, r)][thread % 4 * per + e + r / 2 * 4 * per] =
              element_value(shape.a, mine.a[r] >> (bits_of(shape.a) * e % 32));
    }
  } else {
    for_each_element(Tile(one.a_tile), shape.a, kRows, shape.k, one.transposed_a != 0,
                     [&](int row, int k, float value) { p.a[row][k] = value; });
  }
  if (one.scale_a * one.scale_b < 0)
    for (auto& row : p.a)
      for (int k = 0; k < shape.k; ++k) row[k] = -row[k];
  for_each_element(Tile(one.b_tile), shape.b, shape.n, shape.k, one.transposed_b != 0,
                   [&](int column, int k, float value) { p.b[k][column] = value; });
  const int pairs = shape.n / 4;
  for (int row = 0; row < kRows; ++row) memset(p.d[row], 0, shape.n * sizeof(float));
  if (one.accumulate && !is_integer(shape.a))
    for (int thread = 0; thread < int(kWarpgroupThreads); ++thread)
      for (int pair = 0; pair < pairs; ++pair) {
        float* at = &p.d[row_of(thread, pair)][column_of(thread, pair)];
        load_pair(shape, static_cast<WgmmaLane*>(lanes[thread])->d, pair, at, at + 1);
      }
  multiply(p, shape.n, shape.k);
  for (int thread = 0; thread < int(kWarpgroupThreads); ++thread)
    for (int pair = 0; pair < pairs; ++pair) {
      const float* at = &p.d[row_of(thread, pair)][column_of(thread, pair)];
      store_pair(shape, static_cast<WgmmaLane*>(lanes[thread])->d, pair, at[0], at[1],
                 one.accumulate);
    }
}

// Every warp must be whole, and the warpgroup's first warp a multiple of four.
void check_warpgroup(const char* instruction, Location at) {
  const Block& b = *state.block;
  const unsigned first = state.thread / kWarpgroupThreads * kWarpgroupThreads;
  const bool whole =
      first + kWarpgroupThreads <= b.thread_count &&
      memchr(&b.state[first], static_cast<int>(State::kExited), kWarpgroupThreads) == nullptr;
  if (!whole)
    refuse_instruction("divergent",
                       std::string(instruction) + " in a warpgroup of which threads are missing",
                       at, cudaErrorLaunchFailure);
}

void check_shape(const ptx::Wgmma& shape, Location at) {
  const int registers = shape.d == Element::f16 ? shape.n / 4 : shape.n / 2;
  const int k = int(256 / bits_of(shape.a));
  if (shape.n % 8 != 0 || shape.n < 8 || shape.n > kMostColumns || shape.k != k ||
      shape.d_registers != registers)
    refuse_instruction("wgmma", "wgmma of a shape that does not exist", at,
                       cudaErrorIllegalInstruction);
}

}  // namespace

namespace ptx {

void wgmma(const Wgmma& shape, void* const* d, const unsigned* a, uint64_t a_tile, uint64_t b_tile,
           bool accumulate, int scale_a, int scale_b, int transposed_a, int transposed_b,
           Location at) {
  check_shape(shape, at);
  check_warpgroup("wgmma", at);
  Block& b = *state.block;
  Warpgroup& group = async_of(b).warpgroups[state.thread / kWarpgroupThreads];
  WgmmaLane lane{&shape,     d,       a,       a_tile,       b_tile,
                 accumulate, scale_a, scale_b, transposed_a, transposed_b};
  group.lanes[state.thread % kWarpgroupThreads] = &lane;
  if (++group.arrived < kWarpgroupThreads) {
    state.worker->wait_for_event(State::kWarpgroup, at);
    return;
  }
  group.arrived = 0;
  ++b.events;
  compute(group.lanes);
  const unsigned first = state.thread / kWarpgroupThreads * kWarpgroupThreads;
  for (unsigned i = first; i < first + kWarpgroupThreads; ++i)
    if (b.state[i] == State::kWarpgroup) wake(b, i);
}

void wgmma_fence(Location) {}
void wgmma_commit_group(Location) {}
void wgmma_wait_group(unsigned, Location) {}

}  // namespace ptx
}  // namespace simt
