// Runs exercise 06/overlap on one case.
#include "tools/exercise/stages.hpp"
#include EXERCISE_FILE

__global__ void scale_kernel(const int* in, int* scaled) {
  scaled[threadIdx.x] = 3 * in[threadIdx.x];
}

// out[i] = total + scaled[0] + ... + scaled[i]; then the total is the last of them.
__global__ void carry_kernel(const int* scaled, int* out, int n, int* total) {
  for (int i = 0; i < n; ++i) out[i] = *total = *total + scaled[i];
}

class Batch {
 public:
  Batch(exercise::Stages& stages, const int* x, int* y, int chunk)
      : stages_(stages), x_(x), y_(y), chunk_(chunk) {
    for (int** each : {&in_, &scaled_, &out_}) {
      exercise::require(cudaMalloc(each, kSlots * bytes()), "cudaMalloc");
    }
    exercise::require(cudaMalloc(&total_, sizeof(int)), "cudaMalloc");
    exercise::require(cudaMemset(total_, 0, sizeof(int)), "cudaMemset");
    exercise::require(cudaDeviceSynchronize(), "cudaMemset");
  }
  void copy_in(int c, int slot, cudaStream_t stream) {
    stages_.add("copy in", c, stream, 0, input(slot), [&] {
      cudaMemcpyAsync(in_ + slot * chunk_, x_ + c * chunk_, bytes(), cudaMemcpyHostToDevice,
                      stream);
    });
  }
  void scale(int c, int slot, cudaStream_t stream) {
    stages_.add("scale", c, stream, input(slot), scaled(slot), [&] {
      scale_kernel<<<1, chunk_, 0, stream>>>(in_ + slot * chunk_, scaled_ + slot * chunk_);
    });
  }
  void carry(int c, int slot, cudaStream_t stream) {
    stages_.add("carry", c, stream, scaled(slot), output(slot) | kTotal, [&] {
      carry_kernel<<<1, 1, 0, stream>>>(scaled_ + slot * chunk_, out_ + slot * chunk_, chunk_,
                                        total_);
    });
  }
  void copy_out(int c, int slot, cudaStream_t stream) {
    stages_.add("copy out", c, stream, output(slot), 0, [&] {
      cudaMemcpyAsync(y_ + c * chunk_, out_ + slot * chunk_, bytes(), cudaMemcpyDeviceToHost,
                      stream);
    });
  }

 private:
  static constexpr unsigned kTotal = 1u << 3 * kSlots;
  static unsigned input(int slot) { return 1u << slot; }
  static unsigned scaled(int slot) { return 1u << (kSlots + slot); }
  static unsigned output(int slot) { return 1u << (2 * kSlots + slot); }
  std::size_t bytes() const { return chunk_ * sizeof(int); }

  exercise::Stages& stages_;
  const int* x_;
  int* y_;
  int chunk_;
  int *in_ = nullptr, *scaled_ = nullptr, *out_ = nullptr, *total_ = nullptr;
};

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    exercise::Stages stages(kSlots);
    Batch batch(stages, c.host<int>("x"), c.host<int>("y"), static_cast<int>(c.size("chunk")));
    stages.record();
    pipeline(batch, static_cast<int>(c.size("chunks")), stages.streams());
    c.host<int>("longest")[0] = stages.run();
  });
}
