// Warp divergence, end to end: what a warp does when its lanes disagree, and how to make them
// agree.
//
// Each problem's folder has its list, ladder.cu; the lesson is README.md. Build without make, here:
//   nvcc -O3 -std=c++17 -I.. -Xcompiler -fopenmp {.,*}/ladder*.cu
#include "02_warp_divergence/study/barrier.cuh"
#include "02_warp_divergence/study/block_votes.cuh"
#include "02_warp_divergence/study/syncwarp.cuh"
#include "02_warp_divergence/study/votes.cuh"
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders polar(), branch();
}

int main(int argc, char** argv) {
  using namespace warp_divergence;
  bench::Program program("02_warp_divergence",
                         "lanes of a warp that diverge, and how to keep them together");
  program.add(ladders::polar());
  program.add(ladders::branch());
  program.add_demo("votes", "votes: any, all and ballot",
                   [](const bench::Program&) { votes_demo(); });
  program.add_demo("block_votes", "block_votes: count, and, or",
                   [](const bench::Program&) { block_votes_demo(); });
  program.add_demo("barrier", "barrier: __syncthreads beside a branch",
                   [](const bench::Program&) { barrier_demo(); });
  program.add_demo("syncwarp", "syncwarp: lanes that wait for each other",
                   [](const bench::Program&) { syncwarp_demo(); });
  return program.main(argc, argv);
}
