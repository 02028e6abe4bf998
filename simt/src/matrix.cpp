// The matrix instructions of one warp: ldmatrix, stmatrix, movmatrix, mma.
//
// A fragment spreads a matrix over the 32 lanes of a warp. Lane l works on row l / 4 ("group") and
// on the columns that l % 4 chooses; a 32-bit register holds as many elements as fit.

#include <chrono>
#include <cmath>
#include <cstring>

#include "async.h"
#include "device.h"
#include "elements.h"
#include "limits.h"
#include "simt/ptx.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {

void note_tensor_operations(unsigned long long count) {
  if (observer && state.lane == 0) observer->count(Beside::kTensor, count);
}

namespace {

constexpr unsigned kAllLanes = 0xffffffffu;

// Once for a warp.
void count_operations(const ptx::Mma& shape) {
  note_tensor_operations(2ull * unsigned(shape.m) * unsigned(shape.n) * unsigned(shape.k));
}

// ---- 8 x 8 matrices of 16-bit elements ----------------------------------------------------------

struct MatrixLane {
  unsigned* registers;
  unsigned count;
  bool transposed;
  char* row;
};

// Calls f(element in shared memory, lane, register, half) for every element.
template <class Function>
void for_each_element(void** payload, Function f) {
  const auto lane_of = [&](unsigned lane) { return static_cast<MatrixLane*>(payload[lane]); };
  const MatrixLane& first = *lane_of(0);
  for (unsigned matrix = 0; matrix < first.count; ++matrix)
    for (unsigned row = 0; row < 8; ++row) {
      auto* elements = reinterpret_cast<uint16_t*>(lane_of(8 * matrix + row)->row);
      for (unsigned column = 0; column < 8; ++column) {
        const unsigned r = first.transposed ? column : row, c = first.transposed ? row : column;
        f(elements[column], lane_of(4 * r + c / 2)->registers[matrix], 16 * (c % 2));
      }
    }
}

void combine_ldmatrix(void** payload, unsigned) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    auto* mine = static_cast<MatrixLane*>(payload[lane]);
    memset(mine->registers, 0, mine->count * sizeof(unsigned));
  }
  for_each_element(payload, [](uint16_t element, unsigned& value, unsigned shift) {
    value |= static_cast<unsigned>(element) << shift;
  });
}

void combine_stmatrix(void** payload, unsigned) {
  for_each_element(payload, [](uint16_t& element, unsigned value, unsigned shift) {
    element = static_cast<uint16_t>(value >> shift);
  });
}

struct MovmatrixLane {
  unsigned value, result;
};

void combine_movmatrix(void** payload, unsigned) {
  const auto lane_of = [&](unsigned lane) { return static_cast<MovmatrixLane*>(payload[lane]); };
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned half = 0; half < 4; ++half) {
      unsigned result = 0;
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned column = 2 * half + i;  // of the result: a row of the source
        result |= (lane_of(4 * column + row / 2)->value >> 16 * (row % 2) & 0xffff) << 16 * i;
      }
      lane_of(4 * row + half)->result = result;
    }
}

// ---- mma ----------------------------------------------------------------------------------------

struct MmaLane {
  const ptx::Mma* shape;
  uint64_t* wide_d;
  const uint64_t *wide_a, *wide_b, *wide_c;
  unsigned* d;
  const unsigned *a, *b, *c;
};

constexpr int kMostM = 16, kMostN = 8, kMostK = 64;

// Where elements of A, B and of C, D lie. `per`: elements of a register.
struct Place {
  int row, column;
};
Place place_of_a(const ptx::Mma& shape, unsigned lane, int r, int e, int per) {
  const int group = int(lane / 4), in_group = int(lane % 4);
  const int halves = shape.m / 8;  // registers that hold the rows 0 .. 7 and 8 .. 15
  return {group + 8 * (r % halves), in_group * per + e + r / halves * 4 * per};
}
Place place_of_b(unsigned lane, int r, int e, int per) {
  return {int(lane % 4) * per + e + r * 4 * per, int(lane / 4)};
}
Place place_of_d(unsigned lane, int r, int e, int per) {
  const int group = int(lane / 4), in_group = int(lane % 4);
  const int index = r * per + e;  // as if each register held one
  return {group + 8 * (index / 2), 2 * in_group + index % 2};
}

void load(const ptx::Mma& shape, void** payload, float (*a)[kMostK], float (*b)[kMostN]) {
  const int per_a = int(32 / bits_of(shape.a)), per_b = int(32 / bits_of(shape.b));
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& mine = *static_cast<MmaLane*>(payload[lane]);
    for (int r = 0; r < shape.a_registers; ++r)
      for (int e = 0; e < per_a; ++e) {
        const Place at = place_of_a(shape, lane, r, e, per_a);
        a[at.row][at.column] = element_value(shape.a, mine.a[r] >> (bits_of(shape.a) * e % 32));
      }
    for (int r = 0; r < shape.b_registers; ++r)
      for (int e = 0; e < per_b; ++e) {
        const Place at = place_of_b(lane, r, e, per_b);
        b[at.row][at.column] = element_value(shape.b, mine.b[r] >> (bits_of(shape.b) * e % 32));
      }
  }
}

