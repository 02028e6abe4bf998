// The problem: dQ, dK and dV of O = softmax(Q K^T / sqrt(d)) V, from dO and what the forward pass
// left: O and the log-sum-exp. For any batch, number of heads, query heads that share a K/V head,
// queries and keys, causal or not, in fp32, bf16 or fp16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "07_flash_attention/backward/forward.cuh"
#include "07_flash_attention/backward/reference.hpp"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/input_sets.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/random.cuh"
#include "common/kit/workspace.cuh"

namespace backward {

// T is float, __nv_bfloat16 or __half.
template <class T>
struct Backward {
  static constexpr bool kIs16Bit = !std::is_same_v<T, float>;
  static constexpr const char* name = std::is_same_v<T, float>    ? "backward"
                                      : std::is_same_v<T, __half> ? "backward_fp16"
                                                                  : "backward_bf16";
  using Inputs = bench::InputSets<T, 5>;

  Shape shape;
  bool is_real_gpu;
  bench::GuardedArray<T> q, k, v, o, d_o, dq, dk, dv;
  bench::GuardedArray<float> lse;
  kit::Workspace workspace;
  Reference expected;

  // is_real_gpu: false where kernels run on the CPU.
  Backward(const Shape& shape, std::uint64_t seed, bool is_real_gpu)
      : shape(shape),
        is_real_gpu(is_real_gpu),
        q("Q", bench::Role::input, shape.rows() * shape.d),
        k("K", bench::Role::input, shape.keys() * shape.d),
        v("V", bench::Role::input, shape.keys() * shape.d),
        o("O", bench::Role::input, shape.rows() * shape.d),
        d_o("dO", bench::Role::input, shape.rows() * shape.d),
        dq("dQ", bench::Role::output, shape.rows() * shape.d),
        dk("dK", bench::Role::output, shape.keys() * shape.d),
        dv("dV", bench::Role::output, shape.keys() * shape.d),
        lse("log-sum-exp", bench::Role::input, shape.rows()) {
    // Uniform elements in [-1, 1) have variance 1/3; with Q in [-3, 3) that of a score is 1.
    fill(q, 4 * seed, 3);
    fill(k, 4 * seed + 1, 1);
    fill(v, 4 * seed + 2, 1);
    fill(d_o, 4 * seed + 3, 1);
    compute_reference();
  }

  // For inputs of one's own: fill the pristine Q, K, V and dO, then call this.
  void compute_reference() {
    constexpr double kMostPairsOnHost = 1e9;  // a second or two
    run_forward(is_real_gpu && backward::pairs(shape) > kMostPairsOnHost);
    expected = reference_of(shape, pristine_data(), kMostPairs);
  }

  Tensors<T> host_data() {
    return {q.host_data(),   k.host_data(),  v.host_data(),  o.host_data(), d_o.host_data(),
            lse.host_data(), dq.host_data(), dk.host_data(), dv.host_data()};
  }
  // The inputs of the set that rotate() chose.
  Tensors<T> device_data() {
    return {inputs_.device_data(0, q),
            inputs_.device_data(1, k),
            inputs_.device_data(2, v),
            inputs_.device_data(3, o),
            inputs_.device_data(4, d_o),
            lse.device_data(),
            dq.device_data(),
            dk.device_data(),
            dv.device_data()};
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(q);
    visit(k);
    visit(v);
    visit(o);
    visit(d_o);
    visit(lse);
    visit(dq);
    visit(dk);
    visit(dv);
  }

  // Elements count on from dQ to dK to dV. Of rows that the reference leaves out it is only known
  // that they are finite.
  bench::Comparison check() const {
    bench::Comparison all;
    all.add(expected.dq.compare(dq, shape.d), 0);
    all.add(expected.dk.compare(dk, shape.d), dq.size());
    all.add(expected.dv.compare(dv, shape.d), dq.size() + dk.size());
    return all;
  }

  bench::Sizes sizes() const {
    return {{"batch", shape.batch},  {"heads", shape.heads}, {"kv_heads", shape.kv_heads},
            {"n", shape.n_q},        {"nk", shape.n_k},      {"d", shape.d},
            {"causal", shape.causal}};
  }
  double bytes() const { return backward::bytes(shape, sizeof(T)); }
  double flops() const { return backward::flops(shape); }
  double scratch_bytes() const { return workspace.asked_bytes(); }
  void forget_scratch() { workspace.forget(); }

  // Launches per sample: 5 to 10 ms of work for the fast rungs.
  int batch() const {
    if (!is_real_gpu) return 1;
    return static_cast<int>(
        std::clamp((kIs16Bit ? 4e12 : 4e11) / backward::flops(shape), 1.0, 100.0));
  }
  void rotate(int index) {
    if (is_real_gpu) inputs_.rotate(index, {&q, &k, &v, &o, &d_o});
  }
  double peak_gflops(const bench::DeviceFacts& device) const {
    return kIs16Bit ? peak_bf16_gflops(device) : device.peak_fp32_gflops;
  }

  static constexpr double kBeside = 1e8;  // on the host, whatever the shape: libraries

  // Without the workspace, for want of which a rung is skipped.
  static bench::MemoryNeed memory(const Shape& shape) {
    const double bytes = backward::bytes(shape, sizeof(T));
    return {3 * bytes + reference_bytes(shape, kMostPairs) + kBeside, 2 * bytes + Inputs::kBytes};
  }

 private:
  static constexpr double kMostPairs = 1e7;  // that the reference looks at

  static void fill(bench::GuardedArray<T>& array, std::uint64_t seed, float factor) {
    T* to = array.pristine();
    const std::int64_t count = array.size();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) to[i] = T(factor * kit::random_float(seed, i));
  }

  Tensors<T> pristine_data() {
    return {q.pristine(),   k.pristine(), v.pristine(), o.pristine(), d_o.pristine(),
            lse.pristine(), nullptr,      nullptr,      nullptr};
  }

  void run_forward(bool on_device) {
    if (!on_device) return forward_on_host(shape, pristine_data(), o.pristine(), lse.pristine());
    for (auto* array : {&q, &k, &v}) array->reset(bench::Side::device);
    forward_on_device(shape, device_data(), o.device_data(), lse.device_data());
    CUDA_CHECK(
        cudaMemcpy(o.pristine(), o.device_data(), o.size() * sizeof(T), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaMemcpy(lse.pristine(), lse.device_data(), lse.size() * sizeof(float),
                          cudaMemcpyDeviceToHost));
  }

  Inputs inputs_;
};

// A rung on the device: of_head_dim(d) is its function for heads of d elements, where scratch holds
// scratch_of(shape) floats.
template <class T, class OfHeadDim>
bench::Variant<Backward<T>> rung(const std::string& name, const std::string& idea,
                                 OfHeadDim of_head_dim, std::int64_t (*scratch_of)(const Shape&),
                                 bench::Needs needs = {}) {
  return bench::device_variant<Backward<T>>(
      name, idea,
      [of_head_dim, scratch_of](Backward<T>& p, cudaStream_t stream) {
        float* scratch = p.workspace.template get<float>(scratch_of(p.shape));
        attention::with_head_dim(
            p.shape.d, [&](auto d) { of_head_dim(d)(p.shape, p.device_data(), scratch, stream); });
      },
      needs);
}

}  // namespace backward
