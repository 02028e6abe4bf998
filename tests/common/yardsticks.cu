// common/bench/yardsticks.cuh and common/bench/library_transform.cuh: the rows that chapters
// compare with.
#include "common/bench/yardsticks.cuh"

#include <vector>

#include "common/bench/harness.cuh"
#include "common/bench/library_transform.cuh"
#include "common/kit/random.cuh"
#include "tests/catch.hpp"

namespace {

// out[i] = -in[i]; `out` has some elements more than `in`, or fewer.
struct Negation {
  std::int64_t n;
  bench::GuardedArray<float> in, out;

  Negation(std::int64_t n, std::int64_t out_size)
      : n(n), in("in", bench::Role::input, n), out("out", bench::Role::output, out_size) {
    kit::fill_random(in.pristine(), n, 5);
  }
  template <class Visit>
  void each_array(Visit visit) {
    visit(in);
    visit(out);
  }
  bench::Comparison check() const {
    std::vector<float> expected(n);
    for (std::int64_t i = 0; i < n; ++i) expected[i] = -in.pristine()[i];
    return bench::compare(out.fetched(), expected.data(), n, 0.0);
  }
};

struct Negate {
  __host__ __device__ float operator()(float x) const { return -x; }
};

bench::Verdict verdict_of(const bench::Variant<Negation>& variant, std::int64_t n,
                          std::int64_t out_size) {
  const bench::DeviceFacts device = bench::query_device();
  const bench::WorkStream stream(device);
  Negation problem(n, out_size);
  return bench::verify(problem, variant, device, stream.get());
}

}  // namespace

TEST_CASE("the copy yardstick copies, counts its bytes and is checked") {
  auto copy = bench::device_copy(&Negation::in, &Negation::out);
  CHECK(copy.kind == bench::Kind::yardstick);
  CHECK(copy.bytes(Negation(100, 100)) == 800);
  CHECK(copy.bytes(Negation(100, 40)) == 320);
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  CHECK(verdict_of(copy, 1000, 1000).status == bench::Status::right);
  CHECK(verdict_of(copy, 1000, 500).status == bench::Status::right);
  CHECK(verdict_of(copy, 500, 1000).status == bench::Status::right);
  copy.run = [](Negation&, cudaStream_t) {};
  CHECK(verdict_of(copy, 1000, 1000).status == bench::Status::wrong);
}

TEST_CASE("the library's transform is a peer, or says what it lacks") {
  const auto peer = bench::transform_peer<Negation>([](Negation& p, auto apply) {
    apply(p.out.device_data(), p.n, Negate{}, p.in.device_data());
  });
  CHECK(peer.kind == bench::Kind::peer);
  const auto verdict = verdict_of(peer, 1000, 1000);
  if (verdict.status == bench::Status::skipped) {
    CHECK_FALSE(verdict.reason.empty());
    SKIP_TEST(verdict.reason);
  }
  CHECK(verdict.status == bench::Status::right);
}
