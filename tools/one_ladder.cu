// One ladder as a program: what `make try` builds of a rung's. -DLADDER=sum: ladders::sum().
#include "common/bench/program.cuh"

namespace ladders {
bench::Ladders LADDER();
}

int main(int argc, char** argv) {
  return bench::run({"one ladder", "the ladder of one problem", {ladders::LADDER()}}, argc, argv);
}
