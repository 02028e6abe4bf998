// common/yardsticks.cuh and common/library_transform.cuh: the rows that chapters compare with.
#include "common/yardsticks.cuh"

#include <vector>

#include "common/harness.cuh"
#include "common/library_transform.cuh"
#include "common/random.cuh"
#include "tests/catch.hpp"

namespace {

// out[i] = -in[i]; `out` has some elements more than `in`, or fewer.
struct Negation {
  std::int64_t n;
  common::GuardedArray<float> in, out;

  Negation(std::int64_t n, std::int64_t out_size)
      : n(n), in("in", common::Role::input, n), out("out", common::Role::output, out_size) {
    common::fill_random(in.pristine(), n, 5);
  }
  template <class Visit>
  void each_array(Visit visit) {
    visit(in);
    visit(out);
  }
  common::Comparison check() const {
    std::vector<float> expected(n);
    for (std::int64_t i = 0; i < n; ++i) expected[i] = -in.pristine()[i];
    return common::compare(out.fetched(), expected.data(), n, 0.0);
  }
};

struct Negate {
  __host__ __device__ float operator()(float x) const { return -x; }
};

common::Verdict verdict_of(const common::Variant<Negation>& variant, std::int64_t n,
                           std::int64_t out_size) {
  const common::DeviceFacts device = common::query_device();
  const common::WorkStream stream(device);
  Negation problem(n, out_size);
  return common::verify(problem, variant, device, stream.get());
}

}  // namespace

TEST_CASE("the copy yardstick copies, counts its bytes and is checked") {
  auto copy = common::device_copy(&Negation::in, &Negation::out);
  CHECK(copy.kind == common::Kind::yardstick);
  CHECK(copy.bytes(Negation(100, 100)) == 800);
  CHECK(copy.bytes(Negation(100, 40)) == 320);
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  CHECK(verdict_of(copy, 1000, 1000).status == common::Status::right);
  CHECK(verdict_of(copy, 1000, 500).status == common::Status::right);
  CHECK(verdict_of(copy, 500, 1000).status == common::Status::right);
  copy.run = [](Negation&, cudaStream_t) -> common::Phases { return {}; };
  CHECK(verdict_of(copy, 1000, 1000).status == common::Status::wrong);
}

TEST_CASE("the library's transform is a peer, or says what it lacks") {
  const auto peer = common::transform_peer<Negation>(
      [](Negation& p, auto apply) { apply(p.out.on_device(), p.n, Negate{}, p.in.on_device()); });
  CHECK(peer.kind == common::Kind::peer);
  const auto verdict = verdict_of(peer, 1000, 1000);
  if (verdict.status == common::Status::skipped) {
    CHECK_FALSE(verdict.reason.empty());
    SKIP_TEST(verdict.reason);
  }
  CHECK(verdict.status == common::Status::right);
}
