// How a reader chooses the size of a product: --size for a cube, or --m, --n and --k.
#pragma once

#include <cstdint>
#include <vector>

#include "04_matmul/shape.hpp"
#include "common/bench/settings.hpp"

namespace matmul {

inline std::vector<bench::Setting> shape_settings() {
  const auto size = [](const char* name, const char* help) {
    return bench::number(name, help, 4096, 256, 1, kMostSize);
  };
  return {size("size", "m = n = k (default 4096; on a CPU 256)"), size("m", "rows of A and C"),
          size("n", "columns of B and C"), size("k", "columns of A, rows of B")};
}

inline Shape shape_of(const bench::Settings& settings) {
  const auto or_size = [&settings](const char* name) {
    return settings[settings.given(name) ? name : "size"];
  };
  return {or_size("m"), or_size("n"), or_size("k")};
}

}  // namespace matmul
