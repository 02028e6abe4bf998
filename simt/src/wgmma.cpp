// wgmma: the four warps of a warpgroup multiply tiles in shared memory. Its threads ask for it one
// after the other and go on at once; when all 128 have asked, it can be carried out, and is when a
// thread waits for it and nobody else can go on (SIMT_ASYNC=early: at once). So a kernel that
// forgets to wait finds its accumulators as they were.

#include <algorithm>
#include <cstring>

#include "async.h"
#include "device.h"
#include "elements.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {
namespace {

using ptx::Element;

constexpr int kRows = 64, kMostColumns = 256, kMostK = 32;

// ---- tiles in shared memory ---------------------------------------------------------------------

// A matrix descriptor. Tiles are built of rows of `row_bytes`: 16 without a swizzle, else as long
// as the swizzle. K-major: a row runs along K and eight rows, then eight more stride_bytes further,
// run along M or N. MN-major: a row runs along M or N, and rows along K.
struct Tile {
  const char* start;
  unsigned leading, stride;  // bytes
  unsigned swizzle;          // bytes, 0: none

  explicit Tile(uint64_t descriptor) {
    constexpr unsigned kSwizzles[4] = {0, 128, 64, 32};
    leading = (descriptor >> 16 & 0x3fff) << 4;
    stride = (descriptor >> 32 & 0x3fff) << 4;
    swizzle = kSwizzles[descriptor >> 62];
    // 18 bits of an address, of which there are a little more.
    unsigned offset = (descriptor & 0x3fff) << 4;
    const size_t end = kStaticSharedBytes + state.block->launch->dynamic_shared;
    if (offset + (1u << 18) < end) offset += 1u << 18;
    start = state.shared + offset;
  }

  const char* place(size_t offset) const {
    auto bits = reinterpret_cast<uintptr_t>(start + offset);
    if (swizzle == 128) bits ^= (bits >> 7 & 7) << 4;
    if (swizzle == 64) bits ^= (bits >> 7 & 3) << 4;
    if (swizzle == 32) bits ^= (bits >> 7 & 1) << 4;
    return reinterpret_cast<const char*>(bits);
  }

  // The 16 bytes of row `r` (along M or N) that begin at byte `k` along K.
  const char* k_major(unsigned r, unsigned k) const {
    if (swizzle == 0) return place(r % 8 * 16 + size_t(r / 8) * stride + k / 16 * leading);
    return place(r % 8 * swizzle + size_t(r / 8) * stride + k);
  }
  // The 16 bytes of row `k` (along K) that begin at byte `r` along M or N.
  const char* mn_major(unsigned r, unsigned k) const {
    if (swizzle == 0) return place(k % 8 * 16 + size_t(r / 16) * stride + k / 8 * leading);
    return place(k % 8 * swizzle + size_t(k / 8) * stride + size_t(r / swizzle) * leading +
                 r % swizzle);
  }
};

uint32_t element_bits(const char* piece, int index, unsigned bytes) {
  uint32_t bits = 0;
  memcpy(&bits, piece + index * bytes, bytes);
  return bits;
}

// Calls f(row along M or N, k, 16 bytes of the tile that begin there).
template <class Function>
void for_each_piece(const Tile& tile, Element element, int rows, int k_count, bool transposed,
                    Function f) {
  const unsigned bytes = bits_of(element) / 8;
  const int per = int(16 / bytes);
  if (!transposed) {
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < k_count; k += per)
        f(row, k, tile.k_major(unsigned(row), unsigned(k) * bytes));
    return;
  }
  for (int k = 0; k < k_count; ++k)
    for (int row = 0; row < rows; row += per)
      f(row, k, tile.mn_major(unsigned(row) * bytes, unsigned(k)));
}

// Calls f(row along M or N, k, value) for `rows` x `k_count` elements.
template <class Function>
void for_each_element(const Tile& tile, Element element, int rows, int k_count, bool transposed,
                      Function f) {
  const unsigned bytes = bits_of(element) / 8;
  const int per = int(16 / bytes);
  for_each_piece(tile, element, rows, k_count, transposed, [&](int row, int k, const char* piece) {
    for (int e = 0; e < per; ++e) {
      const float value = element_value(element, element_bits(piece, e, bytes));
      transposed ? f(row + e, k, value) : f(row, k + e, value);
    }
  });
}

// ---- the product --------------------------------------------------------------------------------

struct Operands {
  alignas(64) float a[kRows][kMostK];
  alignas(64) float b[kMostK][kMostColumns];
  alignas(64) float d[kRows][kMostColumns];
};

// Sums of products of integers, which are exact in floats.
void add_integers(Operands& p, int columns, int k_count) {
  for (int row = 0; row < kRows; ++row)
    for (int k = 0; k < k_count; ++k)
      for (int n = 0; n < columns; ++n) p.d[row][n] += p.a[row][k] * p.b[k][n];
}

