// Runs exercise 06/events on one case.
#include "tools/exercise/stages.hpp"
#include EXERCISE_FILE

__global__ void compute_kernel(const int* in, int* out) {
  out[threadIdx.x] = 3 * in[threadIdx.x] + 1;
}

class Batch {
 public:
  Batch(exercise::Stages& stages, const int* x, int* y, int chunk)
      : stages_(stages), x_(x), y_(y), chunk_(chunk) {
    exercise::require(cudaMalloc(&in_, kSlots * bytes()), "cudaMalloc");
    exercise::require(cudaMalloc(&out_, kSlots * bytes()), "cudaMalloc");
  }
  void copy_in(int c, int slot, cudaStream_t stream) {
    stages_.add("the copy in", c, stream, 0, input(slot), [&] {
      cudaMemcpyAsync(in_ + slot * chunk_, x_ + c * chunk_, bytes(), cudaMemcpyHostToDevice,
                      stream);
    });
  }
  void compute(int c, int slot, cudaStream_t stream) {
    stages_.add("the kernel", c, stream, input(slot), output(slot), [&] {
      compute_kernel<<<1, chunk_, 0, stream>>>(in_ + slot * chunk_, out_ + slot * chunk_);
    });
  }
  void copy_out(int c, int slot, cudaStream_t stream) {
    stages_.add("the copy out", c, stream, output(slot), 0, [&] {
      cudaMemcpyAsync(y_ + c * chunk_, out_ + slot * chunk_, bytes(), cudaMemcpyDeviceToHost,
                      stream);
    });
  }

 private:
  static unsigned input(int slot) { return 1u << slot; }
  static unsigned output(int slot) { return 1u << (kSlots + slot); }
  std::size_t bytes() const { return chunk_ * sizeof(int); }

  exercise::Stages& stages_;
  const int* x_;
  int* y_;
  int chunk_;
  int *in_ = nullptr, *out_ = nullptr;
};

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int chunks = static_cast<int>(c.size("chunks"));
    exercise::Stages stages(3);
    Batch batch(stages, c.host<int>("x"), c.host<int>("y"), static_cast<int>(c.size("chunk")));
    std::vector<cudaEvent_t> events(3 * chunks);
    for (cudaEvent_t& event : events) {
      exercise::require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    }
    const cudaStream_t* const streams = stages.streams();
    stages.record();
    pipeline(batch, chunks, streams[0], streams[1], streams[2], &events[0], &events[chunks],
             &events[2 * chunks]);
    c.host<int>("longest_chain_of_stages")[0] = stages.run();
  });
}
