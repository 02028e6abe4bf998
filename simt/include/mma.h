// Tensor-core matrix products by a whole warp (WMMA).
//
// CUDA leaves open which lane holds which element of a fragment. Here lane l holds the elements l,
// l + 32, l + 64, ... of the row-major matrix; programs must not rely on it.
#pragma once

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "simt/ptx_matrix.h"

namespace nvcuda {
namespace wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

namespace detail {

template <class T>
struct Element {
  using type = T;
};
template <>
struct Element<precision::tf32> {
  using type = float;
};

template <class Use, int TileM, int TileN, int TileK>
struct Shape;
template <int TileM, int TileN, int TileK>
struct Shape<matrix_a, TileM, TileN, TileK> {
  static constexpr int rows = TileM, columns = TileK;
};
template <int TileM, int TileN, int TileK>
struct Shape<matrix_b, TileM, TileN, TileK> {
  static constexpr int rows = TileK, columns = TileN;
};
template <int TileM, int TileN, int TileK>
struct Shape<accumulator, TileM, TileN, TileK> {
  static constexpr int rows = TileM, columns = TileN;
};

// The shapes that the tensor cores know.
template <int TileM, int TileN, int TileK, class T>
constexpr bool is_shape() {
  if (std::is_same<T, precision::tf32>::value) return TileM == 16 && TileN == 16 && TileK == 8;
  if (std::is_same<T, double>::value) return TileM == 8 && TileN == 8 && TileK == 4;
  return TileK == 16 && ((TileM == 16 && TileN == 16) || (TileM == 32 && TileN == 8) ||
                         (TileM == 8 && TileN == 32));
}

}  // namespace detail

template <class Use, int TileM, int TileN, int TileK, class T, class Layout = void>
struct fragment {
  static_assert(std::is_same<Use, accumulator>::value || detail::is_shape<TileM, TileN, TileK, T>(),
                "WMMA has no such shape for this type");
  using element_type = typename detail::Element<T>::type;
  static constexpr int rows = detail::Shape<Use, TileM, TileN, TileK>::rows;
  static constexpr int columns = detail::Shape<Use, TileM, TileN, TileK>::columns;
  static constexpr int num_elements = rows * columns / 32;
  static constexpr int num_storage_elements = num_elements;
  element_type x[num_elements];
};

template <class Fragment>
SIMT_INLINE void fill_fragment(Fragment& f, typename Fragment::element_type value) {
  for (auto& element : f.x) element = value;
}

namespace detail {

// Offset of this lane's i-th element in memory.
template <class Fragment>
size_t offset_of(int i, unsigned leading, bool column_major) {
  const unsigned element = static_cast<unsigned>(i) * 32 + simt::state.lane;
  const unsigned row = element / Fragment::columns, column = element % Fragment::columns;
  return column_major ? size_t(column) * leading + row : size_t(row) * leading + column;
}

// `caller`: the return address into the user's code, whose line a report names.
template <class Fragment, class T>
SIMT_INLINE void load(Fragment& f, const T* from, unsigned leading, bool column_major,
                      const void* caller) {
  for (int i = 0; i < Fragment::num_elements; ++i) {
    const T* element = from + offset_of<Fragment>(i, leading, column_major);
    SIMT_NOTE_FOR(caller, read, element, sizeof(T));
    f.x[i] = *element;
  }
}

template <class Fragment, class T>
SIMT_INLINE void store(T* to, const Fragment& f, unsigned leading, bool column_major,
                       const void* caller) {
  for (int i = 0; i < Fragment::num_elements; ++i) {
    T* element = to + offset_of<Fragment>(i, leading, column_major);
    SIMT_NOTE_FOR(caller, write, element, sizeof(T));
    *element = f.x[i];
  }
}

template <class Result, class FragmentA, class FragmentB, class FragmentC>
struct ProductLane {
  Result* d;
  const FragmentA* a;
  const FragmentB* b;
  const FragmentC* c;
};

// D = A B + C: collects the fragments of all lanes, multiplies, hands the result out.
template <class Result, class FragmentA, class FragmentB, class FragmentC>
SIMT_INLINE void multiply(void** payload, unsigned lanes) {
  using Lane = ProductLane<Result, FragmentA, FragmentB, FragmentC>;
  using Input = typename FragmentA::element_type;
  using Sum =
      std::conditional_t<std::is_integral<Input>::value, int,
                         std::conditional_t<std::is_same<Input, double>::value, double, float>>;
  constexpr int TileM = Result::rows, TileN = Result::columns, TileK = FragmentA::columns;
  Sum a[TileM * TileK] = {}, b[TileK * TileN] = {}, d[TileM * TileN] = {};
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const Lane& mine = *static_cast<Lane*>(payload[lane]);
    for (int i = 0; i < FragmentA::num_elements; ++i)
      a[i * 32 + lane] = static_cast<Sum>(mine.a->x[i]);
    for (int i = 0; i < FragmentB::num_elements; ++i)
      b[i * 32 + lane] = static_cast<Sum>(mine.b->x[i]);
    for (int i = 0; i < FragmentC::num_elements; ++i)
      d[i * 32 + lane] = static_cast<Sum>(mine.c->x[i]);
  }
  if constexpr (std::is_same<Sum, float>::value) {
    using simt::ptx::Element;
    constexpr Element type = std::is_same<Input, __half>::value  ? Element::f16
                             : std::is_same<Input, float>::value ? Element::tf32
                                                                 : Element::bf16;
    if (type == Element::tf32)  // the chip cuts it off after 10 bits
      for (Sum* all : {a, b})
        for (int i = 0; i < (all == a ? TileM : TileN) * TileK; ++i)
          all[i] = simt::bits_as<float>(simt::bits_as<unsigned>(all[i]) & ~0x1fffu);
    simt::ptx::add_products_of_wmma(type,
                                    std::is_same<typename Result::element_type, __half>::value,
                                    TileM, TileN, TileK, a, b, d);
  } else {
    for (int m = 0; m < TileM; ++m)
      for (int k = 0; k < TileK; ++k)
        for (int n = 0; n < TileN; ++n) d[m * TileN + n] += a[m * TileK + k] * b[k * TileN + n];
  }
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    Lane& mine = *static_cast<Lane*>(payload[lane]);
    for (int i = 0; i < Result::num_elements; ++i)
      mine.d->x[i] = static_cast<typename Result::element_type>(d[i * 32 + lane]);
  }
}

}  // namespace detail