// Row and first column of a thread's accumulators; the next ones follow by 8 columns.
int row_of(int thread, int pair) { return 16 * (thread / 32) + thread % 32 / 4 + 8 * (pair % 2); }
int column_of(int thread, int pair) { return 8 * (pair / 2) + 2 * (thread % 4); }

char* accumulator(const Product::Lane& lane, int i) {
  return lane.scattered.empty() ? lane.d + 4 * i : static_cast<char*>(lane.scattered[size_t(i)]);
}

// A pair of accumulators that lie side by side: two registers, or one of two halves.
void load_pair(Element d, const Product::Lane& lane, int pair, float* low, float* high) {
  if (d == Element::f16) {
    uint32_t bits;
    memcpy(&bits, accumulator(lane, pair), 4);
    *low = float_from_half_bits(static_cast<uint16_t>(bits));
    *high = float_from_half_bits(static_cast<uint16_t>(bits >> 16));
  } else if (d == Element::f32) {
    memcpy(low, accumulator(lane, 2 * pair), 4);
    memcpy(high, accumulator(lane, 2 * pair + 1), 4);
  }
}

void store_pair(const ptx::Wgmma& shape, const Product::Lane& lane, int pair, float low, float high,
                bool accumulate) {
  if (shape.d == Element::f16) {
    const uint32_t bits =
        half_bits_from_float(low) | static_cast<uint32_t>(half_bits_from_float(high)) << 16;
    memcpy(accumulator(lane, pair), &bits, 4);
  } else if (shape.d == Element::f32) {
    memcpy(accumulator(lane, 2 * pair), &low, 4);
    memcpy(accumulator(lane, 2 * pair + 1), &high, 4);
  } else {  // integers: the sums of one instruction are exact in floats, the accumulators are not
    for (int i = 0; i < 2; ++i) {
      int old;
      memcpy(&old, accumulator(lane, 2 * pair + i), 4);
      int64_t sum = int64_t(accumulate ? old : 0) + int64_t(i ? high : low);
      if (shape.satfinite) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      memcpy(accumulator(lane, 2 * pair + i), &sum, 4);  // the lower half
    }
  }
}

void compute(const Product& product) {
  static thread_local Operands p;
  const ptx::Wgmma& shape = product.shape;
  if (product.a_in_registers) {
    const int per = int(32 / bits_of(shape.a));
    for (int thread = 0; thread < int(kWarpgroupThreads); ++thread)
      for (int r = 0; r < 4; ++r)
        for (int e = 0; e < per; ++e)
          p.a[row_of(thread, r)][thread % 4 * per + e + r / 2 * 4 * per] = element_value(
              shape.a, product.lanes[thread].a[r].value >> (bits_of(shape.a) * e % 32));
  } else {
    for_each_element(Tile(product.a_tile), shape.a, kRows, shape.k, product.transposed_a != 0,
                     [&](int row, int k, float value) { p.a[row][k] = value; });
  }
  if (product.scale_a * product.scale_b < 0)
    for (auto& row : p.a)
      for (int k = 0; k < shape.k; ++k) row[k] = -row[k];
  for_each_element(Tile(product.b_tile), shape.b, shape.n, shape.k, product.transposed_b != 0,
                   [&](int column, int k, float value) { p.b[k][column] = value; });
  const int pairs = shape.n / 4;
  for (int row = 0; row < kRows; ++row) memset(p.d[row], 0, shape.n * sizeof(float));
  if (product.accumulate && !is_integer(shape.a))
    for (int thread = 0; thread < int(kWarpgroupThreads); ++thread)
      for (int pair = 0; pair < pairs; ++pair) {
        float* at = &p.d[row_of(thread, pair)][column_of(thread, pair)];
        load_pair(shape.d, product.lanes[thread], pair, at, at + 1);
      }
  if (is_integer(shape.a))
    add_integers(p, shape.n, shape.k);
  else
    add_products(Instruction::wgmma, number_of(shape.a), number_of(shape.b),
                 shape.d == Element::f16, kRows, shape.n, shape.k, p.a[0], kMostK, p.b[0],
                 kMostColumns, p.d[0], kMostColumns);
  for (int thread = 0; thread < int(kWarpgroupThreads); ++thread)
    for (int pair = 0; pair < pairs; ++pair) {
      const float* at = &p.d[row_of(thread, pair)][column_of(thread, pair)];
      store_pair(shape, product.lanes[thread], pair, at[0], at[1], product.accumulate);
    }
}

// ---- now or later -------------------------------------------------------------------------------

// A thread that is this far ahead of what has been carried out waits.
constexpr uint32_t kMostAhead = 16;

bool is_complete(const Warpgroup& group) {
  return !group.products.empty() && group.products.front()->arrived == kWarpgroupThreads;
}

