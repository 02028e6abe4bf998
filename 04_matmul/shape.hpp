// The size of a product, and its two numbers: operations and bytes.
#pragma once

#include <cstdint>

namespace matmul {

constexpr std::int64_t kMostSize = 2'000'000'000;  // an int can still count past it by a tile

// Rows and columns of C, and the length of the sums that its elements are. Each from 1 to
// kMostSize; their products may be larger.
struct Shape {
  std::int64_t m, n, k;

  double flops() const { return 2.0 * m * n * k; }  // a multiply-add counts two
  // Of matrices whose elements take `each` bytes, if every element moves once.
  double bytes(int each = sizeof(float)) const {
    return each * (1.0 * m * k + 1.0 * k * n + 1.0 * m * n);
  }
  double intensity(int each = sizeof(float)) const { return flops() / bytes(each); }
};

}  // namespace matmul
