// Which accesses race, told by the clocks and the shadow of memory alone, without an engine.
#include "simt/src/check_order.h"

#include <memory>

#include "simt/src/check_races.h"
#include "tests/catch.hpp"

namespace {

using simt::BlockOrder;
using simt::GlobalRaces;
using simt::ReleaseBoard;
using simt::SharedRaces;

std::unique_ptr<BlockOrder> block(uint64_t number, unsigned threads = 64) {
  auto order = std::make_unique<BlockOrder>();
  order->begin(number, threads);
  return order;
}

struct Shared {
  std::unique_ptr<BlockOrder> order = block(0);
  SharedRaces races{4096};
  simt::Rival rival;
  bool read(unsigned thread, uint64_t at = 0, unsigned size = 4) {
    return races.access(at, size, {order.get(), thread, 1, false, false}, &rival);
  }
  bool write(unsigned thread, uint64_t at = 0, unsigned size = 4) {
    return races.access(at, size, {order.get(), thread, 2, true, false}, &rival);
  }
  bool atomic(unsigned thread, uint64_t at = 0) {
    return races.access(at, 4, {order.get(), thread, 3, true, true}, &rival);
  }
};

struct Global {
  static constexpr uint64_t kAddress = 0x1000;
  ReleaseBoard board;
  GlobalRaces races{1 << 16};
  simt::Rival rival;
  uint32_t stamp = 1;
  bool read(BlockOrder& order, unsigned thread, uint64_t at = 0) {
    return races.access(at, 4, stamp, {&order, thread, 1, false, false, kAddress + at}, &rival);
  }
  bool write(BlockOrder& order, unsigned thread, uint64_t at = 0) {
    return races.access(at, 4, stamp, {&order, thread, 2, true, false, kAddress + at}, &rival);
  }
  // All that comes before an atomic is carried out.
  bool atomic(BlockOrder& order, unsigned thread, uint64_t at = 0) {
    order.observe(kAddress + at, board);
    const simt::Accessor now{&order, thread, 3, true, true, kAddress + at};
    const bool found = races.access(at, 4, stamp, now, &rival);
    order.publish(thread, kAddress + at, board);
    return found;
  }
  // A read of a flag, and a fence.
  void acquire(BlockOrder& order, uint64_t flag, unsigned thread = 0) {
    order.observe(flag, board);
    order.fence(thread);
  }
};

}  // namespace

TEST_CASE("shared memory: a barrier orders, its absence is a race") {
  Shared memory;
  CHECK_FALSE(memory.write(0));
  CHECK_FALSE(memory.write(0));  // the same thread may
  SECTION("write, read") { CHECK(memory.read(40)); }
  SECTION("write, write") { CHECK(memory.write(40)); }
  SECTION("write, barrier, read, barrier, write") {
    memory.order->barrier();
    CHECK_FALSE(memory.read(40));
    CHECK_FALSE(memory.read(41));
    memory.order->barrier();
    CHECK_FALSE(memory.write(7));
  }
  SECTION("write, barrier, read, write by another") {
    memory.order->barrier();
    CHECK_FALSE(memory.read(40));
    CHECK_FALSE(memory.read(7));
    CHECK(memory.write(7));
  }
  SECTION("other bytes are other memory") {
    CHECK_FALSE(memory.write(40, 4));
    CHECK_FALSE(memory.write(1, 9, 1));
    CHECK_FALSE(memory.write(2, 10, 1));
    CHECK(memory.read(3, 8, 4));
  }
  SECTION("the next block starts clean") {
    memory.races.begin_block(memory.order->newest_clock());
    memory.order->begin(1, 64);
    CHECK_FALSE(memory.read(40));
  }
}

TEST_CASE("shared memory: atomics among themselves do not race, with others they do") {
  Shared memory;
  CHECK_FALSE(memory.atomic(0));
  CHECK_FALSE(memory.atomic(40));
  CHECK(memory.read(41));
}

TEST_CASE("shared memory: a warp orders its lanes only by __syncwarp and collectives") {
  Shared memory;
  CHECK_FALSE(memory.write(0));
  SECTION("nothing between") { CHECK(memory.read(1)); }
  SECTION("the whole warp") {
    memory.order->warp_sync(0, ~0u);
    CHECK_FALSE(memory.read(1));
    CHECK(memory.read(33));  // another warp did not take part
  }
  SECTION("a part of the warp") {
    memory.order->warp_sync(0, 0xffff);
    CHECK_FALSE(memory.read(1));
    CHECK(memory.read(20));
  }
  SECTION("a chain of parts") {
    memory.order->warp_sync(0, 0x3);
    CHECK(memory.order->ordered(1, 0, 1));
    CHECK_FALSE(memory.order->ordered(2, 0, 1));
    memory.order->warp_sync(0, 0x6);
    CHECK_FALSE(memory.read(2));
    CHECK(memory.read(3));
  }
  SECTION("a part that the writer is not in") {
    memory.order->warp_sync(0, 0xfffffffe);
    CHECK(memory.read(1));
  }
}

