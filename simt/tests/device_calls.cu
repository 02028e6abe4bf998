// What device code calls of the C library: memcpy, memmove and memset, whose reads and writes the
// checks and counters see; malloc, free, new and delete, which use the device's heap.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "simt/include/simt/profile.h"
#include "simt/tests/device_array.hpp"
#include "simt/tests/marked_line.hpp"
#include "tests/catch.hpp"

namespace {

void silent() {
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  for (const simt::CheckReport& report : simt::check_reports()) FAIL_CHECK(report.message);
}

// The launch ends with this one report.
void named(const std::string& check, int line, const std::string& text = "") {
  cudaDeviceSynchronize();
  const std::vector<simt::CheckReport> reports = simt::check_reports();
  REQUIRE(reports.size() == 1);
  CAPTURE(reports[0].message);
  CHECK(reports[0].check == check);
  if (line != 0) CHECK(static_cast<int>(reports[0].line) == line);
  CHECK(reports[0].message.find(text) != std::string::npos);
}

template <class T>
T* device(size_t count) {
  T* pointer = nullptr;
  REQUIRE(cudaMalloc(&pointer, count * sizeof(T)) == cudaSuccess);
  return pointer;
}

struct Item {
  int v[8];
};

// ---- memcpy, memmove, memset

__global__ void copies(Item* to, const Item* from) {
  const unsigned i = threadIdx.x;
  switch (i % 4) {
    case 0: memcpy(&to[i], &from[i], sizeof(Item)); break;
    case 1: std::memcpy(&to[i], &from[i], sizeof(Item)); break;
    case 2: __builtin_memcpy(&to[i], &from[i], sizeof(Item)); break;
    default: memmove(to + i, from + i, sizeof(Item));
  }
}
__global__ void fills(Item* to, int n) {
  if (threadIdx.x % 2 == 0)
    memset(&to[threadIdx.x], n, sizeof(Item));
  else
    to[threadIdx.x] = Item{};
}
__global__ void moves_down(int* a, int n) {
  if (threadIdx.x == 0) memmove(a, a + 1, n * sizeof(int));
}
__global__ void through_shared(const Item* from, int* to) {
  __shared__ Item items[32];
  memcpy(&items[threadIdx.x], &from[threadIdx.x], sizeof(Item));
  __syncthreads();
  to[threadIdx.x] = items[31 - threadIdx.x].v[7];
}
__global__ void bits(const float* from, unsigned* to) {
  unsigned word;
  float value = from[threadIdx.x];
  memcpy(&word, &value, sizeof word);
  memcpy(&to[threadIdx.x], &word, sizeof word);
}
__global__ void read_items(const Item* a, int* out) { out[threadIdx.x] = a[threadIdx.x].v[3]; }

__global__ void copies_too_much(Item* to, const Item* from) {
  memcpy(&to[threadIdx.x], &from[threadIdx.x], sizeof(Item) + 4 * (threadIdx.x / 31));  // here: end
}
__global__ void copies_unwritten(Item* to, const Item* from) {
  memcpy(&to[threadIdx.x], &from[threadIdx.x], sizeof(Item));  // here: unwritten
}
__global__ void copies_into_one(Item* to, const Item* from) {
  memcpy(to, from + threadIdx.x, sizeof(Item));  // here: one for all
}
__global__ void without_a_barrier(const Item* from, int* to) {
  __shared__ Item items[64];
  memcpy(&items[threadIdx.x], &from[threadIdx.x], sizeof(Item));  // here: no barrier
  to[threadIdx.x] = items[63 - threadIdx.x].v[7];
}

// A function of the program with the name of one of C's.
struct Pool {
  int freed = 0;
  __device__ void free(int n) { freed += n; }
  __device__ int twice(int n) {
    free(n);
    free(n);
    return freed;
  }
};
__global__ void own_free(int* out) {
  Pool pool;
  out[threadIdx.x] = pool.twice(3);
}

// ---- the heap

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
};
struct Square : Shape {
  float side;
  __device__ explicit Square(float side) : side(side) {}
  __device__ float area() const override { return side * side; }
};
struct Circle : Shape {
  float r;
  __device__ explicit Circle(float r) : r(r) {}
  __device__ float area() const override { return 3 * r * r; }
};
struct World {
  Shape** shapes;
  int count;
  __device__ World(Shape** shapes, int count) : shapes(shapes), count(count) {}
  __device__ ~World() {
    for (int i = 0; i < count; ++i) delete shapes[i];
    delete[] shapes;
  }
};
__global__ void make(World** world) {
  Shape** shapes = new Shape*[2];
  shapes[0] = new Square(3);
  shapes[1] = new Circle(1);
  *world = new World(shapes, 2);
}
__global__ void use(World* const* world, float* out) {
  float sum = 0;
  for (int i = 0; i < (*world)->count; ++i) sum += (*world)->shapes[i]->area();
  out[threadIdx.x] = sum;
}
__global__ void end(World** world) { delete *world; }