void combine_mma(void** payload, unsigned) {
  const ptx::Mma& shape = *static_cast<MmaLane*>(payload[0])->shape;
  float a[kMostM][kMostK], b[kMostK][kMostN], sum[kMostM][kMostN] = {};
  load(shape, payload, a, b);
  const bool integer = is_integer(shape.a);
  const bool packed_c = shape.c == ptx::Element::f16, packed_d = shape.d == ptx::Element::f16;
  const auto c_of = [&](unsigned lane, int i) {
    const auto& mine = *static_cast<MmaLane*>(payload[lane]);
    return packed_c ? mine.c[i / 2] >> 16 * (i % 2) & 0xffff : mine.c[i];
  };
  if (integer) {  // products of 8-bit integers add up to less than 2^24: floats hold them exactly
    for (int m = 0; m < shape.m; ++m)
      for (int k = 0; k < shape.k; ++k)
        for (int n = 0; n < kMostN; ++n) sum[m][n] += a[m][k] * b[k][n];
  } else {
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (int i = 0; i < shape.m / 4; ++i) {
        const Place at = place_of_d(lane, i, 0, 1);
        sum[at.row][at.column] = element_value(shape.c, c_of(lane, i));
      }
    add_products(Instruction::mma_sync, number_of(shape.a), number_of(shape.b), packed_d, shape.m,
                 kMostN, shape.k, a[0], kMostK, b[0], kMostN, sum[0], kMostN);
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& mine = *static_cast<MmaLane*>(payload[lane]);
    for (int i = 0; i < shape.m / 4; ++i) {  // this lane's elements of D
      const Place at = place_of_d(lane, i, 0, 1);
      unsigned result;
      if (integer) {
        const int64_t total =
            int64_t(static_cast<int>(c_of(lane, i))) + int64_t(sum[at.row][at.column]);
        result = static_cast<unsigned>(total);
        if (shape.satfinite)
          result = static_cast<unsigned>(total > INT32_MAX   ? INT32_MAX
                                         : total < INT32_MIN ? INT32_MIN
                                                             : int(total));
      } else {
        const float value = sum[at.row][at.column];
        result = packed_d ? half_bits_from_float(value) : bits_as<unsigned>(value);
      }
      if (!packed_d) {
        mine.d[i] = result;
      } else if (i % 2 == 0) {
        mine.d[i / 2] = result;
      } else {
        mine.d[i / 2] |= result << 16;
      }
    }
  }
}

// m8n8k4 and m16n8k{4,8,16} in double: one element in a register.
void combine_mma_double(void** payload, unsigned) {
  const ptx::Mma& shape = *static_cast<MmaLane*>(payload[0])->shape;
  double a[kMostM][kMostK], b[kMostK][kMostN];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& mine = *static_cast<MmaLane*>(payload[lane]);
    for (int r = 0; r < shape.a_registers; ++r) {
      const Place at = place_of_a(shape, lane, r, 0, 1);
      a[at.row][at.column] = bits_as<double>(mine.wide_a[r]);
    }
    for (int r = 0; r < shape.b_registers; ++r) {
      const Place at = place_of_b(lane, r, 0, 1);
      b[at.row][at.column] = bits_as<double>(mine.wide_b[r]);
    }
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& mine = *static_cast<MmaLane*>(payload[lane]);
    for (int i = 0; i < shape.m / 4; ++i) {
      const Place at = place_of_d(lane, i, 0, 1);
      double total = bits_as<double>(mine.wide_c[i]);
      for (int k = 0; k < shape.k; ++k) total = std::fma(a[at.row][k], b[k][at.column], total);
      mine.wide_d[i] = bits_as<uint64_t>(total);
    }
  }
}

}  // namespace

