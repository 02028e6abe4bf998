// What happens beside the threads of a running block: copies and products in the background.

#include <algorithm>
#include <cstring>

#include "async.h"
#include "check_async.h"
#include "dwarf_lines.h"
#include "observe.h"
#include "options.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {
namespace {

constexpr unsigned kPiece = 16;

std::string byte_text(uint64_t offset) {
  const SharedName name = shared_variable_at(offset);
  return name.name.empty() ? "offset " + std::to_string(offset) + " of shared memory"
                           : "byte " + std::to_string(offset - name.offset) + " of " + name.name;
}

std::string swizzle_text(unsigned bytes) {
  return bytes == 0 ? "no swizzle" : "a swizzle of " + std::to_string(bytes) + " bytes";
}

// Calls f(offset, bytes) for what is in flight; pieces outside of all shared memory are left out.
template <class Function>
void for_each_range(const InFlight& flight, Function f) {
  if (flight.bytes != 0) f(flight.offset, flight.bytes);
  for (unsigned offset : flight.pieces)
    if (offset + kPiece <= kStaticSharedBytes + kDynamicSharedBytes) f(offset, kPiece);
}

}  // namespace

AsyncChecks::AsyncChecks(uint64_t shared_bytes)
    : writers(shared_bytes / 4),
      readers(shared_bytes / kPiece),
      swizzles(shared_bytes / kPiece),
      seen(shared_bytes / kPiece),
      registers(kMaxThreads) {
  begin_block();
}

void AsyncChecks::begin_block() {
  if (flying != 0) {  // the block before was given up
    writers.clear();
    readers.clear();
  }
  flying = 0;
  flights.clear();
  std::fill_n(fenced, kMaxThreads, 0);
  std::fill_n(block_fenced, kMaxThreads, 0);
  products_before = products;
  for (Registers& mine : registers) {
    mine.fence = 0;
    mine.done = products_before;
  }
  any_products = false;
  mbarriers.clear();
  remotes.clear();
}

AsyncChecks& BlockWatch::async() {
  if (!async_) async_ = std::make_unique<AsyncChecks>(shared_bytes());
  return *async_;
}

// ---- in flight --------------------------------------------------------------------------------

std::string BlockWatch::flight_text(uint64_t offset, unsigned bytes, bool writes) const {
  for (const AsyncChecks::Flight& flight : async_->flights)
    if (flight.writes == writes && flight.begin < offset + bytes && offset < flight.end)
      return std::string("the ") + flight.what + " at " +
             to_string(line_of_return_address(flight.pc));
  return writes ? "a cp.async" : "something";
}

// Is something in flight still to write (or to read) one of these bytes?
bool BlockWatch::in_flight(uint64_t offset, unsigned bytes, bool writes) const {
  if (writes) {
    const uint8_t* words = async_->writers.data();
    return std::any_of(words + offset / 4, words + (offset + bytes + 3) / 4,
                       [](uint8_t count) { return count != 0; });
  }
  const uint8_t* pieces = async_->readers.data();
  return std::any_of(pieces + offset / kPiece, pieces + (offset + bytes + kPiece - 1) / kPiece,
                     [](uint8_t count) { return count != 0; });
}

// An access by a thread while something is in flight.
void BlockWatch::check_in_flight(const Access& access, uint64_t offset) {
  for (const bool to_write : {true, false}) {
    if ((!to_write && !writes(access.use)) || !in_flight(offset, access.size, to_write)) continue;
    watcher->report("in-flight",
                    std::string(writes(access.use) ? "write" : "read") + " of bytes that " +
                        flight_text(offset, access.size, to_write) + " is still to " +
                        (to_write ? "write" : "read"),
                    access.pc, byte_text(offset));
    return;
  }
}

