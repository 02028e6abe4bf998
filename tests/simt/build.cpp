// simt/nvcc as a command: its options, what it refuses, and programs that it builds, right ones and
// faulty ones, each in a process of its own.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/run_command.hpp"

namespace {

using tests::CommandResult;
using tests::run_command;

const std::string kDirectory = std::string(TEST_BUILD) + "/tests/simt/programs";

std::string scratch(const std::string& name) {
  std::system(("mkdir -p " + kDirectory).c_str());
  return kDirectory + "/" + name;
}

// Runs simt/nvcc for a plain build, whatever this test program was built with.
CommandResult nvcc(const std::string& arguments) {
  return run_command("SIMT_CHECK=0 SIMT_PROFILE=0 simt/nvcc " + arguments + " 2>&1");
}

// Runs a program without checks.
CommandResult run(const std::string& program, const std::string& arguments = "",
                  const std::string& environment = "") {
  return run_command("SIMT_CHECK=0 SIMT_PROFILE=0 " + environment + " timeout 60 " + program + " " +
                     arguments + " 2>&1");
}

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = scratch(name);
  std::ofstream(path) << text;
  return path;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("textbook programs build and run unchanged") {
  for (const std::string name :
       {"vector_add", "tiled_product", "reductions", "scans", "transposes", "histogram", "streams",
        "cooperative", "device_query", "early_exit"}) {
    DYNAMIC_SECTION(name) {
      const std::string program = scratch(name);
      const auto built = nvcc("-O2 tests/simt/programs/" + name + ".cu -o " + program);
      INFO(built.output);
      REQUIRE(built.status == 0);
      CHECK(built.output.empty());
      for (const std::string order : {"forward", "reverse", "random:3"}) {
        const auto ran = run(program, "", "SIMT_ORDER=" + order);
        INFO(order << "\n" << ran.output);
        CHECK(ran.status == 0);
        CHECK(contains(ran.output, "ok\n"));
      }
      CHECK(run(program, "", "SIMT_THREADS=1").status == 0);
    }
  }
}

TEST_CASE("a fault ends the launch, is named on stderr, and stays") {
  static const std::string program = [] {
    const std::string path = scratch("faults");
    REQUIRE(nvcc("tests/simt/programs/faults.cu -o " + path).status == 0);
    return path;
  }();
  struct Case {
    std::string argument, error, message;
  };
  const std::vector<Case> cases = {
      {"behind", "cudaErrorIllegalAddress",
       "of the 1024 bytes allocated at tests/simt/programs/faults.cu:"},
      {"far", "cudaErrorIllegalAddress",
       "kernel write_far, block (0,0,0), thread (0,0,0): illegal write"},
      {"null", "cudaErrorIllegalAddress", "which is not device memory"},
      {"freed", "cudaErrorIllegalAddress", "(already freed)"},
      {"assert", "cudaErrorAssert",
       "void fail_assert(int): block: [0,0,0], thread: [0,0,0] Assertion `x == 1"},
      {"trap", "cudaErrorLaunchFailure",
       "thread (3,0,0): __trap() at tests/simt/programs/faults.cu:"},
      {"barriers", "cudaErrorLaunchTimeout",
       "16 threads, first (16,0,0): wait in __syncthreads at"},
      {"polling", "cudaErrorLaunchTimeout", "deadlock in kernel wait_for_nobody"},
      {"division", "cudaErrorLaunchFailure", "integer division by zero"},
      {"recursion", "cudaErrorLaunchFailure", "overflow the thread's stack"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.argument) {
      const auto ran = run(program, c.argument, "SIMT_TIMEOUT=1");
      INFO(ran.output);
      CHECK(ran.status == 0);
      CHECK(contains(ran.output, c.message));
      for (const char* call : {"synchronize", "last", "malloc"})
        CHECK(contains(ran.output, std::string(call) + ": " + c.error + "\n"));
      CHECK(contains(ran.output, "again: cudaSuccess\n"));
    }
  }
}

TEST_CASE("a launch that several blocks end reports one error") {
  const std::string program = scratch("two_blocks_fail");
  REQUIRE(nvcc("-O2 tests/simt/programs/two_blocks_fail.cu -o " + program).status == 0);
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto ran = run(program, "", "SIMT_THREADS=2");
    INFO(ran.output);
    CHECK(contains(ran.output,
                   "last: cudaErrorNotSupported\nsynchronize: cudaSuccess\nfree: cudaSuccess\n"));
  }
}

