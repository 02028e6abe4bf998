#include "profile_requests.h"

#include <algorithm>

namespace simt {
namespace {

// The lowest lane of a mask, taken out of it.
unsigned take_lane(uint32_t& lanes) {
  const unsigned lane = static_cast<unsigned>(__builtin_ctz(lanes));
  lanes &= lanes - 1;
  return lane;
}

// Sectors touched so far, with the bytes used of each. Neighbouring lanes mostly touch the same or
// the next sector, so the search starts at the newest entry.
class SectorSet {
 public:
  void add(uint64_t sector, uint32_t bytes) {
    for (unsigned i = count_; i-- > 0;) {
      if (sector_[i] == sector) {
        bytes_[i] |= bytes;
        return;
      }
    }
    sector_[count_] = sector;
    bytes_[count_++] = bytes;
  }
  unsigned count() const { return count_; }
  unsigned bytes_used() const {
    unsigned sum = 0;
    for (unsigned i = 0; i < count_; ++i)
      sum += static_cast<unsigned>(__builtin_popcount(bytes_[i]));
    return sum;
  }

 private:
  // An access of at most 16 bytes touches at most two sectors.
  uint64_t sector_[2 * kRequestLanes];
  uint32_t bytes_[2 * kRequestLanes];
  unsigned count_ = 0;
};

// Words asked of each bank in one pass group.
class BankSet {
 public:
  void add(uint64_t word) {
    const unsigned bank = word % kBanks;
    for (unsigned i = 0; i < count_[bank]; ++i) {
      if (word_[bank][i] == word) return;  // the same word is read once and broadcast
    }
    word_[bank][count_[bank]++] = word;
    degree_ = std::max<unsigned>(degree_, count_[bank]);
  }
  unsigned degree() const { return degree_; }

 private:
  // An access that crosses words can add two per lane to a bank only if it is misaligned.
  uint64_t word_[kBanks][2 * kRequestLanes];
  uint8_t count_[kBanks] = {};
  unsigned degree_ = 0;
};

// Lane i at address[0] + i * size for all 32 lanes: what well written code does, worth a short cut.
bool is_contiguous(const WarpAccess& access) {
  if (access.lanes != ~0u) return false;
  bool same = true;
  for (unsigned lane = 1; lane < kRequestLanes; ++lane) {
    same &= access.address[lane] == access.address[0] + uint64_t{lane} * access.size;
  }
  return same;
}

bool is_broadcast(const WarpAccess& access) {
  uint32_t lanes = access.lanes;
  const uint64_t first = access.address[take_lane(lanes)];
  bool same = true;
  while (lanes != 0) same &= access.address[take_lane(lanes)] == first;
  return same;
}

}  // namespace

GlobalCost global_cost(const WarpAccess& access) {
  if (access.lanes == 0) return {0, 0};
  if (is_contiguous(access)) {
    const uint64_t begin = access.address[0], bytes = uint64_t{kRequestLanes} * access.size;
    const uint64_t sectors = (begin + bytes - 1) / kSectorBytes - begin / kSectorBytes + 1;
    return {static_cast<unsigned>(sectors), static_cast<unsigned>(bytes)};
  }
  SectorSet sectors;
  for (uint32_t lanes = access.lanes; lanes != 0;) {
    const uint64_t begin = access.address[take_lane(lanes)];
    const uint64_t offset = begin % kSectorBytes;
    const uint64_t bits = ((uint64_t{1} << access.size) - 1) << offset;
    sectors.add(begin / kSectorBytes, static_cast<uint32_t>(bits));
    if (bits >> kSectorBytes) {  // the access runs over into the next sector
      sectors.add(begin / kSectorBytes + 1, static_cast<uint32_t>(bits >> kSectorBytes));
    }
  }
  return {sectors.count(), sectors.bytes_used()};
}

SharedCost shared_cost(const WarpAccess& access) {
  SharedCost cost{0, 0, 0};
  if (access.lanes == 0) return cost;
  // A pass delivers 32 words at most: 8-byte accesses are served by half warps, 16-byte by
  // quarters.
  const unsigned words = std::max(1u, access.size / kBankBytes);
  const unsigned group = std::max(1u, kRequestLanes / words);
  if (access.size <= kBankBytes && (is_contiguous(access) || is_broadcast(access)))
    return {1, 1, 1};
  for (unsigned first = 0; first < kRequestLanes; first += group) {
    const uint32_t in_group = static_cast<uint32_t>((uint64_t{1} << group) - 1) << first;
    uint32_t lanes = access.lanes & in_group;
    if (lanes == 0) continue;
    BankSet banks;
    while (lanes != 0) {
      const uint64_t begin = access.address[take_lane(lanes)];
      const uint64_t last = (begin + access.size - 1) / kBankBytes;
      for (uint64_t word = begin / kBankBytes; word <= last; ++word) banks.add(word);
    }
    cost.wavefronts += banks.degree();
    cost.ideal_wavefronts += 1;
    cost.degree = std::max(cost.degree, banks.degree());
  }
  return cost;
}

AtomicCost atomic_cost(const WarpAccess& access) {
  uint64_t address[kRequestLanes];
  unsigned hits[kRequestLanes];
  AtomicCost cost{0, 0};
  for (uint32_t lanes = access.lanes; lanes != 0;) {
    const uint64_t wanted = access.address[take_lane(lanes)];
    unsigned i = 0;
    while (i < cost.addresses && address[i] != wanted) ++i;
    if (i == cost.addresses) {
      address[i] = wanted;
      hits[i] = 0;
      ++cost.addresses;
    }
    cost.serialization = std::max(cost.serialization, ++hits[i]);
  }
  return cost;
}

}  // namespace simt
