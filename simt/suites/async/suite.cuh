// What the programs of this suite share: PTX, and a main() that runs one kernel or all of them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>

// Macros instead of functions, so that a tool which names a line names the kernel's.
// clang-format off
#define SHARED(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(barrier, count) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(count))
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define EXPECT(barrier, bytes) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(barrier)), "r"(bytes) : "memory")
#define EXPECT_ONLY(barrier, bytes) asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(SHARED(barrier)), "r"(bytes) : "memory")
#define ARRIVE(barrier) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(barrier)) : "memory")
#define ARRIVE_AT(peer) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer) : "memory")
#define WAIT(barrier, parity) asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W; }" ::"r"(SHARED(barrier)), "r"(parity) : "memory")
#define LOAD(to, from, bytes, barrier) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(SHARED(to)), "l"(from), "r"(bytes), "r"(SHARED(barrier)) : "memory")
#define LOAD_BOTH(to, from, bytes, barrier) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(SHARED(to)), "l"(from), "r"(bytes), "r"(SHARED(barrier)), "h"(static_cast<uint16_t>(3)) : "memory")
#define STORE(to, from, bytes) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(SHARED(from)), "r"(bytes) : "memory")
#define STORES_READ() asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define CLUSTER_ARRIVE() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define CLUSTER_ARRIVE_RELAXED() asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_WAIT() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define PEER(address, p) asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(SHARED(p)), "r"(1 - blockIdx.x % 2))
#define COPY_4(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(to)), "l"(from) : "memory")
#define COPIES_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define PRODUCTS_DONE() asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
#define PRODUCT(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b))
#define PRODUCT_A(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
// clang-format on

constexpr int kCount = 1024;  // of what a kernel is given and gives back

// A pair: the kernel with the mistake, the mended one, how both are launched, and what the mended
// one makes of in[i] = i.
using Kernel = void (*)(const int* in, int* out);
struct Pair {
  const char* name;
  Kernel faulty, mended;
  int blocks, threads, results;
  int (*expected)(int i);
};
#define PAIR(name, ...) \
  { #name, name < true>, name < false>, __VA_ARGS__ }

// Runs one of the two and says what came out.
inline void run(const Pair& pair, bool faulty) {
  static int host[kCount];
  int *in = nullptr, *out = nullptr;
  cudaMalloc(&in, sizeof host), cudaMalloc(&out, sizeof host);
  for (int i = 0; i < kCount; ++i) host[i] = i;
  cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemset(out, 0xff, sizeof host);
  (faulty ? pair.faulty : pair.mended)<<<pair.blocks, pair.threads>>>(in, out);
  const cudaError_t launched = cudaGetLastError(), ended = cudaDeviceSynchronize();
  int wrong = 0;
  if (ended == cudaSuccess) {
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < pair.results; ++i) wrong += host[i] != pair.expected(i);
  }
  std::printf("%s %s: ", pair.name, faulty ? "faulty" : "mended");
  if (launched != cudaSuccess || ended != cudaSuccess) {
    std::printf("%s\n", cudaGetErrorName(launched != cudaSuccess ? launched : ended));
    cudaDeviceReset();  // for the next one
    return;
  }
  std::printf(wrong == 0 ? "right\n" : "%d of %d results wrong\n", wrong, pair.results);
  cudaFree(in), cudaFree(out);
}

// main() of each program. Without arguments: the names.
template <int count>
int run_suite(const Pair (&pairs)[count], int argc, char** argv) {
  const bool all = argc == 2 && std::strcmp(argv[1], "all") == 0;
  const bool faulty = argc == 3 && std::strcmp(argv[2], "faulty") == 0;
  const bool mended = argc == 3 && std::strcmp(argv[2], "mended") == 0;
  bool found = false;
  for (const Pair& pair : pairs) {
    if (argc == 1) std::printf("%s\n", pair.name);
    if (all) run(pair, true), run(pair, false);
    if ((faulty || mended) && std::strcmp(argv[1], pair.name) == 0) run(pair, faulty), found = true;
  }
  if (argc == 1 || all || found) return 0;
  std::fprintf(stderr, "usage: %s [all | NAME faulty | NAME mended]\n", argv[0]);
  return 2;
}
