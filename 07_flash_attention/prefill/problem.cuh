// The problem: attention as a server asks for it when it reads prompts ("prefill"): sequences of
// different lengths in one batch, none filled up, whose heads share K/V heads in groups; causal or
// not, with a window or without one; in bf16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "07_flash_attention/prefill/reference.hpp"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/input_sets.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/random.cuh"
#include "common/kit/workspace.cuh"

namespace prefill {

using Element16 = __nv_bfloat16;

// Queries and keys of each sequence.
struct Lengths {
  std::vector<int> q, k;

  int longest() const { return q.empty() ? 0 : *std::max_element(q.begin(), q.end()); }
  static std::int64_t sum(const std::vector<int>& lengths) {
    std::int64_t sum = 0;
    for (const int length : lengths) sum += length;
    return sum;
  }
};

struct Prefill {
  static constexpr const char* name = "prefill";
  using T = Element16;
  using Inputs = bench::InputSets<T, 3>;

  Shape shape;
  bool is_ragged, is_real_gpu;
  bench::GuardedArray<T> q, k, v, o;
  bench::GuardedArray<float> lse;
  bench::GuardedArray<int> starts_q, starts_k;
  kit::Workspace workspace;
  Reference expected;

  // shape: without what follows from the lengths. is_real_gpu: false where kernels run on the CPU.
  Prefill(Shape shape, const Lengths& lengths, std::uint64_t seed, bool is_ragged, bool is_real_gpu)
      : shape(with_lengths(shape, lengths)),
        is_ragged(is_ragged),
        is_real_gpu(is_real_gpu),
        q("Q", bench::Role::input, this->shape.rows() * shape.d),
        k("K", bench::Role::input, this->shape.key_rows() * shape.d),
        v("V", bench::Role::input, this->shape.key_rows() * shape.d),
        o("O", bench::Role::output, this->shape.rows() * shape.d),
        lse("log-sum-exp", bench::Role::output, this->shape.rows()),
        starts_q("starts of queries", bench::Role::input, this->shape.batch + 1),
        starts_k("starts of keys", bench::Role::input, this->shape.batch + 1) {
    add_up(lengths.q, starts_q.pristine());
    add_up(lengths.k, starts_k.pristine());
    // Uniform elements in [-1, 1) have variance 1/3; with Q in [-3, 3) that of a score is 1.
    fill(q, 3 * seed, 3);
    fill(k, 3 * seed + 1, 1);
    fill(v, 3 * seed + 2, 1);
    compute_reference();
  }

  // For inputs of one's own: fill the pristine arrays, then call this.
  void compute_reference() {
    const Tensors<T> t{q.pristine(), k.pristine(), v.pristine(), nullptr, nullptr};
    const double keys_a_row = pairs() / std::max<double>(1, static_cast<double>(shape.q_tokens));
    expected =
        prefill::compute_reference(shape, t, pristine_starts(), kMostPairs / (1 + keys_a_row));
  }

  Tensors<T> host_data() {
    return {q.host_data(), k.host_data(), v.host_data(), o.host_data(), lse.host_data()};
  }
  // The inputs of the set that rotate() chose.
  Tensors<T> device_data() {
    return {inputs_.device_data(0, q), inputs_.device_data(1, k), inputs_.device_data(2, v),
            o.device_data(), lse.device_data()};
  }
  Starts host_starts() { return {starts_q.host_data(), starts_k.host_data()}; }
  // Those that every variant finds, in host memory at any time.
  Starts pristine_starts() const { return {starts_q.pristine(), starts_k.pristine()}; }
  Starts device_starts() { return {starts_q.device_data(), starts_k.device_data()}; }

  template <class Visit>
  void each_array(Visit visit) {
    visit(q);
    visit(k);
    visit(v);
    visit(starts_q);
    visit(starts_k);
    visit(o);
    visit(lse);
  }

