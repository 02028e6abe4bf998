// y = x + y without a kernel: comments that ask the compiler to make one, in OpenMP and in OpenACC.
//
// A compiler that cannot make code for a GPU lets the loops run on the CPU, as here with Debian's:
//   g++ -O2 -fopenmp pragmas.cpp && ./a.out        g++ -O2 -fopenacc pragmas.cpp && ./a.out
// For an NVIDIA GPU: nvc++ -mp=gpu, nvc++ -acc, or a g++ or clang++ that was built with offloading.
#include <cstdio>
#include <vector>

// "to": copied in before the loop; "tofrom": copied in, and out again after it.
void add_openmp(const float* x, float* y, long n) {
#pragma omp target teams distribute parallel for map(to : x [0:n]) map(tofrom : y [0:n])
  for (long i = 0; i < n; ++i) y[i] = x[i] + y[i];
}

// "copyin" and "copy" say the same.
void add_openacc(const float* x, float* y, long n) {
#pragma acc parallel loop copyin(x [0:n]) copy(y [0:n])
  for (long i = 0; i < n; ++i) y[i] = x[i] + y[i];
}

int main() {
  const long n = 1000003;
  std::vector<float> x(n), y(n);
  for (long i = 0; i < n; ++i) {
    x[i] = static_cast<float>(i % 100);
    y[i] = 1;
  }
  add_openmp(x.data(), y.data(), n);   // 1 + x
  add_openacc(x.data(), y.data(), n);  // 1 + 2 x
  for (long i = 0; i < n; ++i) {
    if (y[i] != 1 + 2 * static_cast<float>(i % 100)) {
      std::printf("wrong at %ld: %g\n", i, y[i]);
      return 1;
    }
  }
  std::printf("right\n");
}
