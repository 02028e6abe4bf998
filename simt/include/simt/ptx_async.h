// What works beside the threads: mbarriers (src/mbarrier.cpp), copies in the background
// (src/async_copies.cpp), tensor maps (src/tensor_map.cpp), named barriers and clusters
// (src/cluster.cpp).
#pragma once

#include <cstdint>

#include "simt/build_mode.h"
#include "simt/location.h"
#include "simt/ptx_matrix.h"
#include "simt/vector_types.h"

namespace simt {
namespace ptx {

// ---- mbarrier: 64 bits in shared memory ---------------------------------------------------------
void mbarrier_init(void* barrier, unsigned count, Location at = Location::here());
void mbarrier_inval(void* barrier);
void mbarrier_expect_tx(void* barrier, unsigned bytes, Location at = Location::here());
void mbarrier_complete_tx(void* barrier, unsigned bytes, Location at = Location::here());
// Returns the state before: a token for test_wait and try_wait.
uint64_t mbarrier_arrive(void* barrier, unsigned count, unsigned expected_bytes, bool drop,
                         Location at = Location::here());
bool mbarrier_test_wait(const void* barrier, uint64_t token, Location at = Location::here());
bool mbarrier_test_wait_parity(const void* barrier, unsigned parity,
                               Location at = Location::here());
// These wait, until the phase is complete or nobody else can go on.
bool mbarrier_try_wait(const void* barrier, uint64_t token, Location at = Location::here());
bool mbarrier_try_wait_parity(const void* barrier, unsigned parity, Location at = Location::here());
unsigned mbarrier_pending_count(uint64_t token);
void fence_mbarrier_init();

// ---- copies -------------------------------------------------------------------------------------
enum class Reduction : unsigned char { none, add_, min_, max_, inc_, dec_, and_, or_, xor_ };

void cp_async(void* shared, const void* global, unsigned bytes, unsigned source_bytes,
              Location at = Location::here());
// For a function that wraps it: `caller` is the place in the kernel that called that function.
void cp_async(void* shared, const void* global, unsigned bytes, unsigned source_bytes, Location at,
              const void* caller);
// What one of `threads` threads copies of a whole that they copy together: by cp.async where it
// can, from global to shared memory and in pieces of 4, 8 or 16 bytes, otherwise at once.
void copy_async(void* to, const void* from, size_t bytes, unsigned thread, unsigned threads,
                Location at, const void* caller);
void copy_at_once(void* to, const void* from, size_t bytes, unsigned thread, unsigned threads,
                  const void* caller);
void cp_async_commit_group();
void cp_async_wait_group(unsigned pending);
void cp_async_wait_all();  // those of the open group, too
void cp_async_mbarrier_arrive(void* barrier, bool noinc, Location at = Location::here());

// `caller`, of those below: the place in the kernel; null: where this function returns to.
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, bool multicast,
               unsigned mask, Location at = Location::here(), const void* caller = nullptr);
void bulk_copy_cluster(void* to, const void* from, unsigned bytes, void* barrier,
                       Reduction operation, Element element, Location at = Location::here(),
                       const void* caller = nullptr);
void bulk_store(void* global, const void* shared, unsigned bytes, Reduction operation,
                Element element, Location at = Location::here(), const void* caller = nullptr);
void tensor_load(void* shared, const void* map, const int* coordinates, int rank, void* barrier,
                 bool multicast, unsigned mask, Location at = Location::here(),
                 const void* caller = nullptr);
void tensor_store(const void* map, const int* coordinates, int rank, const void* shared,
                  Reduction operation, Location at = Location::here(),
                  const void* caller = nullptr);
void bulk_commit_group();
void bulk_wait_group(unsigned pending, bool read);
void store_async_bytes(void* to, const void* values, unsigned bytes, void* barrier, Location at);
template <class T>
SIMT_INLINE void store_async(void* to, const T* values, unsigned bytes, void* barrier,
                             Location at = Location::here()) {
  store_async_bytes(to, values, bytes, barrier, at);
}
// One number, added to what is there in the background.
void reduce_async(void* to, const void* value, unsigned bytes, void* barrier, Reduction operation,
                  Element element, Location at = Location::here());
void fence_proxy();

// ---- named barriers and clusters ----------------------------------------------------------------
// threads: 0: all of the block.
void named_barrier_sync(unsigned barrier, unsigned threads, Location at = Location::here());
void named_barrier_arrive(unsigned barrier, unsigned threads, Location at = Location::here());

void cluster_arrive(bool release, Location at = Location::here());
void cluster_wait(Location at = Location::here());
unsigned cluster_rank();
unsigned cluster_blocks();
bool in_cluster();
uint3 block_in_cluster();
dim3 cluster_shape();
uint3 cluster_index();
dim3 grid_clusters();
// The same variable in the shared memory of block `rank` of the cluster.
void* map_shared_rank(const void* pointer, unsigned rank, Location at = Location::here());
unsigned rank_of_shared(const void* pointer);

}  // namespace ptx
}  // namespace simt
