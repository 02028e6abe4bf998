// The race check: for every 4 bytes of memory the last write and two of the reads since, each with
// who made it and when. A new access is compared with them; check_order.h says what is ordered.
//
// Two reads are enough in practice: the first one that is still unordered and the latest one of
// another thread. A writer that raced with any reader then still meets one of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "check_order.h"
#include "check_shadow.h"

namespace simt {

// What other launches, copies and the host do: an access of theirs stands in memory with their
// stamp.
struct Accessor;

// An access that stands in memory, of other work. Where there are no threads, there is no block,
// thread and clock; the host (stamp 0) has there how many operations it had asked for.
struct Earlier {
  uint32_t stamp;
  uint64_t block;
  uint32_t thread, clock;
  bool atomic;
  Scope scope;
  uint64_t offset = 0;  // of its word in the memory that a copy or the host touches
  uint64_t asked() const { return block | uint64_t{clock} << 24; }
};

class OtherWork {
 public:
  // Does nothing order it before the present work, or access (null: it is no thread's)?
  virtual bool unordered(const Earlier& then, const Accessor* now) = 0;
  bool comes_before(uint32_t stamp) const { return before_[stamp].load(std::memory_order_relaxed); }

 protected:
  explicit OtherWork(uint32_t stamps) : before_(stamps) {}
  ~OtherWork() = default;
  // Stamps that are known to; what is asked once need not be asked for every word.
  std::vector<std::atomic<bool>> before_;
};

// The present access: who makes it, where in the code, and how. Two atomic accesses do not race, if
// each one's scope reaches as far as the other. (With one device that of the device and that of the
// system are the same, and noted as the system's.)
struct Accessor {
  BlockOrder* order;
  uint32_t thread;
  uint32_t pc;
  bool writes;
  bool atomic;
  uint64_t address = 0;  // in global memory
  Scope scope = Scope::kSystem;
  OtherWork* others = nullptr;  // null: none is possible
};

// An access that the present one was found to race with.
struct Rival {
  bool wrote = false;
  bool atomic = false;
  uint32_t pc = 0;
  uint64_t block = 0;
  uint32_t thread = 0;
  uint32_t clock = 0;
  Scope scope = Scope::kSystem;
  bool of_other_work = false;
  uint32_t stamp = 0;  // of that
};

// Shared memory of the blocks that one worker runs after one another.
class SharedRaces {
 public:
  explicit SharedRaces(uint64_t bytes) : granules_((bytes + 3) / 4) {}

  // The next block starts; the one before had reached `newest_clock`. Its records count as old from
  // here on because the clocks in the cells go on growing; only when they run out, all is cleared.
  void begin_block(uint32_t newest_clock);

  // Enters the access. True: it races with an earlier one, described in `rival`.
  bool access(uint64_t offset, unsigned size, const Accessor& now, Rival* rival) {
    // Nearly all accesses stay within one word.
    if (offset % 4 + size <= 4) {
      return access_word(granules_[offset / 4], ((1u << size) - 1) << offset % 4, now, rival);
    }
    return access_words(offset, size, now, rival);
  }

  // Whole words that something other than a thread is going to write: enters the access of the
  // thread that asked for it, as above, and forgets them.
  bool give_away(uint64_t offset, unsigned size, const Accessor& now, Rival* rival) {
    const bool found = access_words(offset, size, now, rival);
    forget(offset, size);
    return found;
  }
  // The code address of the thread's own plain read of the word at this clock of it, if it is
  // remembered; 0: none.
  uint32_t own_read(uint64_t offset, const Accessor& now, uint32_t clock) {
    const Granule& memory = granules_[offset / 4];
    for (const Cell& read : {memory.read, memory.other_read})
      if (read.clock == clock + clock_offset_ && read.thread == now.thread && !read.atomic)
        return static_cast<uint32_t>(read.pc);
    return 0;
  }
  void forget(uint64_t offset, unsigned size) {
    for (uint64_t i = offset / 4; i < (offset + size) / 4; ++i) granules_[i] = {};
  }
  // Calls f(wrote, thread, clock, pc) for the last write to the word by a thread of the running
  // block, and for what is remembered of the reads since, unless they have been forgotten.
  template <class Function>
  void for_each_use(uint64_t offset, Function f) {
    const Granule& memory = granules_[offset / 4];
    const uint64_t oldest = clock_offset_ + 1;
    const auto call = [&](const Cell& cell, bool wrote) {
      f(wrote, static_cast<uint32_t>(cell.thread),
        static_cast<uint32_t>(cell.clock) - clock_offset_, static_cast<uint32_t>(cell.pc));
    };
    if (memory.write.clock >= oldest) call(memory.write, true);
    for (const Cell& read : {memory.read, memory.other_read})
      if (read.clock >= std::max<uint64_t>(oldest, memory.write.clock)) call(read, false);
  }
  // The last write by a thread of the running block to the word, if it has not been forgotten.
  bool last_write(uint64_t offset, uint32_t* thread, uint32_t* clock, uint32_t* pc) {
    const Cell& cell = granules_[offset / 4].write;
    if (cell.clock <= clock_offset_) return false;
    *thread = static_cast<uint32_t>(cell.thread);
    *clock = static_cast<uint32_t>(cell.clock) - clock_offset_;
    *pc = static_cast<uint32_t>(cell.pc);
    return true;
  }