void BlockWatch::takes_off(const InFlight& flight, bool own) {
  AsyncChecks& a = async();
  const uint32_t pc = relative_pc(flight.pc, watcher->program_base);
  if (watcher->checking) {
    if (flight.async_proxy) check_bounds(flight, pc);
    check_overlap(flight, pc);
    if (flight.async_proxy) {
      if (flight.writes) check_overwritten(flight, pc, own);
      if (!flight.writes) check_source(flight, pc, own);
    }
  }
  AsyncChecks::Flight entry{flight.what, pc, flight.writes, ~uint64_t{0}, 0};
  for_each_range(flight, [&](unsigned offset, unsigned bytes) {
    entry.begin = std::min<uint64_t>(entry.begin, offset);
    entry.end = std::max<uint64_t>(entry.end, offset + bytes);
    if (flight.writes) {
      for (unsigned i = offset / 4; i < (offset + bytes) / 4; ++i) ++a.writers[i];
    } else {
      for (unsigned i = offset / kPiece; i < (offset + bytes) / kPiece; ++i) ++a.readers[i];
    }
    if (flight.writes && flight.async_proxy)
      std::memset(a.swizzles.data() + offset / kPiece,
                  flight.tensor ? static_cast<uint8_t>(flight.swizzle) : AsyncChecks::kOther,
                  bytes / kPiece);
  });
  ++a.flying;
  if (flight.async_proxy) a.flights.push_back(entry);
}

// Behind the last byte of shared memory that the kernel has, nothing can be copied.
void BlockWatch::check_bounds(const InFlight& flight, uint32_t pc) {
  if (flight.bytes == 0 || shared_in_bounds(flight.offset, flight.bytes)) return;
  watcher->report("out-of-bounds",
                  std::string(flight.what) + " of " + std::to_string(flight.bytes) + " bytes " +
                      (flight.writes ? "into" : "from") + " shared memory, beyond what there is",
                  pc, byte_text(flight.offset));
  fail_kernel(cudaErrorIllegalAddress);
}

// All of it lies in one allocation, or the first piece that does not is an error. True: threads of
// this launch have written to the allocation that is read.
bool BlockWatch::copies_global(uint64_t address, uint64_t bytes, bool is_write, uint32_t pc) {
  if (bytes == 0) return false;
  const WatchedMemory* memory = watcher->memory.find(address);
  const Use use = is_write ? Use::kWrite : Use::kRead;
  if (counting_ && memory != nullptr && is_elsewhere(*memory)) count_link(bytes, use);
  if (!watcher->checking) return false;
  uint64_t inside = 0;
  if (memory != nullptr && !memory->allocation.freed) {
    check_device({address, pc, kPiece, 0, use, false}, *memory);
    if (memory->holds(address, bytes))
      return !is_write && memory->races &&
             memory->stamp_of_writes.load(std::memory_order_relaxed) == stamp_;
    inside = (memory->bytes - (address - memory->base)) / kPiece * kPiece;
  }
  look_up({address + inside, pc, kPiece, 0, use, false});
  return false;
}

// Was it written by a thread that nothing orders before the one that asks? The read itself is not
// entered: when it ends is for its mbarrier to say.
void BlockWatch::copy_reads(uint64_t address, uint64_t bytes, uint32_t pc) {
  WatchedMemory* memory = watcher->memory.find(address);
  const Accessor now{&order_, state.thread, pc, false, false, address};
  Rival rival;
  uint64_t where = 0;
  if (!memory->races->written(address - memory->base, bytes, stamp_, now, &rival, &where)) return;
  const uint64_t pair = uint64_t{std::min(pc, rival.pc)} << 32 | std::max(pc, rival.pc);
  if (!reported_races_.insert(pair).second) return;
  report_race({memory->base + where, pc, 4, 0, Use::kRead, true}, state.thread, rival, false);
}

void BlockWatch::lands(const InFlight& flight) {
  AsyncChecks& a = async();
  for_each_range(flight, [&](unsigned offset, unsigned bytes) {
    if (flight.writes) {
      for (unsigned i = offset / 4; i < (offset + bytes) / 4; ++i) --a.writers[i];
    } else {
      for (unsigned i = offset / kPiece; i < (offset + bytes) / kPiece; ++i) --a.readers[i];
    }
  });
  --a.flying;
  if (!flight.async_proxy) return;
  const uint32_t pc = relative_pc(flight.pc, watcher->program_base);
  const auto found = std::find_if(a.flights.begin(), a.flights.end(), [&](const auto& entry) {
    return entry.pc == pc && entry.writes == flight.writes &&
           (flight.bytes == 0 || entry.begin == flight.offset);
  });
  if (found != a.flights.end()) a.flights.erase(found);
}