// Does a variable of the thread still live? A stack that has shrunk holds something else.
bool lives(const Block& b, unsigned thread, const void* variable) {
  if (b.state[thread] == State::kExited) return false;
  if (b.state[thread] == State::kRunning) return true;
  const char* low = b.fiber[thread]->low;
  return variable < low || variable >= lowest_used(b.context[thread]);
}

bool accumulators_live(const Block& b, unsigned first, const Product& product) {
  for (unsigned i = 0; i < kWarpgroupThreads; ++i)
    if (!lives(b, first + i, accumulator(product.lanes[i], 0))) return false;
  return true;
}

// Registers of A that were written after the wgmma was asked for.
void read_changed_registers(const Block& b, unsigned first, Product& product) {
  for (unsigned i = 0; i < kWarpgroupThreads; ++i)
    if (product.lanes[i].changed)
      for (ptx::ARegister& a : product.lanes[i].a)
        if (a.place && lives(b, first + i, a.place)) memcpy(&a.value, a.place, sizeof a.value);
}

void carry_out(Block& b, unsigned number) {
  Warpgroup& group = async_of(b).warpgroups[number];
  const std::unique_ptr<Product> product = std::move(group.products.front());
  group.products.pop_front();
  ++group.done;
  const unsigned first = number * kWarpgroupThreads;
  if (!accumulators_live(b, first, *product)) {
    state.thread = first;
    refuse_instruction("wgmma",
                       "a wgmma ends after its accumulators are gone: nobody waited for it",
                       product->at, cudaErrorLaunchFailure);
  }
  ++b.events;
  read_changed_registers(b, first, *product);
  compute(*product);
  for (const InFlight& tile : product->tiles) observer->lands(tile);
  for (unsigned i = first; i < first + kWarpgroupThreads; ++i)
    if (b.state[i] == State::kWarpgroup && int(group.done - b.waiting[i].number) >= 0) wake(b, i);
}

ThreadProducts& products_of(Block& b, unsigned thread) {
  BlockAsync& async = async_of(b);
  if (async.products.empty()) async.products.resize(kMaxThreads);
  return async.products[thread];
}

Warpgroup& own_warpgroup() {
  return async_of(*state.block).warpgroups[state.thread / kWarpgroupThreads];
}

// The running thread waits until the first `count` products of its warpgroup have been carried out.
void wait_until_done(uint32_t count, Location at) {
  Block& b = *state.block;
  const Warpgroup& group = own_warpgroup();
  if (int(group.done - count) >= 0) return;
  b.waiting[state.thread].number = count;
  state.worker->wait_for_event(State::kWarpgroup, at);
}

// Tells the observer which pieces of shared memory the product reads.
void watch_tiles(Product& product, const void* pc) {
  const auto add = [&](uint64_t descriptor, Element element, int rows, bool transposed) {
    const Tile tile(descriptor);
    InFlight flight;
    flight.owner = state.block;
    flight.tensor = true;
    flight.swizzle = tile.swizzle;
    flight.what = "wgmma";
    flight.pc = pc;
    for_each_piece(tile, element, rows, product.shape.k, transposed,
                   [&](int, int, const char* piece) {
                     flight.pieces.push_back(static_cast<unsigned>(piece - state.shared));
                   });
    observer->takes_off(flight);
    product.tiles.push_back(std::move(flight));
  };
  if (!product.a_in_registers)
    add(product.a_tile, product.shape.a, kRows, product.transposed_a != 0);
  add(product.b_tile, product.shape.b, product.shape.n, product.transposed_b != 0);
}

// All threads must bring the same.
void check_same(const Product& product, const ptx::Wgmma& shape, bool a_in_registers,
                uint64_t a_tile, uint64_t b_tile, bool accumulate, Location at) {
  const char* what = nullptr;
  const ptx::Wgmma& first = product.shape;
  if (at.line != product.at.line || strcmp(at.file, product.at.file) != 0 || shape.n != first.n ||
      shape.d != first.d || shape.a != first.a || shape.b != first.b ||
      a_in_registers != product.a_in_registers)
    what = "another wgmma";
  else if ((!a_in_registers && a_tile != product.a_tile) || b_tile != product.b_tile)
    what = "other descriptors";
  else if (accumulate != product.accumulate)
    what = "another predicate";
  if (what)
    refuse_instruction("divergent",
                       std::string("wgmma: threads of one warpgroup bring ") + what +
                           ", the first ones at " + product.at.file + ":" +
                           std::to_string(product.at.line) + ", this one",
                       at, cudaErrorLaunchFailure);
}

