// The suite of instructions as its program runs it, on fewer cases: what simt makes of each form is
// what an H200 made of it, bit for bit, or within the documented error of an approximation.
#define main compare_instructions
#include "simt/suites/instructions/instructions.cu"
#undef main

#include "tests/catch.hpp"

TEST_CASE("every form of an instruction gives what an H200 gives") {
  std::string words[] = {"instructions", "--few", "--compare",
                         "simt/suites/instructions/on_gpu.txt"};
  char* arguments[4];
  for (int i = 0; i < 4; ++i) arguments[i] = &words[i][0];
  CHECK(compare_instructions(4, arguments) == 0);
}
