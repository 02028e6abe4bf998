// common/kit/launch_slots.cuh: launches side by side do not share a slot, and turns go on for ever.
#include "common/kit/launch_slots.cuh"

#include <set>
#include <thread>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"

namespace {

struct Slot {
  int words[3];
};
__device__ Slot slots_of_test[8];

}  // namespace

TEST_CASE("each of several launches in a row has a slot of its own, all of them in the variable") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  kit::LaunchSlots<Slot, 8> slots(slots_of_test);
  void* first = nullptr;
  CUDA_CHECK(cudaGetSymbolAddress(&first, slots_of_test));
  for (int turn = 0; turn < 3; ++turn) {
    for (int launch = 0; launch < 8; ++launch) {
      CHECK(slots.next() == static_cast<Slot*>(first) + launch);
    }
  }
}

TEST_CASE("threads that launch at the same time get different slots") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  kit::LaunchSlots<Slot, 8> slots(slots_of_test);
  std::vector<Slot*> got(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&slots, &got, i] { got[i] = slots.next(); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::set<Slot*>(got.begin(), got.end()).size() == 8);
}
