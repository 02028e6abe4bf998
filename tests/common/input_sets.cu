// common/bench/input_sets.cuh: launches of a batch find inputs that no cache holds, with the same
// content each time.
#include "common/bench/input_sets.cuh"

#include <cstdint>
#include <set>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"

namespace {

using Sets = bench::InputSets<float, 2>;
using Array = bench::GuardedArray<float>;

Array input_of(std::int64_t count, float first) {
  Array array("x", bench::Role::input, count);
  for (std::int64_t i = 0; i < count; ++i) array.pristine()[i] = first + static_cast<float>(i % 7);
  array.reset(bench::Side::device);
  return array;
}

// What the current set holds.
std::vector<float> content(const float* data, std::int64_t count) {
  std::vector<float> values(count);
  CUDA_CHECK(cudaMemcpy(values.data(), data, count * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

}  // namespace

TEST_CASE("set 0 is the problem's own arrays, the others are copies of them") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  Array a = input_of(1000, 1), b = input_of(500, 2);
  Sets sets;
  sets.rotate(0, {&a, &b});
  CHECK(sets.device_data(0, a) == a.device_data());
  CHECK(sets.device_data(1, b) == b.device_data());
  const auto first = content(a.device_data(), a.size()),
             second = content(b.device_data(), b.size());
  std::set<const float*> places = {a.device_data()};
  for (int k = 1; k < 64; ++k) {
    sets.rotate(k, {&a, &b});
    places.insert(sets.device_data(0, a));
    CHECK(content(sets.device_data(0, a), a.size()) == first);
    CHECK(content(sets.device_data(1, b), b.size()) == second);
  }
  CHECK(places.size() == 64);  // small inputs: as many sets as there may be
  sets.rotate(64, {&a, &b});
  CHECK(sets.device_data(0, a) == a.device_data());  // and from the start again
}

TEST_CASE("all sets together are larger than a cache, and no larger than that takes") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t kCount = 5'000'000;  // two arrays of 20 MB: six sets are 240 MB
  Array a = input_of(kCount, 1), b = input_of(kCount, 2);
  Sets sets;
  std::set<const float*> places;
  for (int k = 0; k < 12; ++k) {
    sets.rotate(k, {&a, &b});
    places.insert(sets.device_data(0, a));
  }
  CHECK(places.size() == 6);
}
