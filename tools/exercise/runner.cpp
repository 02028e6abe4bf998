#include "tools/exercise/runner.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef EXERCISE_SIMT  // set by building.py; a host compiler does not know __SIMT__
#include "simt/include/simt/judge.h"
#endif

namespace exercise {
namespace {

// Bytes before and after each array, which nobody may write. comparing.py knows the same number.
constexpr std::int64_t kGuard = 1024;

struct Array {
  std::vector<char> bytes;    // on the host, guards included
  std::vector<char> initial;  // as they were, once asked for on the host
  void* device = nullptr;     // what of them lies there, once asked for
};

}  // namespace

void require(cudaError_t code, const char* what) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

struct Case::Contents {
  std::map<std::string, std::int64_t> sizes;
  std::map<std::string, Array> arrays;
  std::vector<std::string> order;
  std::int64_t device_guard = 0;
  std::uint64_t staged_bytes = 0;  // that we have copied to the device
  std::string seen;                // by done(), as lines

  // What of an array lies on the device.
  char* shared_part(Array& array) const { return array.bytes.data() + kGuard - device_guard; }
  std::size_t shared_bytes(const Array& array) const {
    return array.bytes.size() - 2 * (kGuard - device_guard);
  }
};

// The file begins with lines "size NAME VALUE" and "array NAME BYTES", in any order, and "data";
// then come the bytes of every array between its guards, in order.
Case::Case(const char* file, bool device_guards) {
  auto contents = std::make_unique<Contents>();
  Contents& c = *contents;
  c.device_guard = device_guards ? kGuard : 0;
  std::ifstream stream(file, std::ios::binary);
  std::string word, name;
  std::int64_t value = 0;
  while (stream >> word && word != "data") {
    stream >> name >> value;
    if (word == "size") c.sizes[name] = value;
    if (word == "array") {
      c.order.push_back(name);
      c.arrays[name].bytes.resize(value + 2 * kGuard);
    }
  }
  stream.get();  // the end of the line "data"
  for (const std::string& each : c.order) {
    std::vector<char>& bytes = c.arrays[each].bytes;
    if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
      throw std::runtime_error(std::string("cannot read ") + file);
    }
  }
  contents_ = contents.release();
}

Case::~Case() {
  for (auto& [name, array] : contents_->arrays) cudaFree(array.device);
  delete contents_;
}

std::int64_t Case::size(const char* name) const { return contents_->sizes.at(name); }

void* Case::on_host(const char* name) {
  Array& array = contents_->arrays.at(name);
  if (array.initial.empty()) array.initial = array.bytes;
  return array.bytes.data() + kGuard;
}

void* Case::on_device(const char* name) {
  Array& array = contents_->arrays.at(name);
  if (array.device == nullptr) {
    const std::size_t bytes = contents_->shared_bytes(array);
    require(cudaMalloc(&array.device, bytes), "cudaMalloc");
    require(cudaMemcpy(array.device, contents_->shared_part(array), bytes, cudaMemcpyHostToDevice),
            "copy to the device");
    contents_->staged_bytes += bytes;
  }
  return static_cast<char*>(array.device) + contents_->device_guard;
}

void Case::copied(std::size_t bytes) { contents_->staged_bytes += bytes; }

// Lines "alien NAME BYTES FIRST": so many bytes of an array, the first at FIRST, are new and were
// written by no kernel; and "copies BYTES BYTES", to the device and to the host.
void Case::done() {
  Contents& c = *contents_;
  if (!c.seen.empty()) return;
  require(cudaGetLastError(), "the launch failed");
  require(cudaDeviceSynchronize(), "the kernel failed");
#ifdef EXERCISE_SIMT
  const simt::HostCopies copies = simt::host_copies();
  c.seen = "copies " + std::to_string(copies.to_device - c.staged_bytes) + ' ' +
           std::to_string(copies.to_host) + '\n';
  for (const std::string& name : c.order) {
    const Array& array = c.arrays[name];
    const char* before = array.bytes.data() + kGuard;
    const void* now = static_cast<char*>(array.device) + c.device_guard;
    if (array.device == nullptr) {
      if (array.initial.empty()) continue;
      now = before;
      before = array.initial.data() + kGuard;
    }
    std::size_t first = 0;
    const std::size_t bytes = array.bytes.size() - 2 * kGuard;
    if (const std::size_t found = simt::not_by_kernels(now, before, bytes, &first)) {
      c.seen += "alien " + name + ' ' + std::to_string(found) + ' ' + std::to_string(first) + '\n';
    }
  }
#endif
}

void Case::write(const char* file) {
  std::ofstream stream(file, std::ios::binary);
#ifdef EXERCISE_SIMT
  stream << simt::seal() << '\n' << contents_->seen << "data\n";
#endif
  for (const std::string& name : contents_->order) {
    Array& array = contents_->arrays[name];
    if (array.device != nullptr) {
      require(cudaMemcpy(contents_->shared_part(array), array.device,
                         contents_->shared_bytes(array), cudaMemcpyDeviceToHost),
              "copy from the device");
    }
    stream.write(array.bytes.data(), static_cast<std::streamsize>(array.bytes.size()));
  }
  if (!stream.flush()) throw std::runtime_error(std::string("cannot write ") + file);
}

namespace {

int attribute(cudaDeviceAttr which) {
  int value = 0;
  require(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
  return value;
}

// Writes the median time of a launch, in ms, and the peak bandwidth of the device memory, in GB/s.
void write_times(const char* file, Case& one, Code code) {
  constexpr int kWarm = 3, kSamples = 21;
  const std::size_t l2_bytes = std::size_t(2) * attribute(cudaDevAttrL2CacheSize);
  void* other = nullptr;  // what the L2 cache holds before each launch
  require(cudaMalloc(&other, l2_bytes), "cudaMalloc");
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin), "cudaEventCreate");
  require(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int i = -kWarm; i < kSamples; ++i) {
    require(cudaMemset(other, i, l2_bytes), "cudaMemset");
    require(cudaEventRecord(begin), "cudaEventRecord");
    code(one);
    require(cudaDeviceSynchronize(), "the kernel failed");  // whatever stream it is in
    require(cudaEventRecord(end), "cudaEventRecord");
    require(cudaEventSynchronize(end), "cudaEventSynchronize");
    float ms = 0;
    require(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
    if (i >= 0) times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + kSamples / 2, times.end());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaFree(other);
  // kHz and bits; two transfers a clock.
  const double peak = 2e3 * attribute(cudaDevAttrMemoryClockRate) *
                      attribute(cudaDevAttrGlobalMemoryBusWidth) / 8 / 1e9;
  std::ofstream(file) << times[kSamples / 2] << ' ' << peak << '\n';
}

}  // namespace

int run(int argc, char** argv, bool device_guards, Code code) {
  const bool timed = argc == 4 && std::string(argv[3]) == "--time";
  if (argc != 3 && !timed) {
    return std::fprintf(stderr, "usage: %s CASE RESULT [--time]\n", argv[0]), 2;
  }
  try {
    Case one(argv[1], device_guards);
    if (timed) return write_times(argv[2], one, code), 0;
    code(one);
    one.done();
    one.write(argv[2]);
#ifdef EXERCISE_SIMT
    simt::end_of_program(0);  // before anything else of the student's runs
#endif
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exercise: %s\n", error.what());
    return 3;
  }
}

}  // namespace exercise
