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
  return bench::run({"02_warp_divergence",
                     "lanes of a warp that diverge, and how to keep them together",
                     {ladders::polar(), ladders::branch()},
                     {{"votes", "votes: any, all and ballot", votes_demo},
                      {"block_votes", "block_votes: count, and, or", block_votes_demo},
                      {"barrier", "barrier: __syncthreads beside a branch", barrier_demo},
                      {"syncwarp", "syncwarp: lanes that wait for each other", syncwarp_demo}}},
                    argc, argv);
}