void BlockWatch::check_overlap(const InFlight& flight, uint32_t pc) {
  bool told = false;
  for_each_range(flight, [&](unsigned offset, unsigned bytes) {
    for (const bool to_write : {true, false}) {
      if (told || (!to_write && !flight.writes) || !in_flight(offset, bytes, to_write)) continue;
      told = true;
      watcher->report("in-flight",
                      std::string(flight.what) + (flight.writes ? " into" : " of") +
                          " bytes that " + flight_text(offset, bytes, to_write) + " is still to " +
                          (to_write ? "write" : "read"),
                      pc, byte_text(offset));
    }
  });
}

// Somebody may still use what a copy is going to overwrite: a stage that was refilled too early.
void BlockWatch::check_overwritten(const InFlight& flight, uint32_t pc, bool own) {
  if (cluster_stamp_ != 0) cluster_races_->forget(flight.offset, flight.bytes);
  if (!own) {
    shared_races_.forget(flight.offset, flight.bytes);
    return;
  }
  const std::string unfenced = unfenced_use(flight);
  const Accessor now{&order_, state.thread, pc, true, false};
  Rival rival;
  if (shared_races_.give_away(flight.offset, flight.bytes, now, &rival)) {
    found_async_race(flight, pc, rival);
  } else if (!unfenced.empty()) {
    watcher->report("proxy-fence",
                    std::string(flight.what) +
                        " overwrites what a thread used without a fence.proxy.async between",
                    pc, unfenced);
  }
}

// Where a thread read or wrote what a copy is going to overwrite, and neither it nor the thread
// that asks for the copy has executed a proxy fence since; "": nowhere.
std::string BlockWatch::unfenced_use(const InFlight& flight) {
  const AsyncChecks& a = *async_;
  const uint32_t fenced = a.block_fenced[state.thread];
  std::string found;
  for (unsigned offset = flight.offset; offset < flight.offset + flight.bytes; offset += 4) {
    shared_races_.for_each_use(offset, [&](bool wrote, uint32_t thread, uint32_t clock,
                                           uint32_t at) {
      if (!found.empty() || clock <= a.fenced[thread] || clock <= fenced || a.copies.count(at) != 0)
        return;
      found = byte_text(offset) + (wrote ? ", written by " : ", read by ") + thread_name(thread) +
              " at " + to_string(line_of_return_address(at));
    });
    if (!found.empty()) break;
  }
  return found;
}

void BlockWatch::found_async_race(const InFlight& flight, uint32_t pc, const Rival& rival) {
  const uint64_t pair = uint64_t{std::min(pc, rival.pc)} << 32 | std::max(pc, rival.pc);
  if (!reported_races_.insert(pair).second) return;
  report_race(
      {shared_base_ + flight.offset, pc, 4, 0, flight.writes ? Use::kWrite : Use::kRead, true},
      state.thread, rival, true);
}

// A copy or a wgmma reads shared memory.
void BlockWatch::check_source(const InFlight& flight, uint32_t pc, bool own) {
  AsyncChecks& a = *async_;
  // A fence by the thread that asks counts as well as one by the thread that wrote; of a wgmma all
  // threads ask.
  uint32_t fenced = 0;
  const unsigned group = flight.pieces.empty() ? 1 : 128;
  for (unsigned i = state.thread / group * group, end = i + group; i < end; ++i)
    fenced = std::max(fenced, a.block_fenced[i]);
  if (flight.pieces.empty())
    a.copies.insert(pc);
  else
    ++a.operands;
  bool told = false, race = false;
  for (unsigned offset : flight.pieces) {
    if (told || shared_in_bounds(offset, kPiece)) continue;
    told = true;
    watcher->report("out-of-bounds", "wgmma reads outside of the block's shared memory", pc,
                    "offset " + std::to_string(offset));
  }
  for_each_range(flight, [&](unsigned first, unsigned bytes) {
    if (told) return;
    if (!flight.pieces.empty()) told = check_piece(flight, pc, first);
    for (unsigned offset = first; !told && offset < first + bytes; offset += 4) {
      uint32_t thread, clock, written_at;
      if (!shared_races_.last_write(offset, &thread, &clock, &written_at)) continue;
      if (clock > a.fenced[thread] && clock > fenced) {
        told = true;
        watcher->report("proxy-fence",
                        std::string(flight.what) +
                            " reads what a thread wrote without a fence.proxy.async between",
                        pc,
                        byte_text(offset) + ", written by " + thread_name(thread) + " at " +
                            to_string(line_of_return_address(written_at)));
      }
    }
    if (told || race || !own || !flight.pieces.empty()) return;
    const Accessor now{&order_, state.thread, pc, false, false};
    Rival rival;
    race = shared_races_.access(first, bytes, now, &rival);
    if (race) found_async_race(flight, pc, rival);
  });
}