// Every warp must be whole, and the warpgroup's first warp a multiple of four.
void check_warpgroup(const char* instruction, Location at) {
  Block& b = *state.block;
  const unsigned first = state.thread / kWarpgroupThreads * kWarpgroupThreads;
  bool whole = first + kWarpgroupThreads <= b.thread_count;
  if (whole && memchr(&b.state[first], static_cast<int>(State::kExited), kWarpgroupThreads)) {
    // A thread that has exited without waiting may still have asked for this one.
    const uint32_t asked = products_of(b, state.thread).asked;
    for (unsigned i = first; whole && i < first + kWarpgroupThreads; ++i)
      whole = b.state[i] != State::kExited || products_of(b, i).asked > asked;
  }
  if (!whole)
    refuse_instruction("divergent",
                       std::string(instruction) + " in a warpgroup of which threads are missing",
                       at, cudaErrorLaunchFailure);
}

void check_shape(const ptx::Wgmma& shape, Location at) {
  const int registers = shape.d == Element::f16 ? shape.n / 4 : shape.n / 2;
  const int k = int(256 / bits_of(shape.a));
  if (shape.n % 8 != 0 || shape.n < 8 || shape.n > kMostColumns || shape.k != k ||
      shape.d_registers != registers)
    refuse_instruction("wgmma", "wgmma of a shape that does not exist", at,
                       cudaErrorIllegalInstruction);
}

}  // namespace

void registers_change() {
  const Warpgroup& group = own_warpgroup();
  const uint32_t own = products_of(*state.block, state.thread).asked - group.done;
  for (uint32_t i = 0; i < own; ++i)
    group.products[i]->lanes[state.thread % kWarpgroupThreads].changed = true;
}

bool complete_one_product(Block& b) {
  for (unsigned number = 0; number < b.thread_count / kWarpgroupThreads; ++number) {
    if (!is_complete(b.async->warpgroups[number])) continue;
    carry_out(b, number);
    return true;
  }
  return false;
}

namespace ptx {

void wgmma(const Wgmma& shape, void* const* d, const ARegister* a, uint64_t a_tile, uint64_t b_tile,
           bool accumulate, int scale_a, int scale_b, int transposed_a, int transposed_b,
           Location at) {
  const void* caller = __builtin_return_address(0);
  check_shape(shape, at);
  check_warpgroup("wgmma", at);
  Block& b = *state.block;
  Warpgroup& group = own_warpgroup();
  ThreadProducts& mine = products_of(b, state.thread);
  if (mine.asked - group.done >= kMostAhead) wait_until_done(mine.asked - kMostAhead + 1, at);

  const size_t index = mine.asked - group.done;
  if (index == group.products.size())
    group.products.push_back(std::unique_ptr<Product>(new Product{shape,
                                                                  a != nullptr,
                                                                  accumulate,
                                                                  a_tile,
                                                                  b_tile,
                                                                  scale_a,
                                                                  scale_b,
                                                                  transposed_a,
                                                                  transposed_b,
                                                                  at,
                                                                  0,
                                                                  {},
                                                                  {}}));
  Product& product = *group.products[index];
  check_same(product, shape, a != nullptr, a_tile, b_tile, accumulate, at);
  Product::Lane& lane = product.lanes[state.thread % kWarpgroupThreads];
  lane.d = static_cast<char*>(d[0]);
  bool dense = true;
  for (int i = 0; i < shape.d_registers; ++i) dense &= d[i] == lane.d + 4 * i;
  if (!dense) lane.scattered.assign(d, d + shape.d_registers);
  if (a) memcpy(lane.a, a, sizeof lane.a);
  if (observer) observer->product(mine.asked, {d, size_t(shape.d_registers), a}, caller);
  ++mine.asked;
  if (++product.arrived < kWarpgroupThreads) return;

  ++b.events;
  if (observer) {
    observer->count(Beside::kTensor, 2ull * kRows * unsigned(shape.n) * unsigned(shape.k));
    watch_tiles(product, caller);
  }
  if (!at_once()) return;
  while (is_complete(group)) carry_out(b, state.thread / kWarpgroupThreads);
}

void wgmma_fence(Location) {
  if (observer) observer->product_fence();
}

void wgmma_commit_group(Location at) {
  ThreadProducts& mine = products_of(*state.block, state.thread);
  uint32_t& end = mine.asked_before[mine.groups % ThreadProducts::kGroups];
  if (mine.groups >= ThreadProducts::kGroups) wait_until_done(end, at);
  end = mine.asked;
  ++mine.groups;
}

void wgmma_wait_group(unsigned pending, Location at) {
  const ThreadProducts& mine = products_of(*state.block, state.thread);
  if (mine.groups <= pending) return;
  const uint32_t count =
      pending >= ThreadProducts::kGroups
          ? 0
          : mine.asked_before[(mine.groups - pending - 1) % ThreadProducts::kGroups];
  wait_until_done(count, at);
  if (observer) observer->products_done(count);
}

}  // namespace ptx
}  // namespace simt