  // What has NaN as reference, for its sequence has NaN as input, may be anything.
  bench::Comparison check() const {
    const auto lse_at = [this](std::int64_t row) {
      return row % shape.heads * shape.q_tokens + row / shape.heads;
    };
    return expected.compare(o, lse, shape.d, lse_at, true);
  }

  bench::Sizes sizes() const {
    return {{"batch", shape.batch},
            {"heads", shape.heads},
            {"kv_heads", shape.kv_heads},
            {"tokens", shape.q_tokens},
            {"keys", shape.k_tokens},
            {"longest", shape.longest},
            {"d", shape.d},
            {"causal", shape.causal},
            {"window", shape.window},
            {"ragged", is_ragged}};
  }

  // Pairs of a query and a key that it sees, of one head.
  double pairs() const {
    double sum = 0;
    for (int i = 0; i < shape.batch; ++i) {
      const Sequence sequence = pristine_starts().sequence(i);
      for (int query = 0; query < sequence.n_q; ++query) {
        const KeyRange keys = shape.visibility(sequence).keys(query);
        sum += keys.end - keys.begin;
      }
    }
    return sum;
  }
  // If every element of Q, K, V and O moves once, and the log-sum-exp.
  double bytes() const {
    const double rows = 2.0 * static_cast<double>(shape.rows() + shape.key_rows());
    return sizeof(T) * shape.d * rows + 4.0 * static_cast<double>(shape.rows());
  }
  double flops() const { return 4.0 * shape.d * shape.heads * pairs(); }

  double scratch_bytes() const { return workspace.asked_bytes(); }
  void forget_scratch() { workspace.forget(); }

  // Launches per sample: 5 to 10 ms of work for the fast rungs.
  int batch() const {
    if (!is_real_gpu) return 1;
    return static_cast<int>(std::clamp(4e12 / std::max(1.0, flops()), 1.0, 100.0));
  }
  void rotate(int index) {
    if (is_real_gpu) inputs_.rotate(index, {&q, &k, &v});
  }
  double peak_gflops(const bench::DeviceFacts& device) const { return peak_bf16_gflops(device); }

  static constexpr double kBeside = 1e8;  // on the host, whatever the shape: libraries

  // Of so many tokens. Without the workspace, for want of which a rung is skipped.
  static bench::MemoryNeed memory(const Shape& shape, double q_tokens, double k_tokens) {
    const double rows = q_tokens * shape.heads + k_tokens * shape.kv_heads;
    const double bytes = 2.0 * sizeof(T) * shape.d * rows;
    const double reference =
        sizeof(double) * (2.0 * shape.d + 4) * std::min(q_tokens * shape.heads, kMostPairs);
    return {3 * bytes + reference + kBeside, 2 * bytes + Inputs::kBytes};
  }

 private:
  static constexpr double kMostPairs = 1e7;  // that the reference looks at: a second or two

  static Shape with_lengths(Shape shape, const Lengths& lengths) {
    shape.batch = static_cast<int>(lengths.q.size());
    shape.q_tokens = static_cast<int>(Lengths::sum(lengths.q));
    shape.k_tokens = static_cast<int>(Lengths::sum(lengths.k));
    shape.longest = lengths.longest();
    return shape;
  }
  static void add_up(const std::vector<int>& lengths, int* starts) {
    starts[0] = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) starts[i + 1] = starts[i] + lengths[i];
  }

  static void fill(bench::GuardedArray<T>& array, std::uint64_t seed, float factor) {
    T* to = array.pristine();
    const std::int64_t count = array.size();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) to[i] = T(factor * kit::random_float(seed, i));
  }

  Inputs inputs_;
};

// A rung on the device: run(shape, tensors, starts, workspace, stream).
template <class Run>
bench::Variant<Prefill> rung(const std::string& name, const std::string& idea, Run run,
                             const bench::Needs& needs) {
  return bench::device_variant<Prefill>(
      name, idea,
      [run](Prefill& p, cudaStream_t stream) {
        run(p.shape, p.device_data(), p.device_starts(), p.workspace, stream);
      },
      needs);
}

}  // namespace prefill
