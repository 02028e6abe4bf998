// Plans that are remembered. To plan a product with few tiles may take 20 us on the host, longer
// than its kernels; a program multiplies the same shapes again and again.
#pragma once

#include <array>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"

namespace matmul::bf16 {

// What `make` returns for this product on this device. Each host thread remembers the plans of the
// last products, one in each of 64 places. Make: a type of its own for each kind of plan, a lambda
// for one.
template <class Make>
auto remembered_plan(const Product& product, std::int64_t device, Make make) -> decltype(make()) {
  struct Place {
    std::array<std::int64_t, 7> key{};  // zeros: empty, as m is at least 1
    decltype(make()) plan{};
  };
  static thread_local std::array<Place, 64> places;
  const std::array<std::int64_t, 7> key = {product.m,
                                           product.n,
                                           product.k,
                                           static_cast<std::int64_t>(100 * product.a_reads),
                                           static_cast<std::int64_t>(100 * product.b_reads),
                                           product.is_b_transposed ? 1 : 0,
                                           device};
  std::uint64_t hash = 0;
  for (const std::int64_t part : key)
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
  Place& place = places[hash >> 58];
  if (place.key != key) place = {key, make()};
  return place.plan;
}

}  // namespace matmul::bf16