// 16 bytes of an operand of wgmma, as its descriptor says. True: something was wrong.
bool BlockWatch::check_piece(const InFlight& flight, uint32_t pc, unsigned offset) {
  AsyncChecks& a = *async_;
  if (std::memcmp(shared_written_.data() + offset, run_bytes_, kPiece) != 0 &&
      !in_flight(offset, kPiece, true)) {
    watcher->report("uninitialized", "wgmma reads shared memory that was not written", pc,
                    byte_text(offset) + ": do the descriptor's leading and stride bytes fit?");
    return true;
  }
  if (a.seen[offset / kPiece] == a.operands) {
    watcher->report("descriptor", "two rows of a wgmma's tile lie at the same place", pc,
                    byte_text(offset) +
                        ": the descriptor's leading or stride bytes, or its swizzle, do not fit");
    return true;
  }
  a.seen[offset / kPiece] = a.operands;
  const uint8_t swizzle = a.swizzles[offset / kPiece];
  uint32_t thread, clock, written_at;
  const bool by_thread = shared_races_.last_write(offset, &thread, &clock, &written_at);
  if (by_thread || swizzle == AsyncChecks::kOther || swizzle == flight.swizzle) return false;
  watcher->report("descriptor",
                  "wgmma reads with " + swizzle_text(flight.swizzle) +
                      " a tile that was written with " + swizzle_text(swizzle),
                  pc, byte_text(offset));
  return true;
}

void BlockWatch::proxy_fence() {
  AsyncChecks& a = async();
  a.fenced[state.thread] = order_.clock(state.thread);
  a.block_fenced[state.thread] = order_.newest_clock();
  order_.tick(state.thread);
  mbarrier_fence();
}

// ---- mbarrier.init ----------------------------------------------------------------------------

void BlockWatch::mbarrier_made(unsigned offset) {
  async().mbarriers[offset] = {state.thread, order_.clock(state.thread), 0};
}

// What the thread has initialised may now be seen by the whole cluster and by copies.
void BlockWatch::mbarrier_fence() {
  if (!async_) return;
  for (auto& [offset, made] : async_->mbarriers)
    if (made.thread == state.thread && made.fenced == 0) made.fenced = order_.clock(state.thread);
}

// By a thread of the user's block.
const char* BlockWatch::mbarrier_unseen(BlockWatch& user, unsigned offset, bool by_copy) {
  const auto found = async().mbarriers.find(offset);
  if (found == async_->mbarriers.end()) return nullptr;
  const AsyncChecks::Made& made = found->second;
  const bool own = &user == this;
  if (own && made.thread == state.thread) return nullptr;
  const auto seen = [&](uint32_t clock) {
    return own ? order_.ordered(state.thread, made.thread, clock)
               : user.order_.received(order_.block(), made.thread, clock);
  };
  if (!seen(made.clock))
    return own ? "no barrier of the block stands between"
               : "no barrier of the cluster stands between, or a relaxed one without a "
                 "fence.mbarrier_init before it";
  if (!by_copy || (made.fenced != 0 && seen(made.fenced))) return nullptr;
  // The thread that asks for the copy may have fenced instead.
  if (own && made.clock <= async_->block_fenced[state.thread]) return nullptr;
  return "no fence.mbarrier_init stands between";
}

// ---- wgmma ------------------------------------------------------------------------------------

