// Chapter 01, vector addition: y = x + y, from the plain loop to the bandwidth of the chip.
//
// Build without make:  nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 01_vector_add/vector_add.cu
// The ways to do it are listed in variants.cuh; the lesson is README.md.
#include <cstdint>
#include <string>

#include "01_vector_add/memset_demo.cuh"
#include "01_vector_add/problem.cuh"
#include "01_vector_add/sweeps.cuh"
#include "01_vector_add/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

int main(int argc, char** argv) {
  std::int64_t n = 10'000'000;
  std::string sweep, demo;
  common::Program program("01_vector_add",
                          "y = x + y, from the plain loop to the limit of the chip");
  program.options().add_integer("n", "number of floats (default 10000000)", &n, 1, INT64_MAX);
  program.options().add_choice("sweep", {"block", "pieces"},
                               "time rung 3 by block size, rung 7 by elements a thread", &sweep);
  program.options().add_choice("demo", {"memset"}, "show what cudaMemset sets", &demo);

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto variants = frame.select(VectorAdd::name, vector_add_variants());
    if (!frame.selection_done()) return;
    if (demo == "memset") {
      memset_demo();
      return;
    }
    frame.require_memory(VectorAdd::host_bytes(n), VectorAdd::device_bytes(n));
    VectorAdd problem(n, frame.seed());
    frame.print_machine();
    if (sweep == "block") {
      sweep_block(frame, problem);
    } else if (sweep == "pieces") {
      sweep_pieces(frame, problem);
    } else {
      run_problem(frame, problem, variants);
    }
  });
}