struct Table {  // in front of the body, and where the member is declared
  int* const rows;
  int* columns = new int[4];
  __device__ explicit Table(int n) : rows(new int[n]) {
    for (int i = 0; i < n; ++i) rows[i] = columns[i] = i;
  }
  __device__ ~Table() {
    delete[] rows;
    delete[] columns;
  }
};
__global__ void make_table(Table** table) { *table = new Table(4); }
__global__ void use_table(const Table* const* table, int* out) {
  out[threadIdx.x] = (*table)->rows[3] + (*table)->columns[2];
}
__global__ void end_table(Table** table) { delete *table; }

__global__ void own_lists(int* out) {
  const int n = static_cast<int>(threadIdx.x) + 1;
  int* list = static_cast<int*>(malloc(n * sizeof(int)));
  for (int i = 0; i < n; ++i) list[i] = i;
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += list[i];
  free(list);
  int* other = new (std::nothrow) int[4]{1, 2, 3, 4};
  out[threadIdx.x] = sum + other[3];
  delete[] other;
}
struct alignas(64) Wide {
  float v[16];
};
__global__ void aligned(int* out) {
  auto* wide = new Wide;
  out[threadIdx.x] = static_cast<int>(reinterpret_cast<size_t>(wide) % 64);
  delete wide;
}
__global__ void until_null(int* count) {
  while (malloc(1 << 20) != nullptr) ++*count;
}
__global__ void take_and_give(int* failures) {
  for (int i = 0; i < 10; ++i) {
    void* p = malloc(1 << 16);
    if (p == nullptr) ++*failures;
    free(p);
  }
}
__host__ __device__ int on_both_sides() {
  int* p = new int(5);
  const int value = *p;
  delete p;
  return value;
}
__global__ void both(int* out) { out[threadIdx.x] = on_both_sides(); }

__global__ void past_the_end(int* out) {
  int* list = new int[4];
  for (int i = 0; i <= 4; ++i) list[i] = i;  // here: past the end of new
  *out = list[0];
}
__global__ void unwritten(int* out) {
  const int* list = static_cast<int*>(malloc(16));  // here: made
  *out = list[1];                                   // here: unwritten malloc
}
__global__ void after_free(int* out) {
  int* list = new int[4]();
  delete[] list;
  *out = list[1];  // here: freed
}
__global__ void twice() {
  int* const list = new int[4];
  int* volatile again = list;  // the compiler would see the mistake, and warn
  delete[] list;
  delete[] again;  // here: once more
}
__global__ void of_the_host(int* p) { free(p); }  // here: no object
__global__ void shared_list(int* out) {
  __shared__ int* list;
  if (threadIdx.x == 0) list = new int[32];
  __syncthreads();
  list[threadIdx.x / 2] = static_cast<int>(threadIdx.x);  // here: race in the heap
  __syncthreads();
  out[threadIdx.x] = list[0];
  __syncthreads();
  if (threadIdx.x == 0) delete[] list;
}

}  // namespace

