// common/device_facts.cuh and common/cpu_facts.hpp: what this machine is.
#include "common/device_facts.cuh"

#include "common/cpu_facts.hpp"
#include "tests/catch.hpp"

TEST_CASE("the CPU is known") {
  const common::CpuFacts cpu = common::query_cpu();
  CHECK(cpu.threads >= 1);
  CHECK_FALSE(cpu.model.empty());
  CHECK(cpu.available_bytes > 1e6);
}

TEST_CASE("without a device there is a reason, with one there are facts") {
  const common::DeviceFacts device = common::query_device();
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
}

TEST_CASE("peak figures of a known chip are near its data sheet") {
  const common::DeviceFacts device = common::query_device();
  if (device.name.find("H200") == std::string::npos) SKIP_TEST("needs an H200");
  CHECK(device.peak_bandwidth_gbps > 4700);  // data sheet: 4.8 TB/s
  CHECK(device.peak_bandwidth_gbps < 5000);
  CHECK(device.peak_fp32_gflops > 65e3);  // data sheet: 67 TFLOP/s
  CHECK(device.peak_fp32_gflops < 68e3);
}

TEST_CASE("version numbers read as people write them") {
  CHECK(common::version_text(13000) == "13.0");
  CHECK(common::version_text(12080) == "12.8");
}
