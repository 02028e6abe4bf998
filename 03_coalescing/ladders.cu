// Chapter 03, coalescing: where the lanes of a warp look decides how much of memory's work is of
// use.
//
// Each problem's folder has its list, ladder.cu; the lesson is README.md. Build without make, here:
//   nvcc -O3 -std=c++17 -I.. -Xcompiler -fopenmp {.,*}/ladder*.cu -lcublas
#include "03_coalescing/study/pitch_demo.cuh"
#include "03_coalescing/study/symbols_demo.cuh"
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders copy(), particles(), transpose(), window(), latency();
}

int main(int argc, char** argv) {
  return bench::run({"03_coalescing",
                     "which bytes a warp asks for, and how long they take",
                     {ladders::copy(), ladders::particles(), ladders::transpose(),
                      ladders::window(), ladders::latency()},
                     {{"pitch", "pitch: what cudaMallocPitch returns", transpose::pitch_demo},
                      {"symbols", "symbols: variables on the device by name and by address",
                       window::symbols_demo}}},
                    argc, argv);
}
