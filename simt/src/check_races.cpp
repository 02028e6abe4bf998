#include "check_races.h"

#include <algorithm>
#include <cstring>

namespace simt {
namespace {

// Which of the 4 bytes of granule `granule` an access covers.
unsigned bytes_in_granule(uint64_t offset, unsigned size, uint64_t granule) {
  const uint64_t begin = std::max(offset, granule * 4),
                 end = std::min(offset + size, granule * 4 + 4);
  return ((1u << (end - begin)) - 1) << (begin - granule * 4);
}

}  // namespace

void SharedRaces::begin_block(uint32_t newest_clock) {
  clock_offset_ += newest_clock;
  // The block that starts may use as many clocks again as there are left.
  if (clock_offset_ > kClockLimit / 2) {
    granules_.clear();
    clock_offset_ = 0;
  }
}

void SharedRaces::describe(const Cell& cell, bool wrote, const Accessor& now, Rival* rival) {
  *rival = {wrote, cell.atomic != 0, static_cast<uint32_t>(cell.pc), now.order->number(),
            static_cast<uint32_t>(cell.thread)};
}

bool SharedRaces::access_words(uint64_t offset, unsigned size, const Accessor& now, Rival* rival) {
  bool found = false;
  for (uint64_t granule = offset / 4; granule <= (offset + size - 1) / 4; ++granule) {
    found |= access_word(granules_[granule], bytes_in_granule(offset, size, granule), now, rival);
  }
  return found;
}

Earlier GlobalRaces::earlier(const Cell& cell) {
  return {static_cast<uint32_t>(cell.stamp), cell.block,    static_cast<uint32_t>(cell.thread),
          static_cast<uint32_t>(cell.clock), cell.atomic(), cell.scope()};
}

Rival GlobalRaces::describe(const Cell& cell, bool wrote, uint32_t pc, uint32_t stamp) {
  Rival rival{wrote, cell.atomic(), pc, cell.block, static_cast<uint32_t>(cell.thread)};
  rival.clock = static_cast<uint32_t>(cell.clock);
  rival.scope = cell.scope();
  rival.of_other_work = cell.stamp != stamp;
  rival.stamp = static_cast<uint32_t>(cell.stamp);
  return rival;
}

// Most cells are of the past, where nothing else can be under way: this throws them out.
inline __attribute__((always_inline)) bool GlobalRaces::unordered(const Cell& cell, unsigned bytes,
                                                                  uint32_t stamp,
                                                                  const Accessor& now) {
  if ((cell.bytes & bytes) == 0) return false;
  if (cell.stamp == stamp) return unordered_here(cell, now);
  return now.others != nullptr && unordered_elsewhere(cell, now);
}

bool GlobalRaces::unordered_elsewhere(const Cell& cell, const Accessor& now) {
  return !now.others->comes_before(cell.stamp) &&
         !(cell.atomic() && now.atomic && cell.scope() == Scope::kSystem &&
           now.scope == Scope::kSystem) &&
         now.others->unordered(earlier(cell), &now);
}

bool GlobalRaces::unordered_here(const Cell& cell, const Accessor& now) {
  BlockOrder& order = *now.order;
  const bool same_block = cell.block == order.number();
  const bool in_reach = same_block || (cell.scope() != Scope::kBlock && now.scope != Scope::kBlock);
  if (cell.atomic() && now.atomic && in_reach) return false;
  // Blocks and clocks beyond the cell's range count as ordered: a race may be missed, none
  // invented.
  if (order.number() >= 1u << 24 || cell.clock == kClockLimit) return false;
  const uint64_t block = order.block_of_launch(cell.block);
  const bool ordered = same_block ? order.ordered(now.thread, cell.thread, cell.clock)
                                  : order.received(block, cell.thread, cell.clock);
  if (ordered) return false;
  // An atomic is noted here before it is carried out, so of two blocks' the one noted last may have
  // come first: the other one has found what it left.
  return !cell.atomic() || !in_reach ||
         !order.observed_at(now.address, block, cell.thread, cell.clock);
}

bool GlobalRaces::access(uint64_t offset, unsigned size, uint32_t stamp, const Accessor& now,
                         Rival* rival) {
  BlockOrder& order = *now.order;
  bool found = false;
  Cell self;
  self.stamp = stamp;
  self.block = order.number();
  self.thread = now.thread;
  self.clock = std::min(order.clock(now.thread), kClockLimit);
  self.strength = now.atomic ? static_cast<unsigned>(now.scope) + 1 : 0;
  const auto load = [](const uint64_t& word) {
    const uint64_t bits = __atomic_load_n(&word, __ATOMIC_SEQ_CST);
    Cell cell;
    std::memcpy(&cell, &bits, sizeof cell);
    return cell;
  };
  // Leaves this access and returns the one before it. All who come to a granule leave theirs first
  // and then look at the others': of two that come at the same instant at least one sees the other.
  const auto leave = [&](uint64_t& word, uint32_t& pc) {
    __atomic_store_n(&pc, now.pc, __ATOMIC_RELAXED);
    uint64_t bits;
    std::memcpy(&bits, &self, sizeof bits);
    bits = __atomic_exchange_n(&word, bits, __ATOMIC_SEQ_CST);
    Cell before;
    std::memcpy(&before, &bits, sizeof before);
    return before;
  };
  const auto note = [&](const Cell& cell, bool wrote, uint32_t pc) {
    *rival = describe(cell, wrote, pc, stamp);
    found = true;
  };
  const auto pc_of = [](const uint32_t& pc) { return __atomic_load_n(&pc, __ATOMIC_RELAXED); };
  for (uint64_t granule = offset / 4; granule <= (offset + size - 1) / 4; ++granule) {
    Granule& memory = granules_[granule];
    const unsigned bytes = bytes_in_granule(offset, size, granule);
    self.bytes = bytes;
    if (!now.writes) {
      if (unordered(load(memory.read), 15, stamp, now)) {
        leave(memory.other_read, memory.other_read_pc);
      } else {
        leave(memory.read, memory.read_pc);
      }
      const Cell write = load(memory.write);
      if (unordered(write, bytes, stamp, now)) note(write, true, pc_of(memory.write_pc));
      continue;
    }
    const uint32_t pc_before = pc_of(memory.write_pc);
    const Cell write = leave(memory.write, memory.write_pc);
    if (unordered(write, bytes, stamp, now)) note(write, true, pc_before);
    const Cell read = load(memory.read), other = load(memory.other_read);
    if (!found && unordered(read, bytes, stamp, now)) note(read, false, pc_of(memory.read_pc));
    if (!found && unordered(other, bytes, stamp, now)) {
      note(other, false, pc_of(memory.other_read_pc));
    }
  }
  return found;
}

bool GlobalRaces::access_of_work(uint64_t offset, uint64_t size, uint32_t stamp, uint64_t asked,
                                 uint32_t pc, bool writes, bool stays, OtherWork& others,
                                 Rival* rival, uint64_t* where) {
  bool found = false;
  Cell self{};
  self.stamp = stamp;
  self.block = asked & ((1u << 24) - 1);
  self.clock = asked >> 24 & kClockLimit;
  const auto load = [](const uint64_t& word) {
    const uint64_t bits = __atomic_load_n(&word, __ATOMIC_SEQ_CST);
    Cell cell;
    std::memcpy(&cell, &bits, sizeof cell);
    return cell;
  };
  for (uint64_t granule = offset / 4; granule <= (offset + size - 1) / 4; ++granule) {
    Granule& memory = granules_[granule];
    const uint64_t end = std::min(offset + size, granule * 4 + 4);
    const uint64_t begin = std::max(offset, granule * 4);
    self.bytes = ((1u << (end - begin)) - 1) << (begin - granule * 4);
    const auto is_unordered = [&](const Cell& cell) {
      if (cell.stamp == stamp || others.comes_before(cell.stamp)) return false;
      Earlier then = earlier(cell);
      then.offset = 4 * granule;
      return others.unordered(then, nullptr);
    };
    const auto races_with = [&](const uint64_t& word, const uint32_t& pc_there, bool wrote) {
      const Cell cell = load(word);
      if (found || (cell.bytes & self.bytes) == 0 || !is_unordered(cell)) return;
      *rival = describe(cell, wrote, __atomic_load_n(&pc_there, __ATOMIC_RELAXED), stamp);
      *where = begin;
      found = true;
    };
    races_with(memory.write, memory.write_pc, true);
    if (writes) races_with(memory.read, memory.read_pc, false);
    if (writes) races_with(memory.other_read, memory.other_read_pc, false);
    if (!stays) continue;
    uint64_t bits;
    std::memcpy(&bits, &self, sizeof bits);
    const auto leave = [&](uint64_t& word, uint32_t& pc_there) {
      __atomic_store_n(&pc_there, pc, __ATOMIC_RELAXED);
      __atomic_store_n(&word, bits, __ATOMIC_SEQ_CST);
    };
    if (writes) {
      leave(memory.write, memory.write_pc);
      continue;
    }
    // A read beside that of somebody else, who may come at the same instant: both count.
    uint64_t there = __atomic_load_n(&memory.read, __ATOMIC_SEQ_CST);
    bool beside = false;
    do {
      Cell cell;
      std::memcpy(&cell, &there, sizeof cell);
      beside = is_unordered(cell);
    } while (!beside && !__atomic_compare_exchange_n(&memory.read, &there, bits, false,
                                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if (beside) {
      leave(memory.other_read, memory.other_read_pc);
    } else {
      __atomic_store_n(&memory.read_pc, pc, __ATOMIC_RELAXED);
    }
  }
  return found;
}

uint32_t GlobalRaces::own_read(uint64_t offset, uint32_t stamp, const Accessor& now,
                               uint32_t clock) {
  const Granule& memory = granules_[offset / 4];
  const auto is_own = [&](const uint64_t& word) {
    const uint64_t bits = __atomic_load_n(&word, __ATOMIC_SEQ_CST);
    Cell cell;
    std::memcpy(&cell, &bits, sizeof cell);
    return cell.stamp == stamp && cell.block == now.order->number() && cell.thread == now.thread &&
           cell.clock == std::min(clock, kClockLimit) && !cell.atomic();
  };
  if (is_own(memory.read)) return __atomic_load_n(&memory.read_pc, __ATOMIC_RELAXED);
  if (is_own(memory.other_read)) return __atomic_load_n(&memory.other_read_pc, __ATOMIC_RELAXED);
  return 0;
}

uint32_t GlobalRaces::last_writer(uint64_t offset) {
  const uint64_t bits = __atomic_load_n(&granules_[offset / 4].write, __ATOMIC_SEQ_CST);
  Cell cell;
  std::memcpy(&cell, &bits, sizeof cell);
  return static_cast<uint32_t>(cell.stamp);
}

bool GlobalRaces::written(uint64_t offset, uint64_t size, uint32_t stamp, const Accessor& now,
                          Rival* rival, uint64_t* where) {
  for (uint64_t granule = offset / 4; granule <= (offset + size - 1) / 4; ++granule) {
    const Granule& memory = granules_[granule];
    const uint64_t bits = __atomic_load_n(&memory.write, __ATOMIC_SEQ_CST);
    Cell cell;
    std::memcpy(&cell, &bits, sizeof cell);
    if (!unordered(cell, 15, stamp, now)) continue;
    *rival = describe(cell, true, __atomic_load_n(&memory.write_pc, __ATOMIC_RELAXED), stamp);
    *where = 4 * granule;
    return true;
  }
  return false;
}

}  // namespace simt
