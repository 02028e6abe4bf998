// From a head's d and its mask, known at run time, to kernels compiled for them.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

namespace attention {

// Calls launch(std::integral_constant<int, d>()) for the d that kernels are compiled for.
template <class Launch>
void with_head_dim(int d, Launch launch) {
  switch (d) {
    case 64: return launch(std::integral_constant<int, 64>());
    case 128: return launch(std::integral_constant<int, 128>());
    case 256: return launch(std::integral_constant<int, 256>());
    default: throw std::invalid_argument("d must be 64, 128 or 256, not " + std::to_string(d));
  }
}

// The same with a second choice that is known at compile time: launch(d, causal).
template <class Launch>
void with_head_dim(int d, bool causal, Launch launch) {
  with_head_dim(d, [&](auto head_dim) {
    causal ? launch(head_dim, std::true_type{}) : launch(head_dim, std::false_type{});
  });
}

}  // namespace attention