TEST_CASE("a plain program is never run as if it were checked") {
  const std::string program = scratch("plain");
  REQUIRE(nvcc("tests/simt/programs/device_query.cu -o " + program).status == 0);
  for (const char* variable : {"SIMT_CHECK", "SIMT_PROFILE"}) {
    const auto ran = run_command(std::string("SIMT_CHECK=0 SIMT_PROFILE=0 ") + variable + "=1 " +
                                 program + " 2>&1");
    CHECK(ran.status == 2);
    CHECK(contains(ran.output, "built without checks"));
    CHECK(ran.lines == 1);
  }
}

TEST_CASE("dependency files name the sources and simt's headers") {
  write_file("needed.h", "#define VALUE 1\n");
  const std::string source = write_file(
      "depends.cu", "#include \"needed.h\"\n__global__ void k(int* p) { *p = VALUE; }\n");
  const std::string object = scratch("depends.o"), list = scratch("depends.d");
  REQUIRE(nvcc("-c " + source + " -MD -MF " + list + " -MT target -o " + object).status == 0);
  const std::string text = contents(list);
  INFO(text);
  CHECK(text.rfind("target:", 0) == 0);
  CHECK(contains(text, "depends.cu"));
  CHECK(contains(text, "needed.h"));
  CHECK(contains(text, "simt/kernel.h"));
}

TEST_CASE("nvcc's options are understood") {
  const std::string source = write_file(
      "options.cu",
      "#include <cstdio>\n#ifndef _OPENMP\n#error openmp\n#endif\n"
      "__global__ void k(int* p) { *p = WHAT; }\n"
      "int main() { int* p; cudaMallocManaged(&p, 4); k<<<1, 1>>>(p); cudaDeviceSynchronize();"
      " int sum = 0;\n#pragma omp parallel for reduction(+ : sum)\nfor (int i = 0; i < 10; ++i) "
      "sum += *p;\n"
      " std::printf(\"%d\\n\", sum); }\n");
  const std::string program = scratch("options");
  const auto built = nvcc(
      "-std=c++17 -O3 -lineinfo -I. -DWHAT=4 -Xcompiler=-Wall,-Wextra,-fopenmp -Xcompiler "
      "-march=native "
      "-gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90a,code=sm_90a -arch=sm_80 "
      "--threads 2 -t 0 "
      "--expt-relaxed-constexpr --extended-lambda -Xptxas -v -Xptxas=-O3 -lcudart -lcuda "
      "-use_fast_math "
      "-diag-suppress 177 " +
      source + " -o " + program);
  INFO(built.output);
  REQUIRE(built.status == 0);
  CHECK(built.output.empty());
  CHECK(run(program).output == "40\n");
}

TEST_CASE("several sources and objects make one program") {
  write_file("shared_between.h", "__global__ void fill(int* p, int v);\nint host_part();\n");
  const std::string kernel = write_file("part_kernel.cu",
                                        "#include \"shared_between.h\"\n__global__ void fill(int* "
                                        "p, int v) { p[threadIdx.x] = v; }\n");
  const std::string host = write_file("part_host.cpp", "int host_part() { return 40; }\n");
  const std::string rest =
      write_file("part_main.cu",
                 "#include \"shared_between.h\"\nint main() { int* p; cudaMallocManaged(&p, 4); "
                 "fill<<<1, 1>>>(p, host_part() + 2);"
                 " cudaDeviceSynchronize(); return *p == 42 ? 0 : 1; }\n");
  const std::string object = scratch("part_kernel.o"), program = scratch("parts");
  REQUIRE(nvcc("-c " + kernel + " -o " + object).status == 0);
  const auto built = nvcc(rest + " " + host + " " + object + " -o " + program);
  INFO(built.output);
  REQUIRE(built.status == 0);
  CHECK(run(program).status == 0);
}

TEST_CASE("--version, -E, and errors of use") {
  CHECK(contains(nvcc("--version").output, "release 13.0"));
  CHECK(contains(nvcc("-E tests/simt/programs/vector_add.cu").output, "vecAdd"));
  CHECK(nvcc("").status != 0);
  CHECK(nvcc("-ptx tests/simt/programs/vector_add.cu").status != 0);
  CHECK(nvcc("no_such_file.cu -o " + scratch("nothing")).status != 0);
}

