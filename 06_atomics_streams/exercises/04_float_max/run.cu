// Runs exercise 06/float_max on one case. Each time that somebody is about to raise the cell a lot,
// a rival raises it just before, an eighth of the way, twenty times or more.
#include "tools/exercise/runner.hpp"

__device__ inline unsigned cas_after_rival(unsigned* cell, unsigned seen, unsigned value) {
  const float wanted = __uint_as_float(value), now = __uint_as_float(seen);
  if (wanted - now > 0.25f) {
    const float rival = isinf(now) ? wanted - 8 : now + (wanted - now) / 8;
    atomicCAS(cell, seen, __float_as_uint(rival));
  }
  return atomicCAS(cell, seen, value);
}
__device__ inline int cas_after_rival(int* cell, int seen, int value) {
  return static_cast<int>(cas_after_rival(reinterpret_cast<unsigned*>(cell),
                                          static_cast<unsigned>(seen),
                                          static_cast<unsigned>(value)));
}
#define atomicCAS cas_after_rival
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    float_max(c.device<float>("x"), static_cast<int>(c.size("n")), c.device<float>("cell"));
  });
}
