// Copies in the background: cp.async, cp.async.bulk and cp.async.bulk.tensor. What is asked for is
// checked at once and done later: when its thread waits for it, or when no thread of the block can
// go on without it. So a kernel that forgets to wait reads what was there before, as it may on a
// GPU. SIMT_ASYNC=early does everything at once, random something in between.

#include <algorithm>
#include <cstring>

#include "async.h"
#include "device.h"
#include "options.h"
#include "simt/ptx.h"
#include "simt/runtime_types.h"
#include "tensor_map.h"
#include "worker.h"

namespace simt {

// mbarrier.cpp
void mbarrier_expect_arrival(void* mbarrier, Location at);
void complete_bytes(void* mbarrier, unsigned bytes, const char* instruction, Location at);

namespace {

using ptx::Element;
using ptx::Reduction;

// ---- adding to memory ---------------------------------------------------------------------------

template <class T>
T reduced(Reduction operation, T old, T value) {
  if constexpr (ptx::is_small<T>) {
    if (operation == Reduction::min_) return ptx::min<T>(old, value);
    if (operation == Reduction::max_) return ptx::max<T>(old, value);
    return ptx::add<T>(old, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return old + value;
  } else {
    switch (operation) {
      case Reduction::min_: return std::min(old, value);
      case Reduction::max_: return std::max(old, value);
      case Reduction::inc_: return old >= value ? T(0) : static_cast<T>(old + 1);
      case Reduction::dec_: return old == 0 || old > value ? value : static_cast<T>(old - 1);
      case Reduction::and_: return old & value;
      case Reduction::or_: return old | value;
      case Reduction::xor_: return old ^ value;
      default: return static_cast<T>(old + value);
    }
  }
}

template <class T>
void reduce_all(char* to, const char* from, size_t bytes, Reduction operation) {
  for (size_t i = 0; i < bytes; i += sizeof(T)) {
    T value;
    memcpy(static_cast<void*>(&value), from + i, sizeof(T));
    atomic_update(reinterpret_cast<T*>(to + i),
                  [&](T old) { return reduced<T>(operation, old, value); });
  }
}

void store_bytes(char* to, const char* from, size_t bytes, Reduction operation, Element element) {
  if (operation == Reduction::none) {
    memcpy(to, from, bytes);
    return;
  }
  switch (element) {
    case Element::f16: return reduce_all<ptx::f16>(to, from, bytes, operation);
    case Element::bf16: return reduce_all<ptx::bf16>(to, from, bytes, operation);
    case Element::f32: return reduce_all<float>(to, from, bytes, operation);
    case Element::f64: return reduce_all<double>(to, from, bytes, operation);
    case Element::s32: return reduce_all<int>(to, from, bytes, operation);
    case Element::s64: return reduce_all<long long>(to, from, bytes, operation);
    case Element::u64:
    case Element::b64: return reduce_all<unsigned long long>(to, from, bytes, operation);
    default: return reduce_all<unsigned>(to, from, bytes, operation);
  }
}

void wrote(const void* address, size_t bytes) {
  if (observer) observer->copy_wrote(address, bytes);
}

void check_multiple_of_16(const void* global, unsigned bytes, const char* instruction,
                          Location at) {
  if (reinterpret_cast<uintptr_t>(global) % 16 == 0 && bytes % 16 == 0) return;
  refuse_instruction("misaligned",
                     std::string(instruction) +
                         (bytes % 16 ? " of a number of bytes" : " with a global address") +
                         " that is not a multiple of 16",
                     at, cudaErrorMisalignedAddress);
}

void count_load(uint64_t bytes, bool multicast, unsigned mask) {
  if (!observer) return;
  observer->count(Beside::kTmaLoad, bytes);
  if (multicast && mask)
    observer->count(Beside::kMulticast, bytes * unsigned(__builtin_popcount(mask) - 1));
}
void count_store(uint64_t bytes) {
  if (observer) observer->count(Beside::kTmaStore, bytes);
}

// Calls f(target, mbarrier) for every block that a load goes to.
template <class Function>
void for_each_target(void* shared, void* barrier, bool multicast, unsigned mask, Location at,
                     Function f) {
  if (!multicast) {
    f(static_cast<char*>(shared), barrier);
    return;
  }
  if (mask >> ptx::cluster_blocks())
    refuse_instruction("cluster", "a multicast to blocks that the cluster does not have", at,
                       cudaErrorIllegalAddress);
  for (unsigned rank = 0; rank < ptx::cluster_blocks(); ++rank)
    if (mask >> rank & 1)
      f(static_cast<char*>(ptx::map_shared_rank(shared, rank, at)),
        ptx::map_shared_rank(barrier, rank, at));
}

// The copy engine will count bytes at it.
void check_signalled(const void* mbarrier, const char* instruction, Location at) {
  check_mbarrier_seen(shared_place(mbarrier, 8, instruction, at), true, instruction, at);
}

// ---- boxes of tensors ---------------------------------------------------------------------------

// Where a byte of a swizzled tile really lies: bits of its address are exchanged. The slots of
// shared memory begin at multiples of 1024, so that the pointer's own bits will do.
char* swizzled(char* address, unsigned swizzle_bytes) {
  auto bits = reinterpret_cast<uintptr_t>(address);
  if (swizzle_bytes == 128) bits ^= (bits >> 7 & 7) << 4;
  if (swizzle_bytes == 64) bits ^= (bits >> 7 & 3) << 4;
  if (swizzle_bytes == 32) bits ^= (bits >> 7 & 1) << 4;
  return reinterpret_cast<char*>(bits);
}

const TensorMap& map_at(const void* address, int rank, const char* instruction, Location at) {
  const auto& map = *static_cast<const TensorMap*>(address);
  if (reinterpret_cast<uintptr_t>(address) % 64 != 0 || map.magic != TensorMap::kMagic)
    refuse_instruction("tensor-map",
                       std::string(instruction) + " with an address that is no tensor map", at,
                       cudaErrorIllegalAddress);
  if (map.rank != rank)
    refuse_instruction("tensor-map",
                       std::string(instruction) + " in " + std::to_string(rank) +
                           " dimensions with a map of " + std::to_string(map.rank),
                       at, cudaErrorIllegalInstruction);
  return map;
}

unsigned count(const TensorMap& map, int d) { return (map.box[d] + map.step[d] - 1) / map.step[d]; }

unsigned box_bytes(const TensorMap& map) {
  unsigned bytes = map.element_bytes;
  for (int d = 0; d < map.rank; ++d) bytes *= count(map, d);
  return bytes;
}

// With the gaps between rows that are narrower than the swizzle.
unsigned shared_bytes(const TensorMap& map) {
  const unsigned row = count(map, 0) * map.element_bytes;
  return map.swizzle_bytes ? box_bytes(map) / row * map.swizzle_bytes : box_bytes(map);
}

// Seen on an H200: along the contiguous dimension a box begins at a multiple of 16 bytes, and one
// that is stored not before the row.
void check_start(const TensorMap& map, const int* coordinates, bool writes, Location at) {
  const int64_t byte = int64_t{coordinates[0]} * map.element_bytes;
  const bool is_before = writes && byte < 0;
  if (byte % 16 == 0 && !is_before) return;
  refuse_instruction("tensor-map",
                     "cp.async.bulk.tensor of a box that begins " + std::to_string(byte) +
                         " bytes into a row, which is " +
                         (is_before ? "before it, and is stored" : "not a multiple of 16"),
                     at, cudaErrorIllegalInstruction);
}

// Calls f(row in shared memory, row in global memory or null, first, behind) for every row of the
// box: elements [first, behind) of it lie inside of the tensor. Of a row that ends within 16 bytes
// a store writes all 16 (seen on an H200), a load takes none that is outside.
template <class Function>
void for_each_row(const TensorMap& map, const int* coordinates, char* shared, bool writes,
                  Function f) {
  const unsigned row_bytes = count(map, 0) * map.element_bytes;
  const unsigned shared_pitch = map.swizzle_bytes ? map.swizzle_bytes : row_bytes;
  const int64_t columns = count(map, 0), step = map.step[0], x = coordinates[0];
  const int64_t inside = std::max<int64_t>(0, int64_t(map.size[0]) - x);
  const int64_t first = x < 0 ? std::min(columns, (-x + step - 1) / step) : 0;
  const int64_t in_16_bytes = writes ? 16 / map.element_bytes : 1;
  const int64_t last = (inside + in_16_bytes - 1) / in_16_bytes * in_16_bytes;
  const int64_t behind = std::max(first, std::min(columns, (last + step - 1) / step));
  unsigned index[5] = {};
  for (;;) {
    char* global = map.base + x * map.element_bytes;
    bool outside = false;
    for (int d = 1; d < map.rank; ++d) {
      const int64_t at = coordinates[d] + int64_t(index[d]) * map.step[d];
      outside |= at < 0 || uint64_t(at) >= map.size[d];
      global += at * int64_t(map.pitch[d - 1]);
    }
    f(shared, global, outside ? columns : first, outside ? columns : behind);
    shared += shared_pitch;
    int d = 1;
    for (; d < map.rank; ++d) {
      if (++index[d] < count(map, d)) break;
      index[d] = 0;
    }
    if (d == map.rank) return;
  }
}

// Calls f(place in shared memory, offset in the row, bytes) for the row's pieces of 16 bytes.
template <class Function>
void for_each_piece(char* row, unsigned bytes, unsigned swizzle_bytes, Function f) {
  if (swizzle_bytes == 0) {
    f(row, 0u, bytes);
    return;
  }
  for (unsigned at = 0; at < bytes; at += 16)
    f(swizzled(row + at, swizzle_bytes), at, std::min(16u, bytes - at));
}

void fill_outside(const TensorMap& map, char* to, size_t bytes) {
  if (!map.nan_outside) {
    memset(to, 0, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i += map.element_bytes) {
    const uint32_t single = 0x7fffffff;
    const uint16_t small = 0x7fff;
    if (map.element_bytes == 4) memcpy(to + i, &single, 4);
    if (map.element_bytes == 2) memcpy(to + i, &small, 2);
  }
}

void load_box(const TensorMap& map, const int* coordinates, char* shared) {
  const unsigned size = map.element_bytes, row_bytes = count(map, 0) * size;
  char row[256 * 8];
  for_each_row(map, coordinates, shared, false,
               [&](char* to, const char* from, int64_t first, int64_t behind) {
                 const char* source = row;
                 if (first == 0 && behind * size == row_bytes && map.step[0] == 1) {
                   source = from;
                 } else {
                   fill_outside(map, row, row_bytes);
                   if (map.step[0] == 1) {
                     memcpy(row + first * size, from + first * size, (behind - first) * size);
                   } else {
                     for (int64_t i = first; i < behind; ++i)
                       memcpy(row + i * size, from + i * map.step[0] * size, size);
                   }
                 }
                 for_each_piece(to, row_bytes, map.swizzle_bytes,
                                [&](char* place, unsigned at, unsigned bytes) {
                                  memcpy(place, source + at, bytes);
                                });
               });
}

void store_box(const TensorMap& map, const int* coordinates, char* shared, Reduction operation) {
  const unsigned size = map.element_bytes, row_bytes = count(map, 0) * size;
  char row[256 * 8];
  for_each_row(
      map, coordinates, shared, true, [&](char* from, char* to, int64_t first, int64_t behind) {
        if (first == behind) return;
        for_each_piece(
            from, row_bytes, map.swizzle_bytes,
            [&](char* place, unsigned at, unsigned bytes) { memcpy(row + at, place, bytes); });
        if (map.step[0] == 1) {
          store_bytes(to + first * size, row + first * size, (behind - first) * size, operation,
                      map.element);
          wrote(to + first * size, (behind - first) * size);
        } else {
          for (int64_t i = first; i < behind; ++i) {
            store_bytes(to + i * map.step[0] * size, row + i * size, size, operation, map.element);
            wrote(to + i * map.step[0] * size, size);
          }
        }
      });
}

// The observer looks at the global memory of a copy; of a box: from its first byte inside of the
// tensor to its last one, and then row by row.
void check_line(const void* global, size_t bytes, bool writes, const void* caller) {
  if (observer && observer->copies_global(global, bytes, writes, caller))
    observer->copy_reads(global, bytes, caller);
}

void check_box(const TensorMap& map, const int* coordinates, bool writes, const void* caller) {
  if (!observer) return;
  static char nowhere;
  const auto for_each_line = [&](auto f) {
    for_each_row(map, coordinates, &nowhere, writes,
                 [&](char*, const char* row, int64_t from, int64_t to) {
                   const int64_t pitch = int64_t{map.step[0]} * map.element_bytes;
                   if (from != to)
                     f(row + from * pitch, row + (to - 1) * pitch + map.element_bytes);
                 });
  };
  const char *first = nullptr, *behind = nullptr;
  for_each_line([&](const char* begin, const char* end) {
    if (!first) first = begin;
    behind = end;
  });
  if (first && observer->copies_global(first, size_t(behind - first), writes, caller))
    for_each_line([&](const char* begin, const char* end) {
      observer->copy_reads(begin, size_t(end - begin), caller);
    });
}

constexpr unsigned kTileAlignment = 128;

struct Coordinates {
  Coordinates(const int* from, int rank) { std::copy_n(from, rank, at); }
  int at[5] = {};
};

// ---- doing it later -----------------------------------------------------------------------------

unsigned random_below(size_t n) {
  static thread_local uint64_t random = options().async_seed * 0x9E3779B97F4A7C15u + 1;
  random = random * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>((random >> 33) % n);
}

// A range of shared memory for the observer.
InFlight range(const void* shared, unsigned bytes, bool writes, const char* what, const void* pc) {
  InFlight flight;
  if (!observer) return flight;
  flight.owner = owner_of_shared(shared);
  const SharedPlace place = shared_place(shared, 1, what, {});
  flight.offset = place.offset;
  flight.bytes = bytes;
  flight.writes = writes;
  flight.what = what;
  flight.pc = pc;
  return flight;
}

// `flights`: the shared memory that the copy writes and reads.
template <class Function>
void start_copy(bool grouped, std::initializer_list<InFlight> flights, Function copy) {
  if (observer)
    for (const InFlight& flight : flights)
      if (flight.owner) observer->takes_off(flight);
  auto land = [copy,
               landing = observer ? std::vector<InFlight>(flights) : std::vector<InFlight>()] {
    copy();
    for (const InFlight& flight : landing)
      if (flight.owner) observer->lands(flight);
  };
  if (at_once()) {
    land();
    return;
  }
  BlockAsync& async = async_of(*state.block);
  async.bulk.push_back({state.thread, grouped ? async.copies_of(state.thread).bulk_group : kNoGroup,
                        std::move(land)});
}

InFlight small_flight(const SmallCopy& copy, const void* pc) {
  InFlight flight = range(copy.to, copy.bytes, true, "cp.async", pc);
  flight.async_proxy = false;
  return flight;
}

void do_small_copy(const SmallCopy& copy) {
  if (copy.mbarrier) {
    ptx::mbarrier_arrive(copy.mbarrier, 1, 0, false, copy.at);
    return;
  }
  memcpy(copy.to, copy.from, copy.source_bytes);
  memset(copy.to + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
  if (copy.late && observer) observer->lands(small_flight(copy, nullptr));
}

// An arrival stays behind the copies that it tells of.
void start_small_copy(SmallCopy copy, const void* pc) {
  const bool now =
      copy.mbarrier ? async_of(*state.block).copies_of(state.thread).small.empty() : at_once();
  if (now) {
    do_small_copy(copy);
    return;
  }
  copy.late = !copy.mbarrier;
  if (copy.late && observer) observer->takes_off(small_flight(copy, pc));
  BlockAsync& async = async_of(*state.block);
  ThreadCopies& mine = async.copies_of(state.thread);
  if (mine.small.empty()) ++async.threads_with_small;
  mine.small.push_back(copy);
  mine.small.back().group = mine.small_group;
}

}  // namespace

bool at_once() {
  if (options().async == Async::kRandom) return random_below(2) == 0;
  return options().async == Async::kEarly;
}

ThreadCopies& BlockAsync::copies_of(unsigned thread) {
  if (copies.empty()) copies.resize(kMaxThreads);
  return copies[thread];
}

void finish_small_copies(BlockAsync& async, unsigned thread, uint64_t last_group) {
  std::vector<SmallCopy>& small = async.copies_of(thread).small;
  size_t done = 0;
  while (done < small.size() && small[done].group <= last_group) do_small_copy(small[done++]);
  small.erase(small.begin(), small.begin() + long(done));
  if (done && small.empty()) --async.threads_with_small;
}

// Does the copy and takes it off the list.
static void finish_bulk_copy(BlockAsync& async, size_t which) {
  const BulkCopy copy = std::move(async.bulk[which]);
  async.bulk.erase(async.bulk.begin() + long(which));
  state.thread = copy.thread;
  copy.run();
}

// Carries out one copy or product that is in flight; false: there is none. Late, those come first
// that an mbarrier tells of or may tell of, as others may wait for them, then products. Nobody but
// the thread that asked can wait for a bulk copy in a group (it then does it itself): such a copy
// still reads its memory until nothing else is left to do. Random takes a product or any bulk copy
// first.
static bool complete_one(Block& b) {
  BlockAsync& async = *b.async;
  const bool random = options().async == Async::kRandom;
  if (random && random_below(2) == 0 && !async.products.empty() && complete_one_product(b))
    return true;
  if (random && !async.bulk.empty()) {
    finish_bulk_copy(async, random_below(async.bulk.size()));
    return true;
  }
  const auto signalled = std::find_if(async.bulk.begin(), async.bulk.end(),
                                      [](const BulkCopy& copy) { return copy.group == kNoGroup; });
  if (signalled != async.bulk.end()) {
    finish_bulk_copy(async, size_t(signalled - async.bulk.begin()));
    return true;
  }
  if (async.threads_with_small != 0) {
    state.thread = 0;
    while (async.copies[state.thread].small.empty()) ++state.thread;
    finish_small_copies(async, state.thread, kNoGroup);
    return true;
  }
  if (!async.products.empty() && complete_one_product(b)) return true;
  if (async.bulk.empty()) return false;
  finish_bulk_copy(async, 0);
  return true;
}

// By the scheduler, on behalf of the thread that asked.
bool Worker::complete_one_copy(Block& b) {
  volatile bool any = true;
  performing_ = true;
  if (sigsetjmp(after_fault_, 0) == 0) {
    any = complete_one(b);
  } else {
    b.async->bulk.clear();
    b.async->threads_with_small = 0;
    b.async->products.clear();
  }
  performing_ = false;
  if (any) ++b.events;
  return any;
}

namespace ptx {

// ---- cp.async: by every thread, in groups of its own --------------------------------------------

void cp_async(void* shared, const void* global, unsigned bytes, unsigned source_bytes,
              Location at) {
  cp_async(shared, global, bytes, source_bytes, at, __builtin_return_address(0));
}

void cp_async(void* shared, const void* global, unsigned bytes, unsigned source_bytes, Location at,
              const void* caller) {
  source_bytes = std::min(source_bytes, bytes);
  shared_place(shared, bytes, "cp.async", at);
  if (source_bytes && reinterpret_cast<uintptr_t>(global) % bytes != 0)
    refuse_instruction(
        "misaligned",
        "cp.async of a global address that is not a multiple of " + std::to_string(bytes), at,
        cudaErrorMisalignedAddress);
  if (source_bytes) note_read(global, source_bytes, caller);
  note_write(shared, bytes, caller);
  start_small_copy({0, static_cast<char*>(shared), static_cast<const char*>(global), bytes,
                    source_bytes, nullptr, at, false},
                   caller);
}

void cp_async_commit_group() { ++async_of(*state.block).copies_of(state.thread).small_group; }

void cp_async_wait_group(unsigned pending) {
  BlockAsync& async = async_of(*state.block);
  const uint64_t open = async.copies_of(state.thread).small_group;
  if (open > pending) finish_small_copies(async, state.thread, open - pending - 1);
}

void cp_async_wait_all() { finish_small_copies(async_of(*state.block), state.thread, kNoGroup); }

// The widest piece, 16 bytes at most, that all of these are a multiple of.
static size_t common_piece(const void* to, const void* from, size_t bytes) {
  const uintptr_t all = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
  return std::min<size_t>(16, all & -all);
}

void copy_at_once(void* to, const void* from, size_t bytes, unsigned thread, unsigned threads,
                  const void* caller) {
  const size_t piece = common_piece(to, from, bytes);
  for (size_t i = thread * piece; i < bytes; i += threads * piece) {
    note_read(static_cast<const char*>(from) + i, unsigned(piece), caller);
    note_write(static_cast<char*>(to) + i, unsigned(piece), caller);
    memcpy(static_cast<char*>(to) + i, static_cast<const char*>(from) + i, piece);
  }
}

void copy_async(void* to, const void* from, size_t bytes, unsigned thread, unsigned threads,
                Location at, const void* caller) {
  const size_t piece = common_piece(to, from, bytes);
  if (piece < 4 || owner_of_shared(to) != state.block || !in_device_range(from))
    return copy_at_once(to, from, bytes, thread, threads, caller);
  for (size_t i = thread * piece; i < bytes; i += threads * piece)
    cp_async(static_cast<char*>(to) + i, static_cast<const char*>(from) + i, unsigned(piece),
             unsigned(piece), at, caller);
}

void cp_async_mbarrier_arrive(void* barrier, bool noinc, Location at) {
  if (!noinc) mbarrier_expect_arrival(barrier, at);
  start_small_copy({0, nullptr, nullptr, 0, 0, barrier, at, false}, nullptr);
}

// ---- cp.async.bulk ------------------------------------------------------------------------------

void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, bool multicast,
               unsigned mask, Location at, const void* caller) {
  if (!caller) caller = __builtin_return_address(0);
  shared_place(shared, 16, "cp.async.bulk", at);
  check_multiple_of_16(global, bytes, "cp.async.bulk", at);
  check_line(global, bytes, false, caller);
  count_load(bytes, multicast, mask);
  for_each_target(shared, barrier, multicast, mask, at, [&](char* to, void* mbarrier) {
    check_signalled(mbarrier, "cp.async.bulk", at);
    start_copy(false, {range(to, bytes, true, "cp.async.bulk", caller)}, [=] {
      memcpy(to, global, bytes);
      wrote(to, bytes);
      complete_bytes(mbarrier, bytes, "cp.async.bulk", at);
    });
  });
}

void bulk_copy_cluster(void* to, const void* from, unsigned bytes, void* barrier,
                       Reduction operation, Element element, Location at, const void* caller) {
  if (!caller) caller = __builtin_return_address(0);
  shared_place(to, 16, "cp.async.bulk", at);
  shared_place(from, 16, "cp.async.bulk", at);
  check_multiple_of_16(nullptr, bytes, "cp.async.bulk", at);
  check_signalled(barrier, "cp.async.bulk", at);
  const InFlight read = range(from, bytes, false, "cp.async.bulk", caller);
  // Sums may come from several blocks at a time.
  const InFlight written =
      operation == Reduction::none ? range(to, bytes, true, "cp.async.bulk", caller) : InFlight();
  start_copy(false, {read, written}, [=] {
    store_bytes(static_cast<char*>(to), static_cast<const char*>(from), bytes, operation, element);
    wrote(to, bytes);
    complete_bytes(barrier, bytes, "cp.async.bulk", at);
  });
}

void store_async_bytes(void* to, const void* values, unsigned bytes, void* barrier, Location at) {
  shared_place(to, bytes, "st.async", at);
  char copied[16];
  memcpy(copied, values, bytes);
  start_copy(false, {}, [=] {
    memcpy(to, copied, bytes);
    wrote(to, bytes);
    complete_bytes(barrier, bytes, "st.async", at);
  });
}

void reduce_async(void* to, const void* value, unsigned bytes, void* barrier, Reduction operation,
                  Element element, Location at) {
  shared_place(to, bytes, "red.async", at);
  char copied[8];
  memcpy(copied, value, bytes);
  start_copy(false, {}, [=] {
    store_bytes(static_cast<char*>(to), copied, bytes, operation, element);
    complete_bytes(barrier, bytes, "red.async", at);
  });
}

void bulk_store(void* global, const void* shared, unsigned bytes, Reduction operation,
                Element element, Location at, const void* caller) {
  if (!caller) caller = __builtin_return_address(0);
  shared_place(shared, 16, "cp.async.bulk", at);
  check_multiple_of_16(global, bytes, "cp.async.bulk", at);
  check_line(global, bytes, true, caller);
  count_store(bytes);
  start_copy(true, {range(shared, bytes, false, "cp.async.bulk", caller)}, [=] {
    store_bytes(static_cast<char*>(global), static_cast<const char*>(shared), bytes, operation,
                element);
    wrote(global, bytes);
  });
}

void tensor_load(void* shared, const void* address, const int* coordinates, int rank, void* barrier,
                 bool multicast, unsigned mask, Location at, const void* caller) {
  if (!caller) caller = __builtin_return_address(0);
  // By value: a kernel's parameter lives as long as its thread.
  const TensorMap map = map_at(address, rank, "cp.async.bulk.tensor", at);
  const Coordinates where(coordinates, rank);
  check_start(map, where.at, false, at);
  shared_place(shared, kTileAlignment, "cp.async.bulk.tensor", at);
  check_box(map, where.at, false, caller);
  count_load(box_bytes(map), multicast, mask);
  for_each_target(shared, barrier, multicast, mask, at, [&](char* to, void* mbarrier) {
    check_signalled(mbarrier, "cp.async.bulk.tensor", at);
    InFlight box = range(to, shared_bytes(map), true, "cp.async.bulk.tensor", caller);
    box.tensor = true;
    box.swizzle = map.swizzle_bytes;
    start_copy(false, {box}, [=] {
      load_box(map, where.at, to);
      wrote(to, shared_bytes(map));
      complete_bytes(mbarrier, box_bytes(map), "cp.async.bulk.tensor", at);
    });
  });
}

void tensor_store(const void* address, const int* coordinates, int rank, const void* shared,
                  Reduction operation, Location at, const void* caller) {
  if (!caller) caller = __builtin_return_address(0);
  const TensorMap map = map_at(address, rank, "cp.async.bulk.tensor", at);
  const Coordinates where(coordinates, rank);
  check_start(map, where.at, true, at);
  shared_place(shared, kTileAlignment, "cp.async.bulk.tensor", at);
  check_box(map, where.at, true, caller);
  count_store(box_bytes(map));
  start_copy(true, {range(shared, shared_bytes(map), false, "cp.async.bulk.tensor", caller)}, [=] {
    store_box(map, where.at, static_cast<char*>(const_cast<void*>(shared)), operation);
  });
}

void bulk_commit_group() { ++async_of(*state.block).copies_of(state.thread).bulk_group; }

// A copy that has been read has also been written here.
void bulk_wait_group(unsigned pending, bool) {
  BlockAsync& async = async_of(*state.block);
  const uint64_t open = async.copies_of(state.thread).bulk_group;
  for (size_t i = 0; i < async.bulk.size();) {
    const BulkCopy& copy = async.bulk[i];
    if (copy.thread != state.thread || copy.group == kNoGroup || copy.group + pending >= open) {
      ++i;
      continue;
    }
    const std::function<void()> run = std::move(async.bulk[i].run);
    async.bulk.erase(async.bulk.begin() + long(i));
    run();
  }
}

void fence_proxy() {
  if (observer) observer->proxy_fence();
}

}  // namespace ptx
}  // namespace simt