TEST_CASE("shared memory survives clocks running out") {
  Shared memory;
  for (int i = 0; i < 10; ++i) {
    memory.races.begin_block(1u << 21);
    memory.order->begin(1, 64);
    CHECK_FALSE(memory.write(0));
    CHECK(memory.read(5));
    memory.order->barrier();
    CHECK_FALSE(memory.read(6));
  }
}

TEST_CASE("global memory: blocks are unordered unless one publishes and the other receives") {
  Global memory;
  auto first = block(0), second = block(1), third = block(2);
  const uint64_t flag = 0x9999;
  CHECK_FALSE(memory.write(*first, 5));
  SECTION("nothing") { CHECK(memory.read(*second, 0)); }
  SECTION("another launch") {
    memory.stamp = 2;
    CHECK_FALSE(memory.read(*second, 0));
  }
  SECTION("fence, atomic, atomic") {
    first->fence(5);
    first->publish(5, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK_FALSE(memory.read(*second, 0));
    SECTION("what is written after the fence is not published") {
      CHECK_FALSE(memory.write(*first, 5, 64));
      CHECK(memory.read(*second, 0, 64));
    }
    SECTION("nor is another flag") {
      memory.acquire(*third, flag + 4);
      CHECK(memory.read(*third, 0));
    }
  }
  SECTION("no fence") {
    first->publish(5, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK(memory.read(*second, 0));
  }
  SECTION("no fence by the reader") {
    first->fence(5);
    first->publish(5, flag, memory.board);
    SECTION("at all") {
      second->observe(flag, memory.board);
      CHECK(memory.read(*second, 0));
      second->barrier();
      CHECK(memory.read(*second, 0));
      second->fence(3);  // late is better than never
      CHECK_FALSE(memory.read(*second, 0));
    }
    SECTION("but an early one") {
      second->fence(0);
      second->observe(flag, memory.board);
      CHECK(memory.read(*second, 0));
    }
    SECTION("but a release") {
      second->observe(flag, memory.board);
      second->release(0);
      CHECK(memory.read(*second, 0));
    }
    SECTION("for the access is an acquire") {
      second->observe(flag, memory.board);
      second->acquire();
      CHECK_FALSE(memory.read(*second, 0));
    }
    SECTION("for a barrier needs none") {
      second->receive(flag, memory.board);
      CHECK_FALSE(memory.read(*second, 0));
    }
    SECTION("who hands on what it has only observed") {
      second->fence(0);
      second->observe(flag, memory.board);
      second->publish(0, flag + 8, memory.board);
      memory.acquire(*third, flag + 8);
      CHECK(memory.read(*third, 0));
    }
    SECTION("who adds to the flag: what was there goes on to the next") {
      second->fence(0);
      second->observe(flag, memory.board);
      second->publish(0, flag, memory.board);
      memory.acquire(*third, flag);
      CHECK_FALSE(memory.read(*third, 0));
    }
  }
  SECTION("the fence before the write") {
    auto early = block(7);
    early->fence(5);
    CHECK_FALSE(memory.write(*early, 5, 128));
    early->publish(5, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK(memory.read(*second, 0, 128));
  }
  SECTION("another thread of the block publishes after a barrier") {
    first->barrier();
    first->fence(0);
    first->publish(0, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK_FALSE(memory.read(*second, 0));
  }
  SECTION("another thread of the block publishes without a barrier") {
    first->fence(0);
    first->publish(0, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK(memory.read(*second, 0));
  }
  SECTION("every thread fences, a barrier, one thread publishes") {
    first->fence(5);
    first->barrier();
    first->publish(0, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK_FALSE(memory.read(*second, 0));
  }
  SECTION("another thread fences, a barrier, one thread publishes") {
    first->fence(6);
    first->fence(5, simt::Scope::kBlock);  // not as far
    first->barrier();
    first->publish(6, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK(memory.read(*second, 0));
  }
  SECTION("a warp meets, one of it fences, a barrier, one thread publishes") {
    for (const uint32_t lanes : {~0u, 0xF0u}) {
      auto one = block(7), other = block(8);
      const uint64_t at = 128 + lanes % 256;
      CHECK_FALSE(memory.write(*one, 5, at));
      one->warp_sync(0, lanes);
      one->fence(6);
      one->barrier();
      one->publish(0, flag, memory.board);
      memory.acquire(*other, flag);
      CHECK_FALSE(memory.read(*other, 0, at));
    }
  }
  SECTION("a fence between two barriers") {
    first->barrier();
    first->fence(6);
    first->barrier();
    first->publish(0, flag, memory.board);
    memory.acquire(*second, flag);
    CHECK_FALSE(memory.read(*second, 0));
  }
  SECTION("handed on by a third block") {
    first->fence(5);
    first->publish(5, flag, memory.board);
    memory.acquire(*third, flag, 1);
    third->publish(1, flag + 8, memory.board);
    memory.acquire(*second, flag + 8);
    CHECK_FALSE(memory.read(*second, 0));
  }
}

TEST_CASE("global memory: a lane's fence publishes what its warp did before it met") {
  Global memory;
  auto order = block(0), other = block(1);
  const uint64_t flag = 0x9999;
  CHECK_FALSE(memory.write(*order, 33));
  const auto hand_over = [&](unsigned thread) {
    order->fence(thread);
    order->publish(thread, flag, memory.board);
    memory.acquire(*order, flag, 0);
    memory.acquire(*other, flag);
  };
  SECTION("all lanes met: to another warp of the block, and to another block") {
    order->warp_sync(1, ~0u);
    CHECK_FALSE(memory.write(*order, 33, 64));
    hand_over(32);
    CHECK_FALSE(memory.read(*order, 0));
    CHECK_FALSE(memory.read(*other, 0));
    CHECK(memory.read(*order, 0, 64));  // was written after they met
  }
  SECTION("all lanes met, in another block alone") {
    order->warp_sync(1, ~0u);
    CHECK_FALSE(memory.write(*order, 33, 64));
    hand_over(32);
    CHECK(memory.read(*other, 0, 64));
  }
  SECTION("two lanes met") {
    order->warp_sync(1, 3);
    SECTION("one of them publishes") {
      hand_over(32);
      CHECK_FALSE(memory.read(*order, 0));
      CHECK_FALSE(memory.read(*other, 0));
    }
    SECTION("a third lane publishes") {
      hand_over(34);
      CHECK(memory.read(*order, 0));
    }
    SECTION("a third lane publishes, another block reads") {
      hand_over(34);
      CHECK(memory.read(*other, 0));
    }
  }
  SECTION("they meet after the fence") {
    order->fence(32);
    order->warp_sync(1, ~0u);
    order->publish(32, flag, memory.board);
    memory.acquire(*order, flag, 0);
    CHECK(memory.read(*order, 0));
  }
  SECTION("a fence of the block's scope is not for another block") {
    order->warp_sync(1, ~0u);
    order->fence(32, simt::Scope::kBlock);
    order->publish(32, flag, memory.board);
    memory.acquire(*order, flag, 0);
    memory.acquire(*other, flag);
    CHECK_FALSE(memory.read(*order, 0));
  }
  SECTION("a fence of the block's scope, another block reads") {
    order->warp_sync(1, ~0u);
    order->fence(32, simt::Scope::kBlock);
    order->publish(32, flag, memory.board);
    memory.acquire(*other, flag);
    CHECK(memory.read(*other, 0));
  }
}

TEST_CASE("global memory: one ticket counter, many blocks, the last one reads all") {
  Global memory;
  const uint64_t counter = 0x1000;
  for (unsigned i = 0; i < 100; ++i) {
    auto worker = block(i);
    CHECK_FALSE(memory.write(*worker, 0, i * 4));
    worker->fence(0);
    worker->observe(counter, memory.board);
    worker->publish(0, counter, memory.board);
    if (i < 99) continue;
    worker->barrier();
    CHECK(memory.read(*worker, 7, 0));  // nobody has fenced since the ticket was drawn
    worker->fence(5);
    for (unsigned k = 0; k < 100; ++k) CHECK_FALSE(memory.read(*worker, k % 64, k * 4));
  }
}

TEST_CASE("global memory: who has found another block's count may reset it") {
  Global memory;
  auto first = block(0), last = block(1), stranger = block(2);
  last->fence(0);
  first->fence(5);
  // Atomics are noted before they are carried out: here in the other order.
  CHECK_FALSE(memory.atomic(*last, 0));
  CHECK_FALSE(memory.atomic(*first, 5));
  last->observe(Global::kAddress, memory.board);  // without a fence: it is the count itself
  SECTION("the last one") { CHECK_FALSE(memory.write(*last, 0)); }
  SECTION("nobody who has not looked") { CHECK(memory.write(*stranger, 0)); }
  SECTION("no memory beside it") {
    CHECK_FALSE(memory.write(*first, 5, 4));
    CHECK(memory.write(*last, 0, 4));
  }
  SECTION("not over what the other one stored since") {
    CHECK_FALSE(memory.write(*first, 5));
    CHECK(memory.write(*last, 0));
  }
}