void BlockWatch::product_fence() {
  AsyncChecks& a = async();
  a.any_products = true;
  AsyncChecks::Registers& mine = a.registers[state.thread];
  mine.fence = ++a.fences;
  if (!mine.words)
    mine.words =
        std::make_unique<ShadowArray<AsyncChecks::Word>>(options().stack_bytes / sizeof(unsigned));
}

static size_t word_of_stack(uint64_t address) {
  return (address - reinterpret_cast<uint64_t>(state.stack_low)) / sizeof(unsigned);
}

void BlockWatch::product(uint32_t number, const ProductRegisters& given, uint32_t pc) {
  AsyncChecks& a = async();
  AsyncChecks::Registers& mine = a.registers[state.thread];
  if (mine.fence == 0) {
    product_fence();
    watcher->report("wgmma", "wgmma without a wgmma.fence before the first one", pc,
                    "registers may still be written");
  }
  const uint32_t product = a.products_before + number + 1;
  a.products = std::max(a.products, product);
  const auto use = [&](const void* place, bool of_a) {
    const auto address = reinterpret_cast<uint64_t>(place);
    if (!is_local(address)) return;
    AsyncChecks::Word& word = (*mine.words)[word_of_stack(address)];
    if (word.touched == mine.fence) {
      watcher->report("wgmma",
                      std::string("wgmma without a wgmma.fence since its ") +
                          (of_a ? "registers of A" : "accumulators") + " were used",
                      pc, "used at " + to_string(line_of_return_address(word.pc)));
      word.touched = 0;
    }
    word.product = product;
    word.of_a = of_a;
  };
  for (size_t i = 0; i < given.d_count; ++i) use(given.d[i], false);
  for (int i = 0; given.a && i < 4; ++i) use(given.a[i].place, true);
}

void BlockWatch::products_done(uint32_t count) {
  uint32_t& done = async().registers[state.thread].done;
  done = std::max(done, async_->products_before + count);
}

// One of the running thread's own variables.
void BlockWatch::local_access(uint64_t address, unsigned size, uint32_t pc, bool is_write) {
  AsyncChecks::Registers& mine = async_->registers[state.thread];
  if (mine.fence == 0) return;
  for (size_t i = word_of_stack(address), last = word_of_stack(address + size - 1); i <= last;
       ++i) {
    AsyncChecks::Word& word = (*mine.words)[i];
    if (word.product > mine.done) {
      watcher->report(
          "wgmma",
          std::string(is_write ? "write to " : "read of ") +
              (word.of_a ? "registers of A" : "accumulators") + " before wgmma.wait_group",
          pc, std::string("a wgmma is still to ") + (word.of_a ? "read" : "write") + " them");
      if (is_write && word.of_a) registers_change();
    }
    word.touched = mine.fence;
    word.pc = pc;
  }
}

// ---- clusters ---------------------------------------------------------------------------------

void BlockWatch::remote_access(BlockWatch& accessor, uint32_t pc) {
  const BlockOrder& order = accessor.order_;
  async().remotes[{order.block(), state.thread}] = {order.clock(state.thread), pc};
}

// The block ends: has it waited for all that others do in its shared memory?
void BlockWatch::check_remotes() {
  if (!watcher->checking || block_->launch->aborted) return;
  for (const auto& [who, access] : async_->remotes) {
    if (order_.received(who.first, who.second, access.clock)) continue;
    const SourceLine here = line_of_return_address(access.pc);
    CheckReport report;
    report.check = "cluster";
    report.kernel = launch_->name;
    report.file = here.file;
    report.line = here.line;
    const dim3 grid = block_->launch->grid;
    const auto block_name = [&](uint64_t number) {
      return "block (" + std::to_string(number % grid.x) + "," +
             std::to_string(number / grid.x % grid.y) + "," +
             std::to_string(number / grid.x / grid.y) + ")";
    };
    report.message =
        "error [cluster]: shared memory of another block is touched after that block may have ended"
        "\n  kernel " +
        launch_->name + "\n  at " + to_string(here) + ": " +
        block_name(order_.number_of(who.first)) + ", " + thread_name(who.second) + "\n  " +
        block_name(block_->number) + " owns it and does not wait";
    watcher->reports.add(std::move(report), {to_string(here)});
  }
}

}  // namespace simt
