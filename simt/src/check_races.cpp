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
  *rival = {wrote, cell.atomic != 0, static_cast<uint32_t>(cell.pc), now.order->block(),
            static_cast<uint32_t>(cell.thread)};
}

bool SharedRaces::access_words(uint64_t offset, unsigned size, const Accessor& now, Rival* rival) {
  bool found = false;
  for (uint64_t granule = offset / 4; granule <= (offset + size - 1) / 4; ++granule) {
    found |= access_word(granules_[granule], bytes_in_granule(offset, size, granule), now, rival);
  }
  return found;
}

bool GlobalRaces::unordered(const Cell& cell, unsigned bytes, uint32_t stamp, const Accessor& now) {
  if (cell.stamp != stamp || (cell.bytes & bytes) == 0) return false;
  if (cell.atomic && now.atomic) return false;
  BlockOrder& order = *now.order;
  // Blocks and clocks beyond the cell's range count as ordered: a race may be missed, none
  // invented.
  if (order.block() >= 1u << 24 || cell.clock == kClockLimit) return false;
  if (cell.block != order.block()) return !order.received(cell.block, cell.thread, cell.clock);
  return !order.ordered(now.thread, cell.thread, cell.clock);
}

bool GlobalRaces::access(uint64_t offset, unsigned size, uint32_t stamp, const Accessor& now,
                         Rival* rival) {
  BlockOrder& order = *now.order;
  bool found = false;
  Cell self;
  self.stamp = stamp;
  self.block = order.block();
  self.thread = now.thread;
  self.clock = std::min(order.clock(now.thread), kClockLimit);
  self.atomic = now.atomic;
  const auto load = [](const uint64_t& word) {
    const uint64_t bits = __atomic_load_n(&word, __ATOMIC_RELAXED);
    Cell cell;
    std::memcpy(&cell, &bits, sizeof cell);
    return cell;
  };
  const auto store = [&](uint64_t& word, uint32_t& pc) {
    uint64_t bits;
    std::memcpy(&bits, &self, sizeof bits);
    __atomic_store_n(&word, bits, __ATOMIC_RELAXED);
    __atomic_store_n(&pc, now.pc, __ATOMIC_RELAXED);
  };
  const auto note = [&](const Cell& cell, bool wrote, const uint32_t& pc) {
    *rival = {wrote, cell.atomic != 0, __atomic_load_n(&pc, __ATOMIC_RELAXED), cell.block,
              static_cast<uint32_t>(cell.thread)};
    found = true;
  };
  for (uint64_t granule = offset / 4; granule <= (offset + size - 1) / 4; ++granule) {
    Granule& memory = granules_[granule];
    const unsigned bytes = bytes_in_granule(offset, size, granule);
    self.bytes = bytes;
    const Cell write = load(memory.write), read = load(memory.read);
    if (unordered(write, bytes, stamp, now)) note(write, true, memory.write_pc);
    if (!now.writes) {
      if (unordered(read, 15, stamp, now)) {
        store(memory.other_read, memory.other_read_pc);
      } else {
        store(memory.read, memory.read_pc);
      }
      continue;
    }
    if (!found && unordered(read, bytes, stamp, now)) note(read, false, memory.read_pc);
    const Cell other = load(memory.other_read);
    if (!found && unordered(other, bytes, stamp, now)) {
      note(other, false, memory.other_read_pc);
    }
    store(memory.write, memory.write_pc);
  }
  return found;
}

}  // namespace simt
