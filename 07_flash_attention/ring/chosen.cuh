// The last page of the ladder: which rung a library would take.
#pragma once

#include <string>

#include "07_flash_attention/ring/05_zigzag.cuh"
#include "07_flash_attention/ring/beyond/01_fused_steps.cuh"
#include "07_flash_attention/ring/kit/team.cuh"
#include "07_flash_attention/ring/problem.cuh"
#include "common/bench/variant.cuh"

namespace ring_attention {

// o and lse of every rank; zigzag shards serve both masks. is_hopper: the devices and the code are
// for sm_90a. Returns the name of the rung that does it.
template <class T>
std::string ring_attention_chosen(const Team<T>& team, bool is_hopper) {
  if (is_hopper) {
    ring_attention_fused_steps(team);
    return "fused_steps";
  }
  ring_attention_zigzag(team);
  return "zigzag";
}

// Its row.
template <class T>
bench::Variant<RingAttention<T>> ring_attention_chooser() {
  const auto run = [](RingAttention<T>& p, cudaStream_t stream) {
    std::string rung;
    p.with_team(true, stream,
                [&](const Team<T>& team) { rung = ring_attention_chosen(team, is_hopper()); });
    return rung;
  };
  auto variant = bench::chooser<RingAttention<T>>("the rung that a library would take", run);
  variant.needs = bench::needs_sm(80);
  variant.check = [](const RingAttention<T>& p) { return p.check(true); };
  return variant;
}

}  // namespace ring_attention