 private:
  struct Cell {
    uint64_t clock : 23;
    uint64_t pc : 26;
    uint64_t thread : 10;
    uint64_t bytes : 4;  // which of the 4 bytes
    uint64_t atomic : 1;
  };
  static_assert(sizeof(Cell) == 8, "a cell is one word");
  static constexpr uint32_t kClockLimit = 1u << 23;
  struct Granule {
    Cell write, read, other_read;
  };
  bool unordered(const Cell& cell, const Accessor& now) const {
    // The first test throws out nearly everything: older than the last barrier.
    return cell.clock >= now.order->base() + clock_offset_ && cell.thread != now.thread &&
           !(cell.atomic && now.atomic) &&
           !now.order->ordered(now.thread, cell.thread, cell.clock - clock_offset_);
  }
  static void describe(const Cell& cell, bool wrote, const Accessor& now, Rival* rival);
  bool access_words(uint64_t offset, unsigned size, const Accessor& now, Rival* rival);
  bool access_word(Granule& memory, unsigned bytes, const Accessor& now, Rival* rival) {
    Cell self;
    self.clock = now.order->clock(now.thread) + clock_offset_;
    self.pc = now.pc;
    self.thread = now.thread;
    self.bytes = bytes;
    self.atomic = now.atomic;
    bool found = false;
    if ((memory.write.bytes & bytes) != 0 && unordered(memory.write, now)) {
      describe(memory.write, true, now, rival);
      found = true;
    }
    if (!now.writes) {
      (unordered(memory.read, now) ? memory.other_read : memory.read) = self;
      return found;
    }
    for (const Cell& read : {memory.read, memory.other_read}) {
      if (found || (read.bytes & bytes) == 0 || !unordered(read, now)) continue;
      describe(read, false, now, rival);
      found = true;
    }
    memory.write = self;
    return found;
  }

  ShadowArray<Granule> granules_;
  uint32_t clock_offset_ = 0;  // added to the clocks of the running block
};

// One allocation of global memory. All workers use it at once: a cell is one 64-bit word, read and
// written whole. The stamp names the launch (and the stretch between grid-wide barriers in it), so
// that cells of the past need no clearing until the stamps run out.
class GlobalRaces {
 public:
  static constexpr uint32_t kStamps = 1u << 11;  // usable: 1 .. kStamps - 1
  // Larger allocations are not checked for races.
  static constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

  explicit GlobalRaces(uint64_t bytes) : granules_(bytes / 4 + 1) {}
  void clear() { granules_.clear(); }

  // As above.
  bool access(uint64_t offset, unsigned size, uint32_t stamp, const Accessor& now, Rival* rival);
  // The same for work without threads: a copy, a fill, the host (stamp 0, which has asked for so
  // many operations). Left behind only if `stays`. `where`: the offset.
  bool access_of_work(uint64_t offset, uint64_t size, uint32_t stamp, uint64_t asked, uint32_t pc,
                      bool writes, bool stays, OtherWork& others, Rival* rival, uint64_t* where);
  void forget(uint64_t offset, uint64_t size) {
    for (uint64_t i = offset / 4; i < (offset + size) / 4; ++i) granules_[i] = {};
  }
  // As above.
  uint32_t own_read(uint64_t offset, uint32_t stamp, const Accessor& now, uint32_t clock);
  // The stamp of the last write of these bytes by other work than the host; 0: none.
  uint32_t last_writer(uint64_t offset);
  // Does a read of it race with an earlier write? It is not entered. `where`: the offset.
  bool written(uint64_t offset, uint64_t size, uint32_t stamp, const Accessor& now, Rival* rival,
               uint64_t* where);

 private:
  struct Cell {
    uint64_t stamp : 11;
    uint64_t block : 24;
    uint64_t thread : 10;
    uint64_t clock : 13;
    uint64_t bytes : 4;
    uint64_t strength : 2;  // 0: no atomic access; otherwise its scope, and 1

    bool atomic() const { return strength != 0; }
    Scope scope() const {
      return strength == 0 ? Scope::kSystem : static_cast<Scope>(strength - 1);
    }
  };
  static_assert(sizeof(Cell) == 8, "a cell is one word");
  static constexpr uint32_t kClockLimit = (1u << 13) - 1;
  struct Granule {
    uint64_t write, read, other_read;
    uint32_t write_pc, read_pc, other_read_pc, unused;
  };
  static bool unordered(const Cell& cell, unsigned bytes, uint32_t stamp, const Accessor& now);
  static bool unordered_here(const Cell& cell, const Accessor& now);
  static bool unordered_elsewhere(const Cell& cell, const Accessor& now);
  static Earlier earlier(const Cell& cell);
  static Rival describe(const Cell& cell, bool wrote, uint32_t pc, uint32_t stamp);

  ShadowArray<Granule> granules_;
};

}  // namespace simt
