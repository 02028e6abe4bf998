// One ladder as a program: what `make try` builds of a rung's. -DLADDER=sum: ladders::sum().
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders LADDER();
}

int main(int argc, char** argv) {
  bench::Program program("one ladder", "the ladder of one problem");
  program.add(ladders::LADDER());
  return program.main(argc, argv);
}
