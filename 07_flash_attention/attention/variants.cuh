// The index of this problem: every way to compute attention, in reading order; first in fp32, then
// with Q, K, V and O in bf16 or fp16, where tensor cores do the products.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/attention/01_sequential.hpp"
#include "07_flash_attention/attention/02_openmp.hpp"
#include "07_flash_attention/attention/03_naive.cuh"
#include "07_flash_attention/attention/04_online.cuh"
#include "07_flash_attention/attention/05_kv_outer.cuh"
#include "07_flash_attention/attention/06_q_outer.cuh"
#include "07_flash_attention/attention/07_register_tile.cuh"
#include "07_flash_attention/attention/08_async_copy.cuh"
#include "07_flash_attention/attention/09_mma.cuh"
#include "07_flash_attention/attention/10_wgmma.cuh"
#include "07_flash_attention/attention/11_ping_pong.cuh"
#include "07_flash_attention/attention/12_overlap.cuh"
#include "07_flash_attention/attention/13_persistent.cuh"
#include "07_flash_attention/attention/peers.cuh"
#include "07_flash_attention/attention/problem.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "common/variant.cuh"

// Throws common::Skip if this much work takes a rung of so few GFLOP/s minutes.
template <class T>
void refuse_more_than(double flops, const Attention<T>& problem) {
  if (problem.lift_limits || problem.flops() <= flops) return;
  throw common::Skip("would take minutes at this size (--slow runs it)");
}

// A rung on the device: run(shape, tensors, stream), T being the type of Q, K, V and O.
template <class T, class Run>
common::Variant<Attention<T>> attention_rung(const std::string& name, const std::string& idea,
                                             Run run, common::Needs needs = {}) {
  return common::on_device<Attention<T>>(
      name, idea,
      [run](Attention<T>& p, cudaStream_t stream) { run(p.shape, p.on_device(), stream); }, needs);
}

// One that takes more device memory: run(shape, tensors, workspace, stream).
template <class T, class Run>
common::Variant<Attention<T>> attention_rung_with_workspace(const std::string& name,
                                                            const std::string& idea, Run run) {
  return common::on_device<Attention<T>>(name, idea, [run](Attention<T>& p, cudaStream_t stream) {
    run(p.shape, p.on_device(), p.workspace, stream);
  });
}

inline std::vector<common::Variant<AttentionFp32>> attention_variants() {
  using common::on_cpu;
  const auto sequential = [](AttentionFp32& p) {
    refuse_more_than(2e10, p);
    attention_sequential(p.shape, p.on_host());
  };
  const auto openmp = [](AttentionFp32& p) {
    refuse_more_than(6e11, p);
    attention_openmp(p.shape, p.on_host());
  };
  return {
      on_cpu<AttentionFp32>("sequential", "the definition, query by query", sequential),
      on_cpu<AttentionFp32>("openmp", "all cores, vector instructions", openmp),
      attention_rung_with_workspace<float>("naive", "three kernels, all scores in global memory",
                                           attention_naive<float>),
      attention_rung<float>("online", "a warp a query, softmax as the keys pass by",
                            attention_online),
      attention_rung_with_workspace<float>(
          "kv_outer", "tiles; keys outside, queries inside (FlashAttention)", attention_kv_outer),
      attention_rung<float>("q_outer", "queries outside, keys inside (FlashAttention-2)",
                            attention_q_outer),
      attention_rung<float>("register_tile", "8 x 4 scores a thread, exponentials in base 2",
                            attention_register_tile),
      attention_rung<float>("async_copy", "the next tile travels meanwhile (cp.async)",
                            attention_async_copy, common::needs_sm(80)),
      attention_cublas<float>(),
  };
}

// T is __nv_bfloat16 or __half. In fp16 the three rungs before the last are left out: they would
// keep the compiler busy for a minute and show nothing that they do not show in bf16.
template <class T>
std::vector<common::Variant<Attention<T>>> attention_16bit_variants() {
  auto naive = attention_rung_with_workspace<T>(
      "naive", "three kernels; scores and weights rounded to 16 bits", attention_naive<T>);
  naive.check = [](const Attention<T>& p) { return p.check_eager(); };
  const common::Needs hopper = common::needs_exactly_sm(90);
  std::vector<common::Variant<Attention<T>>> variants = {
      naive, attention_rung<T>("mma", "tensor cores, a warp at a time; scores stay in registers",
                               attention_mma<T>, common::needs_sm(80))};
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    variants.push_back(
        attention_rung<T>("wgmma", "a producer warpgroup; the others multiply from shared memory",
                          attention_wgmma<T>, hopper));
    variants.push_back(attention_rung<T>("ping_pong", "warpgroups take turns at the tensor cores",
                                         attention_ping_pong<T>, hopper));
    variants.push_back(attention_rung<T>("overlap", "exponentials while the tile before meets V",
                                         attention_overlap<T>, hopper));
  }
  variants.push_back(attention_rung<T>("persistent",
                                       "blocks stay, the longest tiles first; Q in registers",
                                       attention_persistent<T>, hopper));
  variants.push_back(attention_cublas<T>());
  return variants;
}
