// Tensor-core matrix products by a whole warp (WMMA).
//
// CUDA leaves open which lane holds which element of a fragment. Here lane l holds the elements l,
// l + 32, l + 64, ... of the row-major matrix; programs must not rely on it.
#pragma once

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"

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

template <class Use, int M, int N, int K>
struct Shape;
template <int M, int N, int K>
struct Shape<matrix_a, M, N, K> {
  static constexpr int rows = M, columns = K;
};
template <int M, int N, int K>
struct Shape<matrix_b, M, N, K> {
  static constexpr int rows = K, columns = N;
};
template <int M, int N, int K>
struct Shape<accumulator, M, N, K> {
  static constexpr int rows = M, columns = N;
};

// The shapes that the tensor cores know.
template <int M, int N, int K, class T>
constexpr bool is_shape() {
  if (std::is_same<T, precision::tf32>::value) return M == 16 && N == 16 && K == 8;
  if (std::is_same<T, double>::value) return M == 8 && N == 8 && K == 4;
  return K == 16 && ((M == 16 && N == 16) || (M == 32 && N == 8) || (M == 8 && N == 32));
}

}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static_assert(std::is_same<Use, accumulator>::value || detail::is_shape<M, N, K, T>(),
                "WMMA has no such shape for this type");
  using element_type = typename detail::Element<T>::type;
  static constexpr int rows = detail::Shape<Use, M, N, K>::rows;
  static constexpr int columns = detail::Shape<Use, M, N, K>::columns;
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

template <class Fragment, class T>
SIMT_INLINE void load(Fragment& f, const T* from, unsigned leading, bool column_major) {
  for (int i = 0; i < Fragment::num_elements; ++i) {
    const T* element = from + offset_of<Fragment>(i, leading, column_major);
    SIMT_NOTE(read, element, sizeof(T));
    f.x[i] = *element;
  }
}

template <class Fragment, class T>
SIMT_INLINE void store(T* to, const Fragment& f, unsigned leading, bool column_major) {
  for (int i = 0; i < Fragment::num_elements; ++i) {
    T* element = to + offset_of<Fragment>(i, leading, column_major);
    SIMT_NOTE(write, element, sizeof(T));
    *element = f.x[i];
  }
}

template <class D, class A, class B, class C>
struct ProductLane {
  D* d;
  const A* a;
  const B* b;
  const C* c;
};

// D = A B + C: collects the fragments of all lanes, multiplies, hands the result out.
template <class D, class A, class B, class C>
SIMT_INLINE void multiply(void** payload, unsigned lanes) {
  using Lane = ProductLane<D, A, B, C>;
  using Input = typename A::element_type;
  using Sum =
      std::conditional_t<std::is_integral<Input>::value, int,
                         std::conditional_t<std::is_same<Input, double>::value, double, float>>;
  constexpr int M = D::rows, N = D::columns, K = A::columns;
  Sum a[M * K] = {}, b[K * N] = {}, d[M * N] = {};
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const Lane& mine = *static_cast<Lane*>(payload[lane]);
    for (int i = 0; i < A::num_elements; ++i) a[i * 32 + lane] = static_cast<Sum>(mine.a->x[i]);
    for (int i = 0; i < B::num_elements; ++i) b[i * 32 + lane] = static_cast<Sum>(mine.b->x[i]);
    for (int i = 0; i < C::num_elements; ++i) d[i * 32 + lane] = static_cast<Sum>(mine.c->x[i]);
  }
  for (int m = 0; m < M; ++m)
    for (int k = 0; k < K; ++k)
      for (int n = 0; n < N; ++n) d[m * N + n] += a[m * K + k] * b[k * N + n];
  for (int lane = 0; lane < 32; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    Lane& mine = *static_cast<Lane*>(payload[lane]);
    for (int i = 0; i < D::num_elements; ++i)
      mine.d->x[i] = static_cast<typename D::element_type>(d[i * 32 + lane]);
  }
}

}  // namespace detail

template <class Use, int M, int N, int K, class T, class Layout, class P>
SIMT_INLINE void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& f, const P* from,
                                  unsigned leading, simt::Location at = simt::Location::here()) {
  __syncwarp(0xffffffffu, at);
  detail::load(f, from, leading, std::is_same<Layout, col_major>::value);
}
template <int M, int N, int K, class T, class P>
SIMT_INLINE void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const P* from,
                                  unsigned leading, layout_t layout,
                                  simt::Location at = simt::Location::here()) {
  __syncwarp(0xffffffffu, at);
  detail::load(f, from, leading, layout == mem_col_major);
}
template <int M, int N, int K, class T, class P>
SIMT_INLINE void store_matrix_sync(P* to, const fragment<accumulator, M, N, K, T>& f,
                                   unsigned leading, layout_t layout,
                                   simt::Location at = simt::Location::here()) {
  __syncwarp(0xffffffffu, at);
  detail::store(to, f, leading, layout == mem_col_major);
}

template <class D, class A, class B, class C>
SIMT_INLINE void mma_sync(D& d, const A& a, const B& b, const C& c, bool = false,
                          simt::Location at = simt::Location::here()) {
  detail::ProductLane<D, A, B, C> lane{&d, &a, &b, &c};
  simt::WarpOperation operation{"wmma::mma_sync", &detail::multiply<D, A, B, C>};
  simt::warp_operation(0xffffffffu, operation, &lane, at);
}

// Rounds to the 10 bits of mantissa that a tensor core keeps of a TF32 number.
SIMT_INLINE float __float_to_tf32(float value) {
  const unsigned bits = __float_as_uint(value);
  return __uint_as_float((bits + 0x0fff + (bits >> 13 & 1)) & 0xffffe000u);
}

}  // namespace wmma
}  // namespace nvcuda
