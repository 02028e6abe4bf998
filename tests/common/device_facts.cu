// common/bench/device_facts.cuh and common/bench/cpu_facts.hpp: what this machine is.
#include "common/bench/device_facts.cuh"

#include <cmath>

#include "common/bench/cpu_facts.hpp"
#include "tests/catch.hpp"

TEST_CASE("the CPU is known") {
  const bench::CpuFacts cpu = bench::query_cpu();
  CHECK(cpu.threads >= 1);
  CHECK_FALSE(cpu.model.empty());
  CHECK(cpu.available_bytes > 1e6);
}

TEST_CASE("without a device there is a reason, with one there are facts") {
  const bench::DeviceFacts device = bench::query_device();
  CHECK(device.runtime_version >= 12000);
  if (!device.available) {
    CHECK_FALSE(device.reason.empty());
    return;
  }
  CHECK_FALSE(device.name.empty());
  CHECK(device.compute_capability() >= 70);
  CHECK(device.multiprocessors >= 1);
  CHECK(device.max_threads_per_multiprocessor >= 1024);
  CHECK(device.shared_bytes_per_block >= 48 * 1024);
  CHECK(device.memory_bytes > 0);
  CHECK(device.code.capability >= 70);
  CHECK(device.code.capability <= device.compute_capability());
}

TEST_CASE("peak figures of a known chip are near its data sheet") {
  const bench::DeviceFacts device = bench::query_device();
  if (device.name.find("H200") == std::string::npos) SKIP_TEST("needs an H200");
  CHECK(device.peak_bandwidth_gbps > 4700);  // data sheet: 4.8 TB/s
  CHECK(device.peak_bandwidth_gbps < 5000);
  CHECK(device.peak_fp32_gflops > 65e3);  // data sheet: 67 TFLOP/s
  CHECK(device.peak_fp32_gflops < 68e3);
}

TEST_CASE("tensor-core peaks as the data sheets give them") {
  const auto tflops = [](const char* name, int capability, int multiprocessors, double clock_ghz) {
    bench::DeviceFacts device;
    device.name = name;
    device.major = capability / 10;
    device.minor = capability % 10;
    device.multiprocessors = multiprocessors;
    device.clock_ghz = clock_ghz;
    return bench::peak_bf16_gflops(device) / 1e3;
  };
  CHECK(std::fabs(tflops("NVIDIA A100-SXM4-80GB", 80, 108, 1.41) - 312) < 1);
  CHECK(std::fabs(tflops("NVIDIA H100 80GB HBM3", 90, 132, 1.83) - 989) < 1);
  CHECK(std::fabs(tflops("NVIDIA GeForce RTX 4090", 89, 128, 2.52) - 165) < 1);
  CHECK(std::fabs(tflops("NVIDIA RTX 6000 Ada Generation", 89, 142, 2.505) - 364) < 1);
  CHECK(tflops("NVIDIA T4", 75, 40, 1.59) == 0);  // no bf16
}

TEST_CASE("multiply-add units of a multiprocessor, by the programming guide") {
  for (const int chip : {70, 75, 80}) CHECK(bench::fp32_units(chip) == 64);
  for (const int chip : {86, 89, 90, 100, 103, 120}) CHECK(bench::fp32_units(chip) == 128);
  CHECK(bench::fp32_units(99) == 0);  // unknown: no share of a peak is shown
}

TEST_CASE("version numbers read as people write them") {
  CHECK(bench::version_text(13000) == "13.0");
  CHECK(bench::version_text(12080) == "12.8");
}