namespace ptx {

void ldmatrix(unsigned* registers, unsigned count, bool transposed, const void* row, Location at) {
  const void* caller = __builtin_return_address(0);
  if (state.lane < 8 * count) {
    shared_place(row, 16, "ldmatrix", at);
    // A fragment fetched ahead may be of a stage that is never filled, and is not used then: so
    // what nobody wrote is not reported here.
    if (observer) observer->copy_wrote(row, 16);
    note_read(row, 16, caller);
  }
  MatrixLane lane{registers, count, transposed, static_cast<char*>(const_cast<void*>(row))};
  static const WarpOperation operation{"ldmatrix", &combine_ldmatrix, true};
  warp_operation(kAllLanes, operation, &lane, at);
}

void stmatrix(const unsigned* registers, unsigned count, bool transposed, void* row, Location at) {
  const void* caller = __builtin_return_address(0);
  if (state.lane < 8 * count) {
    shared_place(row, 16, "stmatrix", at);
    note_write(row, 16, caller);
  }
  MatrixLane lane{const_cast<unsigned*>(registers), count, transposed, static_cast<char*>(row)};
  static const WarpOperation operation{"stmatrix", &combine_stmatrix, true};
  warp_operation(kAllLanes, operation, &lane, at);
}

unsigned movmatrix(unsigned value, Location at) {
  MovmatrixLane lane{value, 0};
  static const WarpOperation operation{"movmatrix", &combine_movmatrix, true};
  warp_operation(kAllLanes, operation, &lane, at);
  return lane.result;
}

void add_products_of_wmma(Element type, bool half_result, int rows, int columns, int k,
                          const float* a, const float* b, float* d) {
  add_products(Instruction::wmma, number_of(type), number_of(type), half_result, rows, columns, k,
               a, k, b, columns, d, columns);
}

void mma(const Mma& shape, unsigned* d, const unsigned* a, const unsigned* b, const unsigned* c,
         Location at) {
  count_operations(shape);
  MmaLane lane{&shape, nullptr, nullptr, nullptr, nullptr, d, a, b, c};
  static const WarpOperation operation{"mma.sync", &combine_mma, true};
  warp_operation(kAllLanes, operation, &lane, at);
}

void mma(const Mma& shape, unsigned long long* d, const unsigned long long* a,
         const unsigned long long* b, const unsigned long long* c, Location at) {
  static_assert(sizeof(uint64_t) == sizeof(unsigned long long));
  count_operations(shape);
  MmaLane lane{&shape,
               reinterpret_cast<uint64_t*>(d),
               reinterpret_cast<const uint64_t*>(a),
               reinterpret_cast<const uint64_t*>(b),
               reinterpret_cast<const uint64_t*>(c),
               nullptr,
               nullptr,
               nullptr,
               nullptr};
  static const WarpOperation operation{"mma.sync", &combine_mma_double, true};
  warp_operation(kAllLanes, operation, &lane, at);
}

// ---- 8-bit floats -------------------------------------------------------------------------------

float float_from_e4m3(unsigned char bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const float sign = bits & 128 ? -1.0f : 1.0f;
  if (exponent == 15 && mantissa == 7) return std::copysign(NAN, sign);
  if (exponent == 0) return sign * std::ldexp(float(mantissa), -9);
  return sign * std::ldexp(float(8 + mantissa), exponent - 10);
}

float float_from_e5m2(unsigned char bits) {
  return float_from_half_bits(static_cast<uint16_t>(bits << 8));
}

// Nearest value of a format with `mantissa` bits below the leading one, whose smallest normal
// exponent is `least`; ties to even.
static float rounded_to(float x, int mantissa, int least) {
  int exponent;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - 1, least) - mantissa;
  return std::ldexp(std::nearbyint(std::ldexp(x, -unit)), unit);
}

unsigned char e4m3_from_float(float x) {
  const unsigned char sign = std::signbit(x) ? 128 : 0;
  if (x != x) return 0x7f;
  const float magnitude = rounded_to(std::fabs(x), 3, -6);
  if (!(magnitude < 448.0f)) return sign | 0x7e;
  if (magnitude < 0x1p-6f) return sign | static_cast<unsigned char>(magnitude * 512.0f);
  int exponent;
  const float fraction = std::frexp(magnitude, &exponent);  // in [1/2, 1)
  return sign | static_cast<unsigned char>((exponent + 6) << 3 | (int(fraction * 16.0f) - 8));
}

unsigned char e5m2_from_float(float x) {
  const unsigned char sign = std::signbit(x) ? 128 : 0;
  if (x != x) return 0x7f;
  const float magnitude = rounded_to(std::fabs(x), 2, -14);
  if (!(magnitude < 57344.0f)) return sign | 0x7b;
  return sign | static_cast<unsigned char>(half_bits_from_float(magnitude) >> 8);
}

// ---- registers that are not data ----------------------------------------------------------------

unsigned multiprocessor() { return static_cast<unsigned>(state.block->number) % multiprocessors(); }
unsigned multiprocessors() { return static_cast<unsigned>(chip().multiprocessors); }
// Time is not modelled, but it passes.
unsigned long long nanoseconds() {
  return static_cast<unsigned long long>(
      std::chrono::steady_clock::now().time_since_epoch().count());
}
unsigned long long clock() {
  poll();
  return nanoseconds();
}
unsigned dynamic_shared_bytes() {
  return static_cast<unsigned>(state.block->launch->dynamic_shared);
}
unsigned total_shared_bytes() {
  return static_cast<unsigned>(state.block->launch->kernel->static_shared) + dynamic_shared_bytes();
}

}  // namespace ptx
}  // namespace simt
