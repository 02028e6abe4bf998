// The problem: one step of decoding, O = softmax(q K^T / sqrt(d)) V and the log-sum-exp for one new
// token of each sequence, whose query heads share K/V heads in groups; in bf16 or fp16. The caches
// lie in one piece a sequence, or in pages; sequences may differ in length, and only the newest
// tokens may count (a window).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/reference.hpp"
#include "07_flash_attention/decode/shape.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/input_sets.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/random.cuh"
#include "common/kit/workspace.cuh"

namespace decode {

// How the caches lie. page: tokens of a page, 0 for caches in one piece. window: the newest tokens
// that count. is_ragged: lengths are random from 0 to n, the first is n; otherwise all are n.
struct Layout {
  int page = 0, window = std::numeric_limits<int>::max();
  bool is_ragged = false;
};

// T is __nv_bfloat16 or __half.
template <class T>
struct Decode {
  static constexpr const char* name = "decode";
  using Inputs = bench::InputSets<T, 3>;

  Shape shape;
  Layout layout;
  bool is_real_gpu;
  int page, pages_each;
  bench::GuardedArray<T> q, k, v, o;
  bench::GuardedArray<float> lse;
  bench::GuardedArray<int> lengths, table;
  kit::Workspace workspace;
  Reference expected;

  // is_real_gpu: false where kernels run on the CPU.
  Decode(const Shape& shape, const Layout& layout, std::uint64_t seed, bool is_real_gpu)
      : shape(shape),
        layout(layout),
        is_real_gpu(is_real_gpu),
        page(layout.page > 0 ? layout.page : shape.n),
        pages_each((shape.n + page - 1) / page),
        q("Q", bench::Role::input, shape.rows() * shape.d),
        k("K", bench::Role::input, cached_rows(shape, layout) * shape.d),
        v("V", bench::Role::input, cached_rows(shape, layout) * shape.d),
        o("O", bench::Role::output, shape.rows() * shape.d),
        lse("log-sum-exp", bench::Role::output, shape.rows()),
        lengths("lengths", bench::Role::input, shape.batch),
        table("page table", bench::Role::input, shape.batch * pages_each) {
    choose_lengths(seed);
    deal_pages(seed);
    // Uniform elements in [-1, 1) have variance 1/3; with Q in [-3, 3) that of a score is 1.
    fill(q, 3 * seed, 3);
    fill(k, 3 * seed + 1, 1);
    fill(v, 3 * seed + 2, 1);
    spoil_unseen_tokens();
    compute_reference();
  }

  // For inputs of one's own: fill the pristine arrays, then call this.
  void compute_reference() {
    const Tensors<T> t{q.pristine(), k.pristine(), v.pristine(), nullptr, nullptr};
    expected = decode::compute_reference(shape, t, pristine_cache(), kMostPairs);
  }

  Tensors<T> host_data() {
    return {q.host_data(), k.host_data(), v.host_data(), o.host_data(), lse.host_data()};
  }
  // The inputs of the set that rotate() chose.
  Tensors<T> device_data() {
    return {inputs_.device_data(0, q), inputs_.device_data(1, k), inputs_.device_data(2, v),
            o.device_data(), lse.device_data()};
  }
  Cache host_cache() { return cache_of(lengths.host_data(), table.host_data()); }
  Cache device_cache() { return cache_of(lengths.device_data(), table.device_data()); }

  template <class Visit>
  void each_array(Visit visit) {
    visit(q);
    visit(k);
    visit(v);
    visit(lengths);
    visit(table);
    visit(o);
    visit(lse);
  }

  bench::Comparison check() const {
    return expected.compare(o, lse, shape.d, [](std::int64_t row) { return row; });
  }

  bench::Sizes sizes() const {
    bench::Sizes all = {{"batch", shape.batch},
                        {"heads", shape.heads},
                        {"kv_heads", shape.kv_heads},
                        {"n", shape.n},
                        {"d", shape.d}};
    if (layout.page == 0) return all;
    all.emplace_back("page", page);
    all.emplace_back("window", std::min(layout.window, shape.n));
    all.emplace_back("ragged", layout.is_ragged);
    return all;
  }

  // Of the tokens that count, if each is read once for all queries that share it.
  double cache_bytes() const {
    return 2.0 * sizeof(T) * shape.d * static_cast<double>(shape.kv_heads * seen_tokens());
  }
  double bytes() const {
    return cache_bytes() + static_cast<double>(shape.rows()) * (2.0 * sizeof(T) * shape.d + 4);
  }
  double flops() const { return 4.0 * shape.d * static_cast<double>(shape.heads * seen_tokens()); }
  // Counters on the device, zeros before and after each launch.
  unsigned* tickets(std::int64_t count) {
    if (tickets_.size() < count) {
      tickets_ = kit::DeviceBuffer<unsigned>(count);
      CUDA_CHECK(cudaMemset(tickets_.data(), 0, tickets_.bytes()));
      CUDA_CHECK(cudaDeviceSynchronize());
    }
    return tickets_.data();
  }
  double scratch_bytes() const { return workspace.asked_bytes(); }
  void forget_scratch() { workspace.forget(); }

