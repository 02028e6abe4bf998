// mbarriers: 64 bits in shared memory that count arrivals and bytes. A phase is complete when all
// arrivals and all bytes promised for it have come; then the next one begins.

#include <cstring>

#include "async.h"
#include "device.h"
#include "simt/ptx_async.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {
namespace {

// The 64 bits. What a GPU keeps in them is not documented; programs only hand them on as tokens.
struct Word {
  uint64_t pending : 20;   // arrivals that this phase still lacks
  uint64_t expected : 20;  // arrivals of the next phase
  int64_t bytes : 22;      // promised and not yet delivered
  uint64_t valid : 1;      // mbarrier.init was here
  uint64_t phase : 1;      // parity of the phase that is not complete
};
static_assert(sizeof(Word) == 8, "an mbarrier is 64 bits");

constexpr int64_t kMostBytes = (1 << 20) - 1;
constexpr unsigned kMostArrivals = (1 << 20) - 1;

std::string name_of(const Block& block, size_t offset) {
  const SharedName variable = shared_variable_at(block, offset);
  if (variable.name.empty()) return "the mbarrier at shared offset " + std::to_string(offset);
  const std::string element = variable.element_at(offset, 8);
  return std::string(element.rfind("byte ", 0) == 0 ? "the mbarrier at " : "the mbarrier ") +
         element;
}
std::string name_of(const SharedPlace& place) { return name_of(*place.block, place.offset); }

struct Found {
  SharedPlace place;
  Word* word;
};

Found find_barrier(const void* address, const char* instruction, Location at) {
  const SharedPlace place = shared_place(address, 8, instruction, at);
  auto* word = static_cast<Word*>(const_cast<void*>(address));
  if (!word->valid)
    refuse_instruction(
        "mbarrier",
        std::string(instruction) + " of " + name_of(place) + ", which no mbarrier.init has made",
        at, cudaErrorLaunchFailure);
  return {place, word};
}

// The same, by the running thread.
Found barrier_at(const void* address, const char* instruction, Location at) {
  const Found found = find_barrier(address, instruction, at);
  check_mbarrier_seen(found.place, false, instruction, at);
  return found;
}

void complete_if_due(const Found& b) {
  ++b.place.block->events;
  if (b.word->pending != 0 || b.word->bytes != 0) return;
  b.word->phase ^= 1;
  b.word->pending = b.word->expected;
  pass_on(order_key(b.place), completed_key(b.place));
  Block& owner = *b.place.block;
  BlockAsync& async = async_of(owner);
  if (observer) {
    Arrivals& arrivals = async.arrivals[b.place.offset];
    ++arrivals.phase;
    arrivals.waited = false;
  }
  for (unsigned i = 0; async.mbarrier_waiters != 0 && i < owner.thread_count; ++i) {
    if (owner.state[i] != State::kMbarrier || owner.waiting[i].object != b.word) continue;
    wake(owner, i);
    --async.mbarrier_waiters;
  }
}

void expect(const Found& b, int64_t bytes, Location at) {
  if (b.word->bytes + bytes > kMostBytes)
    refuse_instruction("mbarrier",
                       name_of(b.place) + " is promised " + std::to_string(b.word->bytes + bytes) +
                           " bytes; the most is 1048575",
                       at, cudaErrorLaunchFailure);
  b.word->bytes += bytes;
}

bool is_complete(const Found& b, unsigned parity) { return b.word->phase != (parity & 1); }

void count_wait(bool found) {
  if (!observer) return;
  observer->count(Beside::kStageWait, 1);
  if (found) observer->count(Beside::kStageWaitFound, 1);
}

// The running thread has seen that the last phase is complete.
void waited_for(const Found& b) {
  receive(completed_key(b.place));
  if (observer) async_of(*b.place.block).arrivals[b.place.offset].waited = true;
}

// An arrival of the running thread. pc: of the call that returns there.
void note_arrival(const Found& b, const void* pc) {
  if (b.place.block != state.block) return;
  Arrivals& arrivals = async_of(*b.place.block).arrivals[b.place.offset];
  if (arrivals.pc != nullptr) return;
  if (arrivals.of.empty()) arrivals.of.resize(state.block->thread_count);
  Arrivals::Last& last = arrivals.of[state.thread];
  if (last.phase == arrivals.phase || !arrivals.waited) {
    arrivals.thread = state.thread;
    arrivals.pc = pc;
    arrivals.pc_before = last.phase == arrivals.phase ? last.pc : nullptr;
  }
  last = {arrivals.phase, pc};
}

bool try_wait(const void* address, unsigned parity, Location at) {
  const Found b = barrier_at(address, "mbarrier.try_wait", at);
  Block& own = *state.block;
  if (b.place.block != &own)
    refuse_instruction("mbarrier", "mbarrier.try_wait of another block's mbarrier", at,
                       cudaErrorLaunchFailure);
  count_wait(is_complete(b, parity));
  if (!is_complete(b, parity)) {
    Waiting& w = own.waiting[state.thread];
    w.object = address;
    w.number = parity & 1;
    BlockAsync& async = async_of(own);
    async.shared = state.shared;
    ++async.mbarrier_waiters;
    state.worker->wait_for_event(State::kMbarrier, at);
  }
  waited_for(b);
  return true;
}

bool test_wait(const void* address, unsigned parity, Location at) {
  const Found b = barrier_at(address, "mbarrier.test_wait", at);
  if (!is_complete(b, parity)) {
    give_way();
    return false;
  }
  waited_for(b);
  return true;
}

}  // namespace