TEST_CASE("what cannot be built is refused with its name and line") {
  struct Case {
    std::string name, text, message;
  };
  const std::vector<Case> cases = {
      {"texture_reference", "int a;\ntexture<float, 1> tex;\nint main() {}\n",
       "texture_reference.cu:2: texture references"},
      {"shared_outside", "\n\n__shared__ int s[4];\nint main() {}\n",
       "shared_outside.cu:3: a __shared__ variable outside"},
      {"no_arguments", "__global__ void k() {}\nint main() { k<<<1, 1>>>; }\n",
       "no_arguments.cu:2: >>> is not followed"},
      {"library", "#include <cublas_v2.h>\nint main() {}\n",
       "cublas_v2.h belongs to cuBLAS, which simt does not have"},
      {"driver", "#include <cuda.h>\nint main() { cuInit(0); }\n",
       "cuInit belongs to the driver API, which simt does not have"},
      {"function", "int main() { cudaIpcGetMemHandle(nullptr, nullptr); }\n",
       "simt has no cudaIpcGetMemHandle"},
      {"error_line", "__global__ void k(int* p) {\n  p[0] = undefined_name;\n}\nint main() {}\n",
       "error_line.cu:2:"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const std::string source = write_file(c.name + ".cu", c.text);
      const auto built = nvcc("-c " + source + " -o " + scratch(c.name + ".o"));
      INFO(built.output);
      CHECK(built.status != 0);
      CHECK(contains(built.output, c.message));
    }
  }
}

TEST_CASE("no warnings from kernels or from the headers") {
  const std::string source = write_file(
      "quiet.cu",
      "#include <cooperative_groups.h>\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include "
      "<cuda_pipeline.h>\n"
      "#include <curand.h>\n#include <curand_kernel.h>\n#include <mma.h>\n#include <cuda.h>\n"
      "#include <cuda/atomic>\n#include <cuda/barrier>\n#include <cuda/pipeline>\n"
      "namespace {\n__device__ int only_hopper(int x) {\n#if __CUDA_ARCH__ >= 900\n  return "
      "x;\n#else\n  return 0;\n#endif\n}\n"
      "__global__ void k(int* out, int n) {\n  __shared__ float a[4], b;\n  extern __shared__ int "
      "s[];\n"
      "  a[0] = 1; b = a[0]; s[0] = int(b);\n#pragma unroll\n  for (int i = 0; i < 2; ++i) out[i] "
      "= only_hopper(1);\n}\n}\n"
      "int main() { k<<<1, 1, 4>>>(nullptr, 0); }\n");
  const auto built =
      nvcc("-c -O2 -Xcompiler=-Wall,-Wextra " + source + " -o " + scratch("quiet.o"));
  CHECK(built.output == "");
  CHECK(built.status == 0);
}

TEST_CASE("libraries that are not there are seen to be absent") {
  const std::string source =
      write_file("absent.cu",
                 "#if __has_include(<cublas_v2.h>) || __has_include(<cub/cub.cuh>) || "
                 "__has_include(<thrust/sort.h>)\n"
                 "#error there\n#endif\nint main() {}\n");
  CHECK(nvcc("-c " + source + " -o " + scratch("absent.o")).status == 0);
}

TEST_CASE("deferred streams run only when somebody waits for them") {
  const std::string source = write_file(
      "deferred.cu",
      "#include <cstdio>\n__global__ void k(int* p) { *p = 1; }\n"
      "int main() { int* p; cudaMallocHost(&p, 4); *p = 0; cudaStream_t s; cudaStreamCreate(&s);\n"
      "k<<<1, 1, 0, s>>>(p); for (volatile int i = 0; i < 20000000; ++i) {}\n"
      "int before = *(volatile int*)p; cudaStreamSynchronize(s); std::printf(\"%d %d\\n\", before, "
      "*p); }\n");
  const std::string program = scratch("deferred");
  REQUIRE(nvcc(source + " -o " + program).status == 0);
  CHECK(run(program, "", "SIMT_STREAMS=deferred").output == "0 1\n");
  CHECK(run(program).output == "1 1\n");
}

TEST_CASE("wrong settings are refused") {
  const std::string program = scratch("plain");
  REQUIRE(nvcc("tests/simt/programs/device_query.cu -o " + program).status == 0);
  for (const char* setting :
       {"SIMT_ORDER=sideways", "SIMT_THREADS=0", "SIMT_THREADS=x", "SIMT_MEMORY=-1"}) {
    const auto ran = run(program, "", setting);
    INFO(setting << "\n" << ran.output);
    CHECK(ran.status == 2);
    CHECK(ran.lines == 1);
  }
}