  // Launches per sample: 5 ms of work for the fast rungs, so that a launch of a few microseconds is
  // timed well.
  int batch() const {
    if (!is_real_gpu) return 1;
    return static_cast<int>(std::clamp(2e10 / bytes(), 1.0, 200.0));
  }
  void rotate(int index) {
    if (is_real_gpu) inputs_.rotate(index, {&q, &k, &v});
  }
  double peak_gflops(const bench::DeviceFacts& device) const { return peak_bf16_gflops(device); }

  static constexpr double kBeside = 1e8;  // on the host, whatever the shape: libraries

  // Without the workspace, for want of which a rung is skipped.
  static bench::MemoryNeed memory(const Shape& shape, const Layout& layout) {
    const double rows = 2.0 * static_cast<double>(cached_rows(shape, layout) + shape.rows());
    const double bytes = sizeof(T) * shape.d * rows;
    return {3 * bytes + reference_bytes(shape, kMostPairs) + kBeside, bytes + Inputs::kBytes + 1e8};
  }

 private:
  static constexpr double kMostPairs = 1e7;  // that the reference looks at: a second or two

  static std::int64_t cached_rows(const Shape& shape, const Layout& layout) {
    const int page = layout.page > 0 ? layout.page : shape.n;
    return shape.all_kv_heads() * ((shape.n + page - 1) / page) * page;
  }

  Cache cache_of(const int* lengths_there, const int* table_there) const {
    return {lengths_there, table_there, page, pages_each, layout.window};
  }
  Cache pristine_cache() { return cache_of(lengths.pristine(), table.pristine()); }

  static void fill(bench::GuardedArray<T>& array, std::uint64_t seed, float factor) {
    T* to = array.pristine();
    const std::int64_t count = array.size();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) to[i] = T(factor * kit::random_float(seed, i));
  }

  void choose_lengths(std::uint64_t seed) {
    for (std::int64_t i = 0; i < shape.batch; ++i) {
      const auto random = static_cast<int>(kit::random_bits(seed + 31, i) % (shape.n + 1));
      lengths.pristine()[i] = layout.is_ragged && i > 0 ? random : shape.n;
    }
  }

  // Pages in an order as a server leaves them after a while: any. In one piece: in order.
  void deal_pages(std::uint64_t seed) {
    std::iota(table.pristine(), table.pristine() + table.size(), 0);
    for (std::int64_t i = table.size() - 1; layout.page > 0 && i > 0; --i) {
      const std::uint64_t random = kit::random_bits(seed + 37, i) % (i + 1);
      std::swap(table.pristine()[i], table.pristine()[random]);
    }
  }

  // What lies in a page past the end of its sequence, or before the window, is nobody's business:
  // NaN, so that whoever takes it into account is found out.
  void spoil_unseen_tokens() {
    const Cache cache = pristine_cache();
    const T nan = T(std::numeric_limits<float>::quiet_NaN());
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t head = 0; head < shape.all_kv_heads(); ++head) {
      const std::int64_t sequence = head / shape.kv_heads;
      for (int token = 0; token < pages_each * page; ++token) {
        if (token >= cache.first(sequence) && token < cache.end(sequence)) continue;
        const std::int64_t at = cache.row(shape, head, token) * shape.d;
        std::fill_n(k.pristine() + at, shape.d, nan);
        std::fill_n(v.pristine() + at, shape.d, nan);
      }
    }
  }

  std::int64_t seen_tokens() const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < shape.batch; ++i) {
      sum += std::min(lengths.pristine()[i], layout.window);
    }
    return sum;
  }

  Inputs inputs_;
  kit::DeviceBuffer<unsigned> tickets_;
};

// The scratch memory that belongs to a problem.
template <class T>
Scratch scratch_of(Decode<T>& p) {
  return {[&p](std::int64_t count) { return p.workspace.template get<float>(count); },
          [&p](std::int64_t count) { return p.tickets(count); }};
}

// A rung for caches in one piece: run(shape, tensors, scratch, stream).
template <class T, class Run>
bench::Variant<Decode<T>> rung(const std::string& name, const std::string& idea, Run run,
                               bench::Needs needs = {}) {
  return bench::device_variant<Decode<T>>(
      name, idea,
      [run](Decode<T>& p, cudaStream_t stream) {
        run(p.shape, p.device_data(), scratch_of(p), stream);
      },
      needs);
}

// A rung for caches in pages: run(shape, tensors, cache, scratch, stream).
template <class T, class Run>
bench::Variant<Decode<T>> paged_rung(const std::string& name, const std::string& idea, Run run,
                                     bench::Needs needs = bench::needs_sm(80)) {
  return bench::device_variant<Decode<T>>(
      name, idea,
      [run](Decode<T>& p, cudaStream_t stream) {
        run(p.shape, p.device_data(), p.device_cache(), scratch_of(p), stream);
      },
      needs);
}

}  // namespace decode
