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

const std::string kDirectory = std::string(TEST_BUILD) + "/simt/tests/programs";

std::string scratch(const std::string& name) {
  std::system(("mkdir -p " + kDirectory).c_str());
  return kDirectory + "/" + name;
}

// Runs simt/nvcc for a plain build, whatever this test program was built with.
CommandResult nvcc(const std::string& arguments, const std::string& environment = "") {
  return run_command("SIMT_CHECK=0 SIMT_PROFILE=0 " + environment + " simt/nvcc " + arguments +
                     " 2>&1");
}

// The same with simt's headers compiled before, in a third of the time. A test below shows that it
// makes no difference; one set of flags has one set of compiled headers.
const char* const kPrecompiled = "SIMT_PRECOMPILE=1";
CommandResult quick_nvcc(const std::string& arguments) {
  return nvcc("-O2 " + arguments, kPrecompiled);
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Builds all of simt/tests/programs in this way, as many at a time as there are cores: the program
// NAME, and what the compiler said in NAME.log. Each test case is a process of its own: what one
// has built since this program was built (simt's sources have not changed since), the next one
// finds.
void build_programs() {
  const std::string command =
      "basename -s .cu simt/tests/programs/*.cu | xargs -P $(nproc) -I NAME sh -c '"
      "[ $FOLDER/NAME -nt " TEST_BUILD
      "/simt/tests/build ] && "
      "[ $FOLDER/NAME -nt simt/tests/programs/NAME.cu ] || { rm -f $FOLDER/NAME; "
      "simt/nvcc -O2 simt/tests/programs/NAME.cu -o $FOLDER/NAME >$FOLDER/NAME.log 2>&1; }'";
  run_command("export FOLDER='" + scratch("") + "' SIMT_CHECK=0 SIMT_PROFILE=0 " + kPrecompiled +
              "; " + command);
}

// The path of one of them, built without a word.
std::string built_program(const std::string& name) {
  static const bool built = (build_programs(), true);
  REQUIRE(built);
  REQUIRE(std::ifstream(scratch(name + ".log")).good());
  REQUIRE(contents(scratch(name + ".log")) == "");
  REQUIRE(std::ifstream(scratch(name)).good());
  return scratch(name);
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

}  // namespace

TEST_CASE("textbook programs build and run unchanged") {
  for (const std::string name :
       {"vector_add", "tiled_product", "reductions", "scans", "transposes", "histogram", "streams",
        "cooperative", "device_query", "early_exit", "turns"}) {
    DYNAMIC_SECTION(name) {
      const std::string program = built_program(name);
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
  const std::string program = built_program("faults");
  struct Case {
    std::string argument, error, message;
  };
  const std::vector<Case> cases = {
      {"behind", "cudaErrorIllegalAddress",
       "past the end of 1024 bytes allocated at simt/tests/programs/faults.cu:"},
      {"far", "cudaErrorIllegalAddress",
       "kernel write_far, block (0,0,0), thread (0,0,0): illegal write"},
      {"null", "cudaErrorIllegalAddress", "the address is null"},
      {"misaligned", "cudaErrorMisalignedAddress",
       "kernel read_misaligned, block (0,0,0), thread (0,0,0): misaligned access of 16 bytes"},
      {"freed", "cudaErrorIllegalAddress",
       "bytes freed, allocated at simt/tests/programs/faults.cu:"},
      {"assert", "cudaErrorAssert",
       "void fail_assert(int): block: [0,0,0], thread: [0,0,0] Assertion `x == 1"},
      {"trap", "cudaErrorLaunchFailure",
       "thread (3,0,0): __trap() at simt/tests/programs/faults.cu:"},
      {"barriers", "cudaErrorLaunchTimeout",
       "16 threads, first (16,0,0): wait in __syncthreads at"},
      {"polling", "cudaErrorLaunchTimeout", "deadlock in kernel wait_for_nobody"},
      {"division", "cudaErrorLaunchFailure", "integer division by zero"},
      {"recursion", "cudaErrorLaunchFailure", "overflow the thread's stack"},
      {"texture", "cudaErrorLaunchFailure", "the texture's texels are of another type"},
      {"no texture", "cudaErrorLaunchFailure",
       "tex1Dfetch at simt/tests/programs/faults.cu:42: there is no such texture object"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.argument) {
      const auto ran = run(program, "'" + c.argument + "'", "SIMT_TIMEOUT=1");
      INFO(ran.output);
      CHECK(ran.status == 0);
      CHECK(contains(ran.output, c.message));
      for (const char* call : {"synchronize", "last", "malloc"})
        CHECK(contains(ran.output, std::string(call) + ": " + c.error + "\n"));
      CHECK(contains(ran.output, "again: cudaSuccess\n"));
    }
  }
}

TEST_CASE("what a kernel or a launch cannot do is said, and the program goes on") {
  const std::string program = built_program("faults");
  struct Case {
    std::string argument, message;
  };
  const std::vector<Case> cases = {
      {"free", "cudaFree in a kernel is not supported without a GPU (kernel free_in_kernel)"},
      {"wait", "cudaDeviceSynchronize in a kernel is not supported without a GPU"},
      {"launch", "faults.cu:35: launching a kernel from a kernel (dynamic parallelism)"},
      {"shared", "kernel three_arrays has 49156 bytes of static shared memory"},
      {"unconfigured", "kernel good is called without <<<grid, block>>>"},
      {"host function", "in a host function: cudaErrorNotPermitted\n"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.argument) {
      const auto ran = run(program, "'" + c.argument + "'");
      INFO(ran.output);
      CHECK(ran.status == 0);
      CHECK(contains(ran.output, c.message));
      CHECK(contains(ran.output, "malloc: cudaSuccess\n"));
    }
  }
}

TEST_CASE("a launch that several blocks end reports one error") {
  const std::string program = built_program("two_blocks_fail");
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto ran = run(program, "", "SIMT_THREADS=2");
    INFO(ran.output);
    CHECK(contains(ran.output,
                   "last: cudaErrorNotSupported\nsynchronize: cudaSuccess\nfree: cudaSuccess\n"));
  }
}

TEST_CASE("a plain program is never run as if it were checked") {
  const std::string program = built_program("device_query");
  for (const char* variable : {"SIMT_CHECK", "SIMT_PROFILE", "SIMT_ORDERS"}) {
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
  const std::string command = "-O2 -c " + source + " -MD -MF " + list + " -MT target -o " + object;
  for (const std::string environment : {"", kPrecompiled}) {
    REQUIRE(nvcc(command, environment).status == 0);
    const std::string text = contents(list);
    INFO(environment << "\n" << text);
    CHECK(text.rfind("target:", 0) == 0);
    CHECK(contains(text, "depends.cu"));
    CHECK(contains(text, "needed.h"));
    CHECK(contains(text, "simt/kernel.h"));
  }
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

TEST_CASE("options take their value as a second word, too, with headers compiled before") {
  std::system(("mkdir -p " + scratch("words_a") + " " + scratch("words_b")).c_str());
  write_file("words_a/a.h", "constexpr int kA = 1;\n");
  write_file("words_b/b.h", "constexpr int kB = 20;\n");
  const std::string first = write_file("words_first.h", "__device__ int c() { return 300; }\n");
  const std::string rest = write_file("words.options", "-D 'D=4000' # and more\n-lineinfo\n");
  // What it is called does not say that it is CUDA: -x does.
  const std::string source = write_file(
      "words.cpp",
      "#include <a.h>\n#include <b.h>\n#include <cstdio>\n"
      "__global__ void k(int* p) { *p = kA + kB + c() + D + E; }\n"
      "int main(int count, char** words) { int* p; cudaMallocManaged(&p, 4); k<<<1, 1>>>(p);"
      " cudaDeviceSynchronize(); std::printf(\"%d %s\\n\", *p, count > 1 ? words[1] : \"\"); }\n");
  const std::string program = scratch("words");
  const auto built = quick_nvcc(
      "-run -I " + scratch("words_a") + " -isystem " + scratch("words_b") + " -include " + first +
      " -D E=50000 -U F -x cu -std c++17 -Xcompiler -I -Xcompiler . -Xlinker --as-needed -l "
      "cudart" +
      " -L . -arch sm_90 -code sm_90 -gencode arch=compute_90,code=sm_90 -t 2 -m 64 -rdc true" +
      " -maxrregcount 64 -ftz true -diag-suppress 177 -keep-dir . -ftemplate-depth 900" +
      " -default-stream legacy -cudart static -run-args given -optf " + rest + " -o " + program +
      " " + source);
  CHECK(built.output == "54321 given\n");
  CHECK(built.status == 0);
  const std::string object = scratch("words_a/plain.o");
  std::system(("rm -f " + object).c_str());
  const std::string plain = write_file("plain.cu", "int main() {}\n");
  CHECK(quick_nvcc("-c " + plain + " -odir " + scratch("words_a")).output == "");
  CHECK(std::ifstream(object).good());
  CHECK(quick_nvcc("-M " + plain + " -o " + scratch("words.d")).output == "");
  CHECK(contains(contents(scratch("words.d")), "plain.cu"));
  // What g++ does not know is told once, by g++.
  const auto unknown = quick_nvcc("-fno-such-thing " + plain + " -o " + program);
  CHECK(contains(unknown.output, "-fno-such-thing"));
  CHECK(!contains(unknown.output, "Traceback"));
  CHECK(unknown.status != 0);
  for (const std::string last : {"-I", "-D", "-include", "-isystem", "-o", "-x", "-Xcompiler"})
    CHECK(quick_nvcc(plain + " " + last).output == "simt/nvcc: " + last + " needs a value\n");
  CHECK(quick_nvcc(plain + " -Xcompiler -I").output == "simt/nvcc: -I needs a value\n");
  CHECK(quick_nvcc("-x fortran " + plain).output == "simt/nvcc: -x fortran: expected cu, c++, c\n");
  CHECK(quick_nvcc("-optf no_such_file " + plain).output ==
        "simt/nvcc: -optf no_such_file: No such file or directory\n");
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
  REQUIRE(quick_nvcc("-c " + kernel + " -o " + object).status == 0);
  const auto built = quick_nvcc(rest + " " + host + " " + object + " -o " + program);
  INFO(built.output);
  REQUIRE(built.status == 0);
  CHECK(run(program).status == 0);
}

TEST_CASE("with headers compiled before, programs and messages are the same") {
  const std::string folder = scratch("precompiled");
  std::system(("rm -rf " + folder).c_str());
  const auto build = [&](const std::string& arguments) {
    return run_command("SIMT_BUILD=" + folder + " SIMT_PRECOMPILE=1 SIMT_CHECK=0 simt/nvcc -c " +
                       arguments + " -o " + scratch("precompiled.o") + " 2>&1");
  };
  // The second finds what the first has compiled; for the third it does not fit: NDEBUG changes a
  // header.
  for (const std::string flags : {"", "", "-DNDEBUG "}) {
    const auto built = build(flags + "simt/tests/programs/vector_add.cu");
    INFO(built.output);
    CHECK(built.status == 0);
    CHECK(built.output.empty());
  }
  REQUIRE(nvcc(scratch("precompiled.o") + " -o " + scratch("precompiled_program")).status == 0);
  CHECK(contains(run(scratch("precompiled_program")).output, "ok\n"));
  CHECK(run_command("ls " + folder + "/headers/*/front.h.gch | wc -l").output == "1\n");
  const std::string wrong = write_file("wrong.cu", "__global__ void k() {\n  nosuch();\n}\n");
  CHECK(contains(build(wrong).output, "wrong.cu:2:"));
}

TEST_CASE("another header is compiled before, too, and again when it has changed") {
  const std::string header = scratch("first.h"), object = scratch("first.o");
  const std::string source = write_file("first.cu", "int main() { return VALUE; }\n");
  const auto build = [&] {
    return nvcc("-O1 -c " + source + " -o " + object, "SIMT_PRECOMPILE=" + header);
  };
  std::system(("rm -f " + header).c_str());
  const auto missing = build();
  CHECK(missing.status == 1);
  CHECK(missing.output == "simt/nvcc: SIMT_PRECOMPILE=" + header + ": expected 0, 1 or a header\n");
  for (const std::string value : {"3", "4"}) {
    write_file("first.h", "#define VALUE " + value + "\n");
    const auto built = build();
    INFO(built.output);
    REQUIRE(built.status == 0);
    REQUIRE(nvcc(object + " -o " + scratch("first")).status == 0);
    CHECK(std::to_string(run(scratch("first")).status) == value);
  }
}

TEST_CASE("--version, -E, and errors of use") {
  CHECK(contains(nvcc("--version").output, "release 13.0"));
  const auto preprocessed = nvcc("-E simt/tests/programs/vector_add.cu");
  CHECK(contains(preprocessed.output, "vecAdd"));
  CHECK(!contains(preprocessed.output, "Traceback"));
  CHECK(preprocessed.status == 0);
  // Who reads it may stop early, or need not be there.
  for (const std::string action : {"-E", "-M"})
    for (const std::string reader : {"| cat > /dev/null", "| head -1 > /dev/null", "| true"})
      CHECK(run_command("{ simt/nvcc " + action + " simt/tests/programs/vector_add.cu " + reader +
                        "; } 2>&1")
                .output == "");
  CHECK(nvcc("").status != 0);
  CHECK(nvcc("-ptx simt/tests/programs/vector_add.cu").status != 0);
  CHECK(nvcc("no_such_file.cu -o " + scratch("nothing")).status != 0);
}

TEST_CASE("a compiler that is not there is one line, and one with words before it is run") {
  const std::string source = write_file("plain.cu", "int main() {}\n");
  const std::string command = "-c " + source + " -o " + scratch("plain.o");
  for (const std::string name : {"nosuch", "nosuch g++", "\"'\""}) {
    const auto built = nvcc(command, "CXX=" + (name[0] == '"' ? name : "'" + name + "'"));
    INFO(built.output);
    CHECK(built.status == 1);
    CHECK(contains(built.output, "simt/nvcc: cannot run the compiler: no command '"));
    CHECK(built.lines == 1);
  }
  for (const std::string name : {"", "'env LC_ALL=C g++'"}) {
    const auto built = nvcc(command, "CXX=" + name);
    CHECK(built.output == "");
    CHECK(built.status == 0);
  }
}

TEST_CASE("what a full disk does not take is told in one line") {
  const auto built = nvcc("-E " + write_file("plain.cu", "int main() {}\n") + " -o /dev/full");
  CHECK(built.status == 1);
  CHECK(built.output == "simt/nvcc: [Errno 28] No space left on device\n");
}

TEST_CASE("no source is overwritten, whatever it is called") {
  const std::string text = "int main() {}\n";
  const std::string source = write_file("myself.cu", text);
  for (const auto& output : {source, kDirectory + "/../programs/myself.cu"}) {
    const auto built = nvcc(source + " -o " + output);
    CHECK(built.status == 1);
    CHECK(built.output == "simt/nvcc: -o " + output + " would overwrite an input file\n");
    CHECK(contents(source) == text);
  }
}

TEST_CASE("a build that is ended says nothing and leaves no temporary file") {
  const std::string source = write_file("slow.cu", "__global__ void k() {}\nint main() {}\n");
  const std::string folder = scratch("ended"), object = scratch("ended.o");
  for (const std::string signal : {"INT", "TERM", "HUP"}) {
    // Ended while the compiler runs, which reads a file in the folder.
    const auto ended =
        run_command("rm -rf " + folder + "; mkdir -p " + folder + "; export TMPDIR=" + folder +
                    "; exec 2>&1; python3 -c 'import glob, signal, subprocess, sys, time\n"
                    "signal.signal(signal.SIG" +
                    signal +
                    ", signal.SIG_DFL)\n"  // these tests may run under nohup themselves
                    "build = subprocess.Popen([\"simt/nvcc\", \"-c\", \"" +
                    source + "\", \"-o\", \"" + object + "\", \"-MD\", \"-MF\", \"" + object +
                    ".d\"])\n"
                    "while not glob.glob(\"" +
                    folder +
                    "/simt-*/*.ii\"): time.sleep(0.01)\n"
                    "build.send_signal(signal.SIG" +
                    signal +
                    ")\n"
                    "sys.exit(build.wait())'");
    INFO(signal);
    CHECK(ended.output == "");
    CHECK(ended.status > 128);
    CHECK(run_command("ls -A " + folder).output == "");
    CHECK(run_command("ls -A " + object + "*").output == "");
  }
}

TEST_CASE("a folder of whose name compilers make something else is refused") {
  const std::string folder = scratch("a\"b"), quoted = "'" + folder + "'";
  run_command("rm -rf " + quoted + "; mkdir -p " + quoted + "; ln -s $PWD/simt/nvcc " + quoted);
  CHECK(run_command(quoted + "/nvcc --version").status == 0);  // a link to ours is ours
  run_command("rm " + quoted + "/nvcc; cp -r simt/nvcc simt/frontend " + quoted);
  const auto refused = run_command(quoted + "/nvcc --version 2>&1");
  INFO(refused.output);
  CHECK(refused.status == 1);
  CHECK(refused.lines == 1);
  CHECK(refused.output.find("no compiler takes a folder of this name") != std::string::npos);
}

TEST_CASE("a build under nohup outlives its terminal") {
  const std::string source = write_file("nohup.cu", "__global__ void k() {}\nint main() {}\n");
  const std::string folder = scratch("nohup"), object = scratch("nohup.o");
  const auto built = run_command("rm -rf " + folder + " " + object + "; mkdir -p " + folder +
                                 "; export TMPDIR=" + folder + "; trap '' HUP; simt/nvcc -c " +
                                 source + " -o " + object + " & while [ -z \"$(ls " + folder +
                                 ")\" ]; do sleep 0.01; done; kill -HUP $!; wait $!");
  CHECK(built.status == 0);
  CHECK(std::ifstream(object).good());
}

TEST_CASE("what cannot be built is refused with its name and line") {
  struct Case {
    std::string name, text, message;
  };
  const std::vector<Case> cases = {
      {"library", "#include <cublas_v2.h>\nint main() {}\n",
       "cublas_v2.h belongs to cuBLAS, which simt does not have"},
      {"typing_mistake", "int main() { void* p; cudaMaloc(&p, 4); }\n", "did you mean"},
      {"too_much_shared",
       "__global__ void k(float* x) {\n  __shared__ float s[128][128];\n  s[0][0] = *x;\n}\n",
       "uses too much shared data"},
      {"instruction",
       "__device__ void f() {\n  asm volatile(\"tcgen05.wait::ld.sync.aligned;\");\n}\n",
       "instruction.cu:2: error: inline PTX: tcgen05.wait::ld.sync.aligned is not modelled"},
      {"error_line", "__global__ void k(int* p) {\n  p[0] = undefined_name;\n}\nint main() {}\n",
       "error_line.cu:2:"},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const std::string source = write_file(c.name + ".cu", c.text);
      const auto built = quick_nvcc("-c " + source + " -o " + scratch(c.name + ".o"));
      INFO(built.output);
      CHECK(built.status != 0);
      CHECK(contains(built.output, c.message));
      if (c.name == "typing_mistake") CHECK(!contains(built.output, "simt has no"));
    }
  }
}

TEST_CASE("all that a source wants of what is not there is named at once") {
  const std::string source = write_file(
      "lacking.cu",
      "#include <cuda.h>\n#include <curand_kernel.h>\n"
      "__device__ float f(unsigned long long t) {\n  return tex2DLayered<float>(t, 0, 0, 1);\n}\n"
      "__global__ void k(cudaSurfaceObject_t s) {\n  surf2Dwrite(1, s, 0, 0);\n}\n"
      "__device__ void g() {\n  curandStateSobol32_t state;\n}\n"
      "int main() {\n  cuInit(0);\n  cudaIpcGetMemHandle(nullptr, nullptr);\n"
      "  cudaDeviceProp p;\n  cudaMemPrefetchAsync(nullptr, 4, 0, 0);\n"
      "  cudaThreadSynchronize();\n  return p.clockRate;\n}\n");
  const auto built = quick_nvcc("-c " + source + " -o " + scratch("lacking.o"));
  INFO(built.output);
  CHECK(built.status != 0);
  for (const std::string message :
       {"cuInit belongs to the driver API, which simt does not have",
        "lacking.cu:4: tex2DLayered belongs to layered textures, which simt does not have",
        "lacking.cu:6: cudaSurfaceObject_t belongs to surfaces, which simt does not have",
        "simt has no curandStateSobol32_t", "simt has no cudaIpcGetMemHandle",
        "CUDA 13 removed cudaDeviceProp::clockRate",
        "since CUDA 13 a cudaMemLocation stands where CUDA 12 had the number of a device",
        "CUDA 13 has no cudaThreadSynchronize; cudaDeviceSynchronize does the same"}) {
    INFO(message);
    CHECK(contains(built.output, message));
  }
}

TEST_CASE("a message about a line that was rewritten shows no column of the rewritten text") {
  const std::string source = write_file("carets.cu",
                                        "__global__ void k(int* p) {}\nint main() {\n  k<<<1, "
                                        "1>>>(undefined_name);\n  int x = other;\n}\n");
  const auto built = quick_nvcc("-c " + source + " -o " + scratch("carets.o"));
  INFO(built.output);
  CHECK(contains(built.output, "carets.cu:3: error:"));
  CHECK(contains(built.output, "carets.cu:4:11: error:"));
  CHECK(contains(built.output, "    4 |   int x = other;\n      |           ^~~~~\n"));
  CHECK(!contains(built.output, "simt has no"));
  // The one caret is that of line 4.
  CHECK(built.output.find('^') == built.output.rfind('^'));
}

TEST_CASE("a mistake in a kernel is said to be in one") {
  const std::string source =
      write_file("in_kernel.cu", "__global__ void k(int* x) {\n  *x = nowhere;\n}\n");
  const auto built = quick_nvcc("-c " + source + " -o " + scratch("in_kernel.o"));
  CHECK(contains(built.output, "in_kernel.cu: In a kernel or a lambda function:"));
  CHECK(contains(built.output, "in_kernel.cu:2:8: error:"));
}

TEST_CASE("what nvcc accepts is accepted") {
  struct Case {
    std::string name, text, options;
  };
  std::string letters;
  for (char letter = 'A'; letter <= 'Z'; ++letter)
    if (letter != 'T') letters += std::string(" -D") + letter + "=";  // CUDA's headers use T
  const std::vector<Case> cases = {
      {"pointer_to_const",
       "int main() { const float* p; const int* q;\n"
       "  return cudaMalloc(&p, 16) + cudaMallocManaged(&q, 16); }\n",
       ""},
      {"reference_parameter",
       "__global__ void k(int& x, const int (&a)[2]) { x += a[1]; }\n"
       "template <class T> __global__ void twice(T& x) { x *= 2; }\n"
       "int main() { int* p; cudaMallocManaged(&p, 12); p[0] = 1; p[1] = 5; p[2] = 6;\n"
       "  k<<<1, 1>>>(*p, *reinterpret_cast<int (*)[2]>(p + 1)); twice<<<1, 1>>>(*p);\n"
       "  cudaDeviceSynchronize(); return *p != 14; }\n",
       ""},
      {"standard_library",
       "#include <cuda/std/array>\n#include <cuda/std/atomic>\n#include <cuda/std/cmath>\n"
       "#include <cuda/std/cstddef>\n#include <cuda/std/cstdint>\n"
       "#include <cuda/std/functional>\n#include <cuda/std/limits>\n#include <cuda/std/tuple>\n"
       "#include <cuda/std/type_traits>\n#include <cuda/std/utility>\n#include <cuda/atomic>\n"
       "#include <cuda/barrier>\n"
       "__global__ void k(cuda::std::array<int, 4> a, cuda::std::atomic<int>* n) {\n"
       "  const auto [x, y] = cuda::std::make_tuple(a[threadIdx.x], "
       "cuda::std::numeric_limits<int>::max());\n"
       "  n->fetch_add(y > 0 ? x : 0, cuda::std::memory_order_relaxed); }\n"
       "int main() { cuda::std::atomic<int>* n; cudaMallocManaged(&n, 4); n->store(0);\n"
       "  k<<<1, 4>>>({1, 2, 3, 4}, n); cudaDeviceSynchronize(); return n->load() != 10; }\n",
       ""},
      {"guard_macros",
       "#include <curand.h>\n"
       "#if !defined(__DRIVER_TYPES_H__) || !defined(__CUDA_RUNTIME_H__) || !defined(CURAND_H_)\n"
       "#error guards\n#endif\nint main() {}\n",
       ""},
      {"kernel_by_auto",
       "__global__ auto k(int* x) -> void { *x = 0; }\n"
       "int main() { int* p; cudaMallocManaged(&p, 4); *p = 1; k<<<1, 1>>>(p);\n"
       "  cudaDeviceSynchronize(); return *p; }\n",
       ""},
      {"letters",
       "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
       "#include <cooperative_groups/scan.h>\n#include <cuda/atomic>\n#include <cuda/barrier>\n"
       "#include <cuda/pipeline>\n#include <cuda/ptx>\n#include <cuda_bf16.h>\n#include "
       "<cuda_fp16.h>\n"
       "#include <cuda_pipeline.h>\n#include <curand.h>\n#include <curand_kernel.h>\n"
       "#include <mma.h>\nint main() {}\n",
       letters},
  };
  for (const Case& c : cases) {
    DYNAMIC_SECTION(c.name) {
      const std::string program = scratch(c.name);
      const std::string arguments = write_file(c.name + ".cu", c.text) + " -o " + program;
      // With macros of its own, the headers are to be read anew.
      const auto built =
          c.options.empty() ? quick_nvcc(arguments) : nvcc(c.options + " " + arguments);
      INFO(built.output);
      REQUIRE(built.status == 0);
      CHECK(run(program).status == 0);
    }
  }
}

// Only a plain build fuses, and only for a processor that can.
TEST_CASE("what an intrinsic rounds is never fused into a multiply-add") {
  const std::string source = write_file("never_fused.cu", R"(#include <cstdio>
template <class T> struct Numbers { T above, below, one; };  // (1 + e) (1 - e) rounds to 1
__global__ void f(Numbers<float> x) {
  printf("%g ", __fadd_rn(__fmul_rn(x.above, x.below), -x.one));  // fused, all were -e^2
  printf("%g ", __fsub_rn(x.above * x.below, x.one));
  printf("%g ", __fmul_rn(x.above, x.below) - x.one);
}
__global__ void d(Numbers<double> x) {
  printf("%g ", __dadd_rn(__dmul_rn(x.above, x.below), -x.one));
  printf("%g ", __dsub_rn(x.above * x.below, x.one));
  printf("%g\n", __dmul_rn(x.above, x.below) - x.one);
}
int main() {
  f<<<1, 1>>>({1 + 0x1p-23f, 1 - 0x1p-23f, 1});
  d<<<1, 1>>>({1 + 0x1p-52, 1 - 0x1p-52, 1});
  return cudaDeviceSynchronize();
}
)");
  const std::string program = scratch("never_fused");
  REQUIRE(nvcc("-O3 -Xcompiler=-march=native " + source + " -o " + program).output == "");
  CHECK(run(program).output == "0 0 0 0 0 0\n");
}

TEST_CASE(
    "SIMT_ARCH chooses the model GPU, its macros and its instructions, SIMT_CUDA what is gone") {
  const std::string source =
      write_file("architecture.cu",
                 "#include <cstdio>\n__device__ void hopper() {\n#ifdef __CUDA_ARCH_FEAT_SM90_ALL\n"
                 "  asm volatile(\"wgmma.fence.sync.aligned;\");\n#endif\n}\n"
                 "__global__ void k() { hopper(); printf(\"arch %d\\n\", __CUDA_ARCH__); }\n"
                 "int main() {\n  cudaDeviceProp p;\n  cudaGetDeviceProperties(&p, 0);\n"
                 "  printf(\"%d.%d %d %zu\\n\", p.major, p.minor, p.multiProcessorCount, "
                 "p.sharedMemPerBlockOptin);\n  k<<<1, 1>>>();\n  cudaDeviceSynchronize();\n"
                 "#if CUDART_VERSION < 13000\n  int* m;\n  cudaMallocManaged(&m, 4);\n"
                 "  printf(\"older %d %d %d %d %d %d\\n\", p.deviceOverlap, p.clockRate, "
                 "p.computeMode, cudaMemPrefetchAsync(m, 4, 0), cudaMemAdvise(m, 4, "
                 "cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId), "
                 "cudaThreadSynchronize());\n#endif\n}\n");
  const std::string program = scratch("architecture");
  const struct {
    std::string setting, output;
  } cases[] = {{"", "9.0 132 232448\narch 900\n"},
               {"SIMT_ARCH=80 ", "8.0 108 166912\narch 800\n"},
               {"SIMT_ARCH=75 SIMT_CUDA=12 ", "7.5 40 65536\narch 750\nolder 1 0 0 0 0 0\n"}};
  for (const auto& c : cases) {
    INFO(c.setting);
    const auto built = run_command("SIMT_CHECK=0 SIMT_PROFILE=0 " + c.setting + "simt/nvcc " +
                                   source + " -o " + program + " 2>&1");
    INFO(built.output);
    REQUIRE(built.status == 0);
    CHECK(run(program).output == c.output);
  }
  const std::string needs_90 = write_file(
      "needs_90.cu", "__device__ void f() {\n  asm volatile(\"wgmma.fence.sync.aligned;\");\n}\n");
  const auto refused = run_command("SIMT_ARCH=80 simt/nvcc -c " + needs_90 + " -o " +
                                   scratch("needs_90.o") + " 2>&1");
  CHECK(refused.status != 0);
  CHECK(contains(refused.output,
                 "needs_90.cu:2: error: inline PTX: wgmma.fence.sync.aligned needs sm_90"));
  CHECK(contains(run_command("SIMT_ARCH=100 simt/nvcc -c " + needs_90 + " 2>&1").output,
                 "SIMT_ARCH=100: expected 75, 80, 90"));
  CHECK(contains(run_command("SIMT_CUDA=11 simt/nvcc -c " + needs_90 + " 2>&1").output,
                 "SIMT_CUDA=11: expected 12, 13"));
}

TEST_CASE("no warnings from kernels or from the headers") {
  const std::string source = write_file(
      "quiet.cu",
      "#include <cooperative_groups.h>\n#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include "
      "<cuda_pipeline.h>\n"
      "#include <curand.h>\n#include <curand_kernel.h>\n#include <mma.h>\n#include <cuda.h>\n"
      "#include <cuda/atomic>\n#include <cuda/barrier>\n#include <cuda/pipeline>\n"
      "#include <cuda/ptx>\n"
      "namespace {\n__device__ int only_hopper(int x) {\n#if __CUDA_ARCH__ >= 900\n  return "
      "x;\n#else\n  return 0;\n#endif\n}\n"
      "__global__ void k(int* out, int n) {\n  __shared__ float a[4], b;\n  extern __shared__ "
      "int "
      "s[];\n"
      "  a[0] = 1; b = a[0]; s[0] = int(b);\n#pragma unroll\n  for (int i = 0; i < 2; ++i) "
      "out[i] "
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
  CHECK(quick_nvcc("-c " + source + " -o " + scratch("absent.o")).status == 0);
}

TEST_CASE("deferred streams run only when somebody waits for them") {
  // The host looks at what the kernel writes: for a while, or until it has seen it.
  const std::string source =
      write_file("deferred.cu",
                 "#include <cstdio>\n__global__ void k(int* p) { *p = 1; }\n"
                 "int main(int count, char**) { int* p; cudaMallocHost(&p, 4); *p = 0; "
                 "cudaStream_t s; cudaStreamCreate(&s);\n"
                 "k<<<1, 1, 0, s>>>(p); volatile int* seen = p;\n"
                 "for (long i = count > 1 ? 20000000 : 20000000000; i > 0 && *seen == 0; --i) {}\n"
                 "int before = *seen; cudaStreamSynchronize(s); std::printf(\"%d %d\\n\", "
                 "before, *p); }\n");
  const std::string program = scratch("deferred");
  REQUIRE(quick_nvcc(source + " -o " + program).status == 0);
  CHECK(run(program, "briefly", "SIMT_STREAMS=deferred").output == "0 1\n");
  CHECK(run(program).output == "1 1\n");
}

TEST_CASE("a model GPU has as many multiprocessors as asked for") {
  const std::string program = built_program("device_query");
  const auto count = [&](const char* setting) {
    const std::string said = run(program, "", setting).output;
    const std::string before = "Multiprocessors                ";
    const std::size_t at = said.find(before);
    return at == std::string::npos ? -1 : std::atoi(said.c_str() + at + before.size());
  };
  CHECK(count("SIMT_MULTIPROCESSORS=") == 132);
  CHECK(count("SIMT_MULTIPROCESSORS=8") == 8);
}

TEST_CASE("wrong settings are refused") {
  const std::string program = built_program("device_query");
  for (const char* setting :
       {"SIMT_ORDER=sideways", "SIMT_THREADS=0", "SIMT_THREADS=x", "SIMT_THREADS=99999",
        "SIMT_MEMORY=-1", "SIMT_ASYNC=never", "SIMT_STACK_KB=8", "SIMT_STACK_KB=99999999999999999",
        "SIMT_MEMORY=9999999999999999G", "SIMT_MULTIPROCESSORS=0", "SIMT_MULTIPROCESSORS=-4"}) {
    const auto ran = run(program, "", setting);
    INFO(setting << "\n" << ran.output);
    CHECK(ran.status == 2);
    CHECK(ran.lines == 1);
  }
}