template <class Use, int TileM, int TileN, int TileK, class T, class Layout, class Stored>
SIMT_INLINE void load_matrix_sync(fragment<Use, TileM, TileN, TileK, T, Layout>& f,
                                  const Stored* from, unsigned leading,
                                  simt::Location at = simt::Location::here()) {
  __syncwarp(0xffffffffu, at);
  detail::load(f, from, leading, std::is_same<Layout, col_major>::value,
               __builtin_return_address(0));
}
template <int TileM, int TileN, int TileK, class T, class Stored>
SIMT_INLINE void load_matrix_sync(fragment<accumulator, TileM, TileN, TileK, T>& f,
                                  const Stored* from, unsigned leading, layout_t layout,
                                  simt::Location at = simt::Location::here()) {
  __syncwarp(0xffffffffu, at);
  detail::load(f, from, leading, layout == mem_col_major, __builtin_return_address(0));
}
template <int TileM, int TileN, int TileK, class T, class Stored>
SIMT_INLINE void store_matrix_sync(Stored* to,
                                   const fragment<accumulator, TileM, TileN, TileK, T>& f,
                                   unsigned leading, layout_t layout,
                                   simt::Location at = simt::Location::here()) {
  __syncwarp(0xffffffffu, at);
  detail::store(to, f, leading, layout == mem_col_major, __builtin_return_address(0));
}

template <class Result, class FragmentA, class FragmentB, class FragmentC>
SIMT_INLINE void mma_sync(Result& d, const FragmentA& a, const FragmentB& b, const FragmentC& c,
                          bool = false, simt::Location at = simt::Location::here()) {
  detail::ProductLane<Result, FragmentA, FragmentB, FragmentC> lane{&d, &a, &b, &c};
  simt::WarpOperation operation{"wmma::mma_sync",
                                &detail::multiply<Result, FragmentA, FragmentB, FragmentC>, true};
  simt::note_tensor_operations(2ull * Result::rows * Result::columns * FragmentA::columns);
  simt::warp_operation(0xffffffffu, operation, &lane, at);
}

// Rounds to the 10 bits of mantissa that a tensor core keeps of a TF32 number.
SIMT_INLINE float __float_to_tf32(float value) {
  const unsigned bits = __float_as_uint(value);
  return __uint_as_float((bits + 0x0fff + (bits >> 13 & 1)) & 0xffffe000u);
}

}  // namespace wmma
}  // namespace nvcuda