std::string describe_mbarrier(const Block& block, const void* address) {
  const auto& word = *static_cast<const Word*>(address);
  const char* shared = block.async->shared;
  std::string text = name_of(block, static_cast<const char*>(address) - shared) +
                     ", whose phase of parity " + std::to_string(word.phase) + " lacks " +
                     std::to_string(word.pending) + " of " + std::to_string(word.expected) +
                     (word.expected == 1 ? " arrival" : " arrivals");
  if (word.bytes > 0) text += " and " + std::to_string(word.bytes) + " bytes";
  if (word.bytes < 0)
    text += "; " + std::to_string(-word.bytes) + " bytes more came than expect_tx promised";
  return text;
}

std::string describe_unexpected_arrivals(const Block& block) {
  std::string text;
  if (!block.async || !observer) return text;
  for (const auto& [offset, arrivals] : block.async->arrivals) {
    if (arrivals.pc == nullptr) continue;
    const uint3 t = block.thread_index[arrivals.thread];
    text += "\n  thread (" + std::to_string(t.x) + "," + std::to_string(t.y) + "," +
            std::to_string(t.z) + ") arrived at " + name_of(block, offset);
    text +=
        arrivals.pc_before != nullptr
            ? " twice in one phase: at " + observer->place_of_call(arrivals.pc_before) + " and at "
            : " before anybody had waited for its last phase: at ";
    text += observer->place_of_call(arrivals.pc);
  }
  return text;
}

void check_mbarrier_seen(const SharedPlace& mbarrier, bool by_copy, const char* instruction,
                         Location at) {
  if (!observer) return;
  const char* why = observer->mbarrier_unseen(*mbarrier.block, mbarrier.offset, by_copy);
  if (!why) return;
  report({"mbarrier-init",
          describe_current_thread() + ": " + instruction + " at " + at.file + ":" +
              std::to_string(at.line) + " with " + name_of(mbarrier) +
              ", whose mbarrier.init it may not see: " + why,
          0, at});
}

void complete_bytes(void* address, unsigned bytes, const char* instruction, Location at) {
  const Found b = find_barrier(address, instruction, at);
  if (int64_t{b.word->bytes} - int64_t{bytes} < -kMostBytes)
    refuse_instruction("mbarrier", name_of(b.place) + " gets bytes that nobody promised", at,
                       cudaErrorLaunchFailure);
  b.word->bytes -= bytes;
  complete_if_due(b);
}

// cp.async.mbarrier.arrive without .noinc: the arrival to come is one more than the phase expects.
void mbarrier_expect_arrival(void* address, Location at) {
  ++barrier_at(address, "cp.async.mbarrier.arrive", at).word->pending;
}

namespace ptx {

void mbarrier_init(void* barrier, unsigned count, Location at) {
  const SharedPlace place = shared_place(barrier, 8, "mbarrier.init", at);
  if (count == 0 || count > kMostArrivals)
    refuse_instruction(
        "mbarrier",
        "mbarrier.init of " + name_of(place) + " for " + std::to_string(count) + " arrivals", at,
        cudaErrorLaunchFailure);
  Word word{};
  word.pending = word.expected = count;
  word.valid = 1;
  *static_cast<Word*>(barrier) = word;
  async_of(*place.block).arrivals.erase(place.offset);
  if (!observer) return;
  observer->copy_wrote(barrier, 8);
  if (place.block == state.block) observer->mbarrier_made(place.offset);
}

void mbarrier_inval(void* barrier) { *static_cast<Word*>(barrier) = Word{}; }

void mbarrier_expect_tx(void* barrier, unsigned bytes, Location at) {
  expect(barrier_at(barrier, "mbarrier.expect_tx", at), bytes, at);
}

void mbarrier_complete_tx(void* barrier, unsigned bytes, Location at) {
  complete_bytes(barrier, bytes, "mbarrier.complete_tx", at);
}

uint64_t mbarrier_arrive(void* barrier, unsigned count, unsigned expected_bytes, bool drop,
                         Location at) {
  const void* caller = __builtin_return_address(0);
  const Found b = barrier_at(barrier, "mbarrier.arrive", at);
  if (observer && b.place.block != state.block) observer->remote_access(*b.place.block, caller);
  uint64_t before;
  memcpy(&before, static_cast<const void*>(b.word), sizeof before);
  expect(b, expected_bytes, at);
  publish(order_key(b.place));
  if (count > b.word->pending)
    refuse_instruction("mbarrier",
                       name_of(b.place) + " gets more arrivals than the " +
                           std::to_string(b.word->expected) + " of a phase",
                       at, cudaErrorLaunchFailure, describe_unexpected_arrivals(*b.place.block));
  if (observer) note_arrival(b, caller);
  b.word->pending -= count;
  if (drop) b.word->expected -= count;
  complete_if_due(b);
  return before;
}

bool mbarrier_test_wait(const void* barrier, uint64_t token, Location at) {
  return test_wait(barrier, static_cast<unsigned>(token >> 63), at);
}
bool mbarrier_test_wait_parity(const void* barrier, unsigned parity, Location at) {
  return test_wait(barrier, parity, at);
}
bool mbarrier_try_wait(const void* barrier, uint64_t token, Location at) {
  return try_wait(barrier, static_cast<unsigned>(token >> 63), at);
}
bool mbarrier_try_wait_parity(const void* barrier, unsigned parity, Location at) {
  return try_wait(barrier, parity, at);
}
unsigned mbarrier_pending_count(uint64_t token) {
  Word word;
  memcpy(static_cast<void*>(&word), &token, sizeof word);
  return word.pending;
}

void fence_mbarrier_init() {
  async_of(*state.block).fenced_mbarriers[state.thread] = true;
  if (observer) observer->mbarrier_fence();
}

}  // namespace ptx
}  // namespace simt
