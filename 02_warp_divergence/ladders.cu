// Warp divergence, end to end: what a warp does when its lanes disagree, and how to make them
// agree.
//
// Build without make:
//   nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 02_warp_divergence/ladders.cu
// Problem A is in polar/, problem B in branch/, each with its ladder.cuh; the lesson is
// README.md.
#include "02_warp_divergence/branch/ladder.cuh"
#include "02_warp_divergence/polar/ladder.cuh"
#include "02_warp_divergence/study/barrier.cuh"
#include "02_warp_divergence/study/block_votes.cuh"
#include "02_warp_divergence/study/syncwarp.cuh"
#include "02_warp_divergence/study/votes.cuh"
#include "common/bench/program.cuh"

int main(int argc, char** argv) {
  using namespace warp_divergence;
  bench::Program program("02_warp_divergence",
                         "lanes of a warp that diverge, and how to keep them together");
  program.add(polar::ladder());
  program.add(branch::ladder());
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
