// ---------------------------------------------------------------- data, check and time
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <random>
#include <vector>

#include "common/kit/check.cuh"

// `count` elements in host memory, h(), and in device memory, d().
template <class T>
class Array {
 public:
  explicit Array(std::int64_t count) : host_(count) {
    CUDA_CHECK(cudaMalloc(&device_, (count + 1) * sizeof(T)));
  }
  Array(const Array&) = delete;
  ~Array() { cudaFree(device_); }
  T* h() { return host_.data(); }
  T* d() { return device_; }
  T& operator[](std::int64_t i) { return host_[i]; }
  std::int64_t size() const { return static_cast<std::int64_t>(host_.size()); }
  std::size_t bytes() const { return host_.size() * sizeof(T); }
  void to_device() { CUDA_CHECK(cudaMemcpy(d(), h(), bytes(), cudaMemcpyHostToDevice)); }
  void to_host() { CUDA_CHECK(cudaMemcpy(h(), d(), bytes(), cudaMemcpyDeviceToHost)); }
  void set_bytes(int byte) {  // 0xff makes NaN of floats: what nobody writes will be wrong
    std::memset(static_cast<void*>(h()), byte, bytes());
    to_device();
  }

 private:
  std::vector<T> host_;
  T* device_ = nullptr;
};

// Uniform in [-1, 1).
template <class T>
void fill(Array<T>& array, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::int64_t i = 0; i < array.size(); ++i) array[i] = T(uniform(random));
  array.to_device();
}

// The size at this place of the command line; `otherwise` if there is none.
int size(int argc, char** argv, int place, int otherwise) {
  if (place >= argc) return otherwise;
  char* end;
  const long value = std::strtol(argv[place], &end, 10);
  if (*end == 0 && value >= 1 && value <= 1'000'000'000) return static_cast<int>(value);
  std::fprintf(stderr, "%s: '%s' is not a size from 1 to 1000000000\n", argv[0], argv[place]);
  std::exit(2);
}

struct Rung {
  const char* name;
  bool on_host;
  std::function<void()> run;
};

// Milliseconds, the median of nine runs. Events stamp the time on an idle GPU, too, so they serve
// for what runs on the CPU.
float time_ms(const Rung& rung) {
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  float ms[9];
  for (float& sample : ms) {
    CUDA_CHECK(cudaEventRecord(start));
    rung.run();
    CUDA_CHECK(cudaEventRecord(stop));
    CUDA_CHECK(cudaEventSynchronize(stop));
    CUDA_CHECK(cudaEventElapsedTime(&sample, start, stop));
  }
  std::nth_element(ms, ms + 4, ms + 9);
  return ms[4];
}

// Runs, checks and times each rung. reset() makes its outputs ready, fetch() brings them to the
// host; off(i) is how far element i of `count` is off, as a part of what it may be: above 1 is
// wrong, and so is NaN. Returns main's exit status.
int judge(const std::vector<Rung>& rungs, std::int64_t count, const std::function<void()>& reset,
          const std::function<void()>& fetch, const std::function<double(std::int64_t)>& off) {
  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("%s\n%-24s %10s  error, in %% of its bound\n", device.name, "", "ms");
  int status = 0;
  for (const Rung& rung : rungs) try {
      reset();
      rung.run();
      CUDA_CHECK(cudaDeviceSynchronize());
      if (!rung.on_host) fetch();
      double worst = 0;
      std::int64_t wrong = -1;  // the first one
      for (std::int64_t i = 0; i < count; ++i) {
        const double error = off(i);
        worst = std::max(worst, error);
        if (!(error <= 1) && wrong < 0) wrong = i;
      }
      std::printf("%-24s %10.4f %8.2g  ", rung.name, time_ms(rung), 100 * worst);
      if (wrong < 0) {
        std::printf("right\n");
      } else {
        std::printf("WRONG from element %lld on\n", static_cast<long long>(wrong));
        status = 1;
      }
    } catch (const kit::Skip& skip) {
      std::printf("%-24s skipped: %s\n", rung.name, skip.what());
    }
  return status;
}
