// Runs a student's code on one case of an exercise, and does nothing else: the judge is another
// process (judging.py), which made the case and looks at what came back.
//
// Its program is written by catalog.py, of the judge's CALL, or is the run.cu of an exercise that
// does more around the call:
//   #include "tools/exercise/runner.hpp"
//   #include EXERCISE_FILE
//   int main(int argc, char** argv) {
//     return exercise::run(argc, argv, [](exercise::Case& c) {
//       vector_add(c.device<float>("x"), c.device<float>("y"), c.size("n"));
//     });
//   }
//
// Nothing but declarations stands here: runner.cpp is compiled once for all exercises.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace exercise {

// Throws if a CUDA call failed.
void require(cudaError_t code, const char* what);

// Whether an array on the device lies between guards. Where simt's checks look on it does not: they
// name whoever steps outside.
#ifdef __SIMT__
constexpr bool kDeviceGuards = false;
#else
constexpr bool kDeviceGuards = true;
#endif

// The sizes and arrays of one case. An array lives on the host or on the device, whichever is asked
// for first; the judge sees it there afterwards, guards included.
class Case {
 public:
  Case(const char* file, bool device_guards);
  ~Case();
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  std::int64_t size(const char* name) const;

  template <class T>
  T* host(const char* name) {
    return static_cast<T*>(on_host(name));
  }
  template <class T>
  T* device(const char* name) {
    return static_cast<T*>(on_device(name));
  }

  // run.cu itself has copied so many bytes to the device.
  void copied(std::size_t bytes);

  // The student's code has ended. What its kernels have written, and what it has copied itself, is
  // looked at now; run() says so, unless run.cu has gone on by itself.
  void done();

  // What done() saw, and every array with its guards, in order.
  void write(const char* file);

 private:
  struct Contents;
  void* on_host(const char* name);
  void* on_device(const char* name);

  Contents* contents_;  // runner.cpp's
};

using Code = void (*)(Case&);

// PROGRAM CASE RESULT [--time]. Exit status 0 if the code ran to its end and no CUDA call failed;
// otherwise 3 and one line on stderr. With --time the result is how long it takes.
int run(int argc, char** argv, bool device_guards, Code code);

inline int run(int argc, char** argv, Code code) { return run(argc, argv, kDeviceGuards, code); }

}  // namespace exercise
