// Runs a student's code on one case of an exercise, and does nothing else: the judge is another
// process (judge.py), which made the case and looks at what came back.
//
// An exercise's run.cu is a page:
//   #include "tools/exercise/runner.hpp"
//   #include EXERCISE_FILE
//   int main(int argc, char** argv) {
//     return exercise::run(argc, argv, [](exercise::Case& c) {
//       vector_add(c.device<float>("x"), c.device<float>("y"), c.size("n"));
//     });
//   }
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace exercise {

// Bytes before and after each array, which nobody may write. judge.py knows the same number.
constexpr std::int64_t kGuard = 1024;
// Where simt's checks look on, an array on the device has no guards: they name whoever steps
// outside.
#ifdef __SIMT__
constexpr std::int64_t kDeviceGuard = 0;
#else
constexpr std::int64_t kDeviceGuard = kGuard;
#endif

inline void require(cudaError_t code, const char* what) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(code));
}

// The sizes and arrays of one case. An array lives on the host or on the device, whichever is asked
// for first; the judge sees it there afterwards, guards included.
class Case {
 public:
  // The file begins with lines "size NAME VALUE" and "array NAME BYTES", in any order, and "data";
  // then come the bytes of every array between its guards, in order.
  explicit Case(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string word, name;
    std::int64_t value = 0;
    while (stream >> word && word != "data") {
      stream >> name >> value;
      if (word == "size") sizes_[name] = value;
      if (word == "array") {
        order_.push_back(name);
        arrays_[name].bytes.resize(value + 2 * kGuard);
      }
    }
    stream.get();  // the end of the line "data"
    for (const std::string& each : order_) {
      std::vector<char>& bytes = arrays_[each].bytes;
      if (!stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
        throw std::runtime_error("cannot read " + file);
      }
    }
  }
  ~Case() {
    for (auto& [name, array] : arrays_) cudaFree(array.device);
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  std::int64_t size(const std::string& name) const { return sizes_.at(name); }

  template <class T>
  T* host(const std::string& name) {
    return reinterpret_cast<T*>(arrays_.at(name).bytes.data() + kGuard);
  }
  template <class T>
  T* device(const std::string& name) {
    Array& array = arrays_.at(name);
    if (array.device == nullptr) {
      require(cudaMalloc(&array.device, array.device_bytes()), "cudaMalloc");
      require(
          cudaMemcpy(array.device, array.on_host(), array.device_bytes(), cudaMemcpyHostToDevice),
          "copy to the device");
    }
    return reinterpret_cast<T*>(static_cast<char*>(array.device) + kDeviceGuard);
  }

  // Every array with its guards, in order.
  void write(const std::string& file) {
    std::ofstream stream(file, std::ios::binary);
    for (const std::string& name : order_) {
      Array& array = arrays_[name];
      if (array.device != nullptr) {
        require(
            cudaMemcpy(array.on_host(), array.device, array.device_bytes(), cudaMemcpyDeviceToHost),
            "copy from the device");
      }
      stream.write(array.bytes.data(), static_cast<std::streamsize>(array.bytes.size()));
    }
    if (!stream.flush()) throw std::runtime_error("cannot write " + file);
  }

 private:
  struct Array {
    std::vector<char> bytes;  // on the host, guards included
    void* device = nullptr;   // what of them lies there, once asked for

    // What of `bytes` lies on the device.
    char* on_host() { return bytes.data() + kGuard - kDeviceGuard; }
    std::size_t device_bytes() const { return bytes.size() - 2 * (kGuard - kDeviceGuard); }
  };
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, Array> arrays_;
  std::vector<std::string> order_;
};

// PROGRAM CASE RESULT. Exit status 0 if the code ran to its end and no CUDA call failed; otherwise
// 3 and one line on stderr.
template <class Code>
int run(int argc, char** argv, Code code) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s CASE RESULT\n", argv[0]), 2;
  try {
    Case one(argv[1]);
    code(one);
    require(cudaGetLastError(), "the launch failed");
    require(cudaDeviceSynchronize(), "the kernel failed");
    one.write(argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exercise: %s\n", error.what());
    return 3;
  }
}

}  // namespace exercise
