// The same kernels on simt itself, for the test: each line of stdin is a call, `copy 1 5000 0`, and
// is answered by the answer and the counts.

#include <cstdio>
#include <iostream>
#include <sstream>

#include "kernels.cu"

int main() {
  for (std::string line, name; std::getline(std::cin, line);) {
    std::istringstream words(line);
    int v[5] = {};
    words >> name;
    for (int& value : v) words >> value;
    int said = -1;
    if (name == "vector_add") said = run_vector_add(v[0], v[1], v[2], v[3], v[4]);
    if (name == "branch") said = run_branch(v[0], v[1], v[2], v[3]);
    if (name == "copy") said = run_copy(v[0], v[1], v[2], v[3], v[4]);
    if (name == "transpose") said = run_transpose(v[0], v[1], v[2], v[3]);
    if (name == "product") said = run_product(v[0], v[1], v[2], v[3], v[4]);
    if (name == "sum") said = run_sum(v[0], v[1], v[2]);
    const double* all = counts();
    std::printf("%d", said);
    for (int i = 0; i < kCounts; ++i) std::printf(" %.0f", all[i]);
    std::printf("\n");
  }
}
