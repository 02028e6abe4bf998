// The headers of several chapters in one file: each problem has a namespace of its own, so that
// nothing in one chapter hides or repeats what another one defines.
#include <set>
#include <string>

#include "01_vector_add/ladder.cuh"
#include "02_warp_divergence/branch/ladder.cuh"
#include "02_warp_divergence/polar/ladder.cuh"
#include "03_coalescing/copy/ladder.cuh"
#include "03_coalescing/latency/ladder.cuh"
#include "03_coalescing/particles/ladder.cuh"
#include "03_coalescing/transpose/ladder.cuh"
#include "03_coalescing/window/ladder.cuh"
#include "05_reduction/affine/ladder.cuh"
#include "05_reduction/scan/ladder.cuh"
#include "05_reduction/sum/ladder.cuh"
#include "06_atomics_streams/histogram/ladder.cuh"
#include "06_atomics_streams/lock/ladder.cuh"
#include "06_atomics_streams/one_cell/ladder.cuh"
#include "tests/catch.hpp"
#include "tests/ladder_cases.hpp"

TEST_CASE("fourteen problems of five chapters stand in one file, and each is itself") {
  const auto names =
      tests::names_of(vector_add::ladder(), polar::ladder(), branch::ladder(),
                      coalesced_copy::ladder(), particles::ladder(), transpose::ladder(),
                      window::ladder(), latency::ladder(), reduction::ladder(), affine::ladder(),
                      scan::ladder(), one_cell::ladder(), histogram::ladder(), lock::ladder());
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("what has one name in two chapters does what its own chapter says") {
  tests::every_variant_is_right(vector_add::ladder(), {{{"n", 1003}}});
  tests::every_variant_is_right(reduction::ladder(), {{{"n", 1003}}});
  tests::every_variant_is_right(one_cell::ladder(), {{{"n", 1003}}});
}
