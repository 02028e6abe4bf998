// cuRAND: the parts that are not a few lines in a header.

#include "curand.h"

#include <array>
#include <mutex>
#include <vector>

#include "curand_kernel.h"
#include "graph.h"
#include "memory.h"

// ---- skipping ahead in XORWOW ------------------------------------------------------------------
// One step is a linear map of the state's 160 bits, a matrix over GF(2); n steps are its n-th
// power. The powers with exponents 2^0, 2^1, ... are made by squaring, once; a jump multiplies
// those in n.

namespace simt {
namespace {

constexpr int kBits = 160;
using State = std::array<unsigned, 5>;
using Matrix = std::array<State, kBits>;  // row i: what bit i of the state becomes

State times(const State& state, const Matrix& matrix) {
  State result{};
  for (int i = 0; i < kBits; ++i) {
    if (!(state[i / 32] >> (i % 32) & 1)) continue;
    for (int w = 0; w < 5; ++w) result[w] ^= matrix[i][w];
  }
  return result;
}

Matrix one_step() {
  Matrix matrix;
  for (int i = 0; i < kBits; ++i) {
    State v{};
    v[i / 32] = 1u << (i % 32);
    const unsigned t = v[0] ^ (v[0] >> 2);
    matrix[i] = {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
  }
  return matrix;
}

constexpr int kPowers = 67 + 64;

const std::vector<Matrix>& powers() {
  static const std::vector<Matrix> all = [] {
    std::vector<Matrix> p{one_step()};
    while (p.size() < kPowers) {
      Matrix square;
      for (int i = 0; i < kBits; ++i) square[i] = times(p.back()[i], p.back());
      p.push_back(square);
    }
    return p;
  }();
  return all;
}

void skip(unsigned v[5], unsigned long long n, int first_power) {
  if (n == 0) return;
  State state{v[0], v[1], v[2], v[3], v[4]};
  for (int bit = 0; n >> bit != 0; ++bit) {
    if (n >> bit & 1) state = times(state, powers()[first_power + bit]);
    if (bit == 63) break;
  }
  for (int w = 0; w < 5; ++w) v[w] = state[w];
}

}  // namespace

void xorwow_skip(unsigned v[5], unsigned long long n) { skip(v, n, 0); }
void xorwow_skip_subsequences(unsigned v[5], unsigned long long n) { skip(v, n, 67); }

}  // namespace simt

// ---- host API ---------------------------------------------------------------------------------

struct curandGenerator_st {
  unsigned long long seed = 0;
  unsigned long long offset = 0;  // numbers made so far
  cudaStream_t stream = nullptr;
  bool on_host = false;
};

namespace {

curandStatus_t create(curandGenerator_t* generator, curandRngType_t type, bool on_host) {
  if (!generator) return CURAND_STATUS_OUT_OF_RANGE;
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_MTGP32:
    case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      *generator = new curandGenerator_st;
      (*generator)->on_host = on_host;
      return CURAND_STATUS_SUCCESS;
  }
  return CURAND_STATUS_TYPE_ERROR;
}

// Fills `out` in the generator's stream; number i of a generator is the same whatever the calls
// that ask for it. `draw` takes `words` random words each.
template <class T, class Draw>
curandStatus_t generate(curandGenerator_t g, T* out, size_t count, unsigned words, Draw draw) {
  using namespace simt;
  if (!g) return CURAND_STATUS_NOT_INITIALIZED;
  const unsigned long long seed = g->seed, first = g->offset;
  g->offset += count * words;
  auto work = [=] {
    curandStatePhilox4_32_10 state;
    curand_init(seed, 0, first, &state);
    for (size_t i = 0; i < count; ++i) out[i] = draw(&state);
    if (observer && in_device_range(out)) observer->filled(out, count * sizeof(T), {});
  };
  if (g->on_host) {
    work();
    return CURAND_STATUS_SUCCESS;
  }
  CUstream_st* stream = Device::get().stream(g->stream);
  if (!stream || check_device_range(out, count * sizeof(T))) return CURAND_STATUS_LAUNCH_FAILURE;
  Task task;
  task.kind = Task::kFill;
  task.work = work;
  return submit(stream, std::move(task)) ? CURAND_STATUS_LAUNCH_FAILURE : CURAND_STATUS_SUCCESS;
}

using PhiloxState = curandStatePhilox4_32_10;

}  // namespace

curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type, false);
}
curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator, curandRngType_t type) {
  return create(generator, type, true);
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed = seed;  // the offset stays where it is, as cuRAND's own does
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->offset = offset;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned* out, size_t count) {
  return generate(generator, out, count, 1, [](PhiloxState* s) { return curand(s); });
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float* out, size_t count) {
  return generate(generator, out, count, 1, [](PhiloxState* s) { return curand_uniform(s); });
}
curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double* out, size_t count) {
  return generate(generator, out, count, 2, [](PhiloxState* s) { return simt::fine_uniform(s); });
}
// Normal numbers come in pairs, as on a GPU.
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float* out, size_t count,
                                    float mean, float deviation) {
  if (count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return generate(generator, out, count, 1,
                  [=](PhiloxState* s) { return mean + deviation * curand_normal(s); });
}
curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double* out, size_t count,
                                          double mean, double deviation) {
  if (count % 2 != 0) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  return generate(generator, out, count, 2,
                  [=](PhiloxState* s) { return mean + deviation * curand_normal_double(s); });
}
curandStatus_t curandGetVersion(int* version) {
  *version = 13000;
  return CURAND_STATUS_SUCCESS;
}