TEST_CASE("memcpy and its kin in a kernel: right programs") {
  Item *from = device<Item>(32), *to = device<Item>(32), *zeros = device<Item>(32);
  std::vector<Item> items(32);
  for (int i = 0; i < 32; ++i)
    for (int k = 0; k < 8; ++k) items[i].v[k] = 100 * i + k;
  REQUIRE(cudaMemcpy(from, items.data(), 32 * sizeof(Item), cudaMemcpyHostToDevice) == cudaSuccess);
  DeviceArray<int> out(32);
  simt::profile_reset();
  copies<<<1, 32>>>(to, from);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  const simt::KernelProfile profile = simt::profile("copies");
  simt::profile_stop();
  CHECK(profile.global.store_bytes == 32 * sizeof(Item));
  CHECK(profile.global.load_bytes == 32 * sizeof(Item));
  read_items<<<1, 32>>>(to, out.get());
  std::vector<int> values = out.values();
  for (int i = 0; i < 32; ++i) CHECK(values[i] == 100 * i + 3);
  fills<<<1, 32>>>(zeros, 0);
  read_items<<<1, 32>>>(zeros, out.get());
  CHECK(out.values() == std::vector<int>(32, 0));
  through_shared<<<1, 32>>>(from, out.get());
  values = out.values();
  for (int i = 0; i < 32; ++i) CHECK(values[i] == 100 * (31 - i) + 7);

  DeviceArray<int> line(8);
  for (int i = 0; i < 8; ++i) line[i] = i;
  moves_down<<<1, 32>>>(line.get(), 7);
  CHECK(line.values() == std::vector<int>{1, 2, 3, 4, 5, 6, 7, 7});

  DeviceArray<float> floats(32, 1.0f);
  unsigned* words = device<unsigned>(32);
  bits<<<1, 32>>>(floats.get(), words);
  unsigned word = 0;
  REQUIRE(cudaMemcpy(&word, words + 5, 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(word == 0x3f800000);

  own_free<<<1, 32>>>(out.get());
  CHECK(out.values() == std::vector<int>(32, 6));
  silent();
}

TEST_CASE("memcpy in a kernel: mistakes are named") {
  Item *from = device<Item>(32), *to = device<Item>(32);
  DeviceArray<int> out(64);
  SECTION("unwritten") {
    copies_unwritten<<<1, 32>>>(to, from);
    named("uninitialized", tests::line_of("unwritten"));
  }
  REQUIRE(cudaMemset(from, 0, 32 * sizeof(Item)) == cudaSuccess);
  SECTION("past the end") {
    copies_too_much<<<1, 32>>>(to, from);
    named("out-of-bounds", tests::line_of("end"), "0 bytes past the end of 1024 bytes");
    REQUIRE(cudaDeviceReset() == cudaSuccess);
  }
  SECTION("race") {
    std::vector<Item> items(32);
    for (int i = 0; i < 32; ++i) items[i].v[0] = i;
    REQUIRE(cudaMemcpy(from, items.data(), 32 * sizeof(Item), cudaMemcpyHostToDevice) ==
            cudaSuccess);
    copies_into_one<<<1, 32>>>(to, from);
    named("race", tests::line_of("one for all"));
  }
  SECTION("shared memory") {
    Item* many = device<Item>(64);
    REQUIRE(cudaMemset(many, 0, 64 * sizeof(Item)) == cudaSuccess);
    without_a_barrier<<<1, 64>>>(many, out.get());
    cudaDeviceSynchronize();
    bool found = false;
    for (const simt::CheckReport& report : simt::check_reports()) {
      found |=
          report.check == "race" && static_cast<int>(report.line) == tests::line_of("no barrier");
    }
    CHECK(found);
  }
}

TEST_CASE("the device's heap: objects that live from launch to launch") {
  World** world = device<World*>(1);
  DeviceArray<float> out(32);
  make<<<1, 1>>>(world);
  use<<<1, 32>>>(world, out.get());
  CHECK(out.values() == std::vector<float>(32, 12.0f));
  end<<<1, 1>>>(world);
  silent();
  Table** table = device<Table*>(1);
  DeviceArray<int> sums(32);
  make_table<<<1, 1>>>(table);
  use_table<<<1, 32>>>(table, sums.get());
  CHECK(sums.values() == std::vector<int>(32, 5));
  end_table<<<1, 1>>>(table);
  silent();
}

TEST_CASE("the device's heap: lists of every thread") {
  DeviceArray<int> out(32);
  own_lists<<<1, 32>>>(out.get());
  const std::vector<int> values = out.values();
  for (int i = 0; i < 32; ++i) CHECK(values[i] == i * (i + 1) / 2 + 4);
  aligned<<<1, 32>>>(out.get());
  CHECK(out.values() == std::vector<int>(32, 0));
  both<<<1, 32>>>(out.get());
  CHECK(out.values() == std::vector<int>(32, 5));
  CHECK(on_both_sides() == 5);
  silent();
}

TEST_CASE("the device's heap: has an end, and freed memory is there again") {
  DeviceArray<int> count(1);
  take_and_give<<<4, 32>>>(count.get());
  CHECK(count.values()[0] == 0);
  simt::check_reports();
  until_null<<<1, 1>>>(count.get());
  CHECK(count.values()[0] == 7);  // of 8 MiB, less what the gaps between objects take
  silent();
}

TEST_CASE("the device's heap: mistakes are named") {
  DeviceArray<int> out(32);
  SECTION("past the end") {
    past_the_end<<<1, 1>>>(out.get());
    named("out-of-bounds", tests::line_of("past the end of new"),
          "0 bytes past the end of 16 bytes");
  }
  SECTION("unwritten") {
    unwritten<<<1, 1>>>(out.get());
    named("uninitialized", tests::line_of("unwritten malloc"), "byte 4 of 16 bytes allocated at");
  }
  SECTION("freed") {
    after_free<<<1, 1>>>(out.get());
    named("use-after-free", tests::line_of("freed"), "after free or delete");
  }
  SECTION("freed twice") {
    twice<<<1, 1>>>();
    named("invalid-free", tests::line_of("once more"));
  }
  SECTION("of another kind") {
    of_the_host<<<1, 1>>>(out.get());
    named("invalid-free", tests::line_of("no object"), "not in the device's heap");
  }
  SECTION("race") {
    shared_list<<<1, 32>>>(out.get());
    named("race", tests::line_of("race in the heap"));
  }
  cudaDeviceReset();
}
