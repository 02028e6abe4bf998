#include "check_order.h"

#include <algorithm>

namespace simt {

void ReleaseBoard::clear() {
  newest_.clear();
  all_.clear();
  count_ = 0;
}

const Release* ReleaseBoard::find(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = newest_.find(address);
  return found == newest_.end() ? nullptr : found->second;
}

const Release* ReleaseBoard::publish(uint64_t address, Release release) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Release*& newest = newest_[address];
  release.through = newest;
  if (release.block_scope || release.own != release.own_in_block)
    __atomic_store_n(&of_block_scope_, true, __ATOMIC_RELAXED);
  release.everywhere = !release.block_scope && release.own == release.own_in_block &&
                       (newest == nullptr || newest->everywhere);
  for (const Received& each : release.received)
    release.everywhere &= !each.block_scope && each.release->everywhere;
  all_.push_back(std::move(release));
  newest = &all_.back();
  __atomic_fetch_add(&count_, 1, __ATOMIC_RELEASE);
  return newest;
}

void BlockOrder::begin(uint64_t block, unsigned threads) {
  block_ = block;
  threads_ = threads;
  base_ = newest_ = 1;
  fenced_before_barrier_ = newest_fence_ = 0;
  std::fill_n(clock_, threads, 1);
  std::fill_n(fence_, threads, 0);
  std::fill_n(block_fence_, threads, 0);
  std::fill_n(warp_base_, 32, 1);
  std::fill_n(partial_, 32, false);
  last_found_ = {nullptr, false};
  observed_.clear();
  received_.clear();
  unread_.clear();
  visited_.clear();
  visited_by_.clear();
  known_.clear();
}

void BlockOrder::barrier() {
  base_ = ++newest_;
  fenced_before_barrier_ = newest_fence_;
  std::fill_n(clock_, threads_, base_);
  std::fill_n(warp_base_, 32, base_);
  std::fill_n(partial_, 32, false);
}

void BlockOrder::warp_sync(unsigned warp, uint32_t lanes) {
  const unsigned first = warp * 32, count = std::min(32u, threads_ - first);
  const uint32_t all = count == 32 ? ~0u : (1u << count) - 1;
  uint32_t latest = 0;
  for (uint32_t todo = lanes; todo != 0; todo &= todo - 1) {
    latest = std::max(latest, clock_[first + __builtin_ctz(todo)]);
  }
  if (lanes == all) {
    warp_base_[warp] = latest + 1;
    partial_[warp] = false;
  } else {
    // Everyone taking part now knows what any of them knew.
    if (!partial_[warp]) {
      for (unsigned i = 0; i < count; ++i) std::fill_n(seen_[first + i], 32, 0);
      partial_[warp] = true;
    }
    uint32_t joined[32] = {};
    for (uint32_t todo = lanes; todo != 0; todo &= todo - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(todo));
      for (unsigned i = 0; i < 32; ++i) joined[i] = std::max(joined[i], seen_[first + lane][i]);
    }
    for (uint32_t todo = lanes; todo != 0; todo &= todo - 1) {
      const unsigned lane = static_cast<unsigned>(__builtin_ctz(todo));
      joined[lane] = clock_[first + lane] + 1;
    }
    for (uint32_t todo = lanes; todo != 0; todo &= todo - 1) {
      std::copy_n(joined, 32, seen_[first + __builtin_ctz(todo)]);
    }
  }
  for (uint32_t todo = lanes; todo != 0; todo &= todo - 1) {
    advance(first + static_cast<unsigned>(__builtin_ctz(todo)), latest + 1);
  }
}

void BlockOrder::fence(unsigned thread, bool block_scope) {
  release(thread, block_scope);
  acquire(block_scope);
}

void BlockOrder::release(unsigned thread, bool block_scope) {
  block_fence_[thread] = clock_[thread];
  if (!block_scope) {
    fence_[thread] = clock_[thread];
    newest_fence_ = std::max(newest_fence_, clock_[thread]);
  }
  advance(thread, clock_[thread] + 1);
}

void BlockOrder::acquire(bool block_scope) {
  for (Observed& each : observed_) {
    if (block_scope && each.received) continue;
    each.received = true;
    receive(Received{each.release, each.block_scope || block_scope});
  }
  if (!block_scope) observed_.clear();
}

void BlockOrder::receive(const Received& found) {
  received_.push_back(found);
  unread_.push_back({found, block_});
}

// What is published there, if the block did not find the same the last time that it looked.
const Release* BlockOrder::find_new(uint64_t address, ReleaseBoard& board, bool block_scope) {
  if (board.empty()) return nullptr;
  const Release* found = board.find(address);
  if (found == nullptr) return nullptr;
  if (found == last_found_.release && (block_scope || !last_found_.block_scope)) return nullptr;
  last_found_ = {found, block_scope};
  return found;
}

void BlockOrder::observe(uint64_t address, ReleaseBoard& board, bool block_scope) {
  if (const Release* found = find_new(address, board, block_scope))
    observed_.push_back({{found, block_scope}});
}

void BlockOrder::receive(uint64_t address, ReleaseBoard& board) {
  if (const Release* found = find_new(address, board)) receive(Received{found, false});
}

void BlockOrder::publish(unsigned thread, uint64_t address, ReleaseBoard& board, bool block_scope) {
  // Without a fence by the thread itself, what others fenced before the last barrier still counts.
  const bool fenced_now = fence_[thread] >= base_;
  const bool for_others = fenced_now || fenced_before_barrier_ != 0;
  if (!for_others && block_fence_[thread] < base_) return;
  Release release;
  release.block_scope = block_scope || !for_others;
  release.own = fence_[thread];
  release.own_in_block = block_fence_[thread];
  release.all_before = fenced_now ? base_ : std::min(base_, fenced_before_barrier_ + 1);
  release.thread = thread;
  release.address = address;
  release.at = clock_[thread];
  publish(board, address, std::move(release));
}

void BlockOrder::publish_all(unsigned thread, uint64_t address, ReleaseBoard& board) {
  Release release;
  release.own = release.own_in_block = clock_[thread];
  release.all_before = base_;
  release.thread = thread;
  release.warp_before = warp_base_[thread / 32];
  publish(board, address, std::move(release));
  advance(thread, clock_[thread] + 1);
}

// The release carries all that was received so far: one entry stands for the whole list.
const Release* BlockOrder::publish(ReleaseBoard& board, uint64_t address, Release release) {
  release.block = block_;
  release.received = received_;
  const Release* published = board.publish(address, std::move(release));
  received_.assign(1, {published, false});
  return published;
}

bool BlockOrder::is_new(const Unread& next) {
  if (visited_.count(next.release) != 0) return false;
  if (next.release->everywhere && !next.block_scope) return visited_.insert(next.release).second;
  return visited_by_.insert({next.release, next.by, next.block_scope}).second;
}

void BlockOrder::read_received() {
  while (!unread_.empty()) {
    const Unread next = unread_.back();
    unread_.pop_back();
    if (next.release == nullptr || !is_new(next)) continue;
    const Release& release = *next.release;
    unread_.push_back({{release.through, next.block_scope}, next.by});
    const bool own_block = release.block == next.by;
    if (!own_block && (release.block_scope || next.block_scope)) continue;
    Known& known = known_[release.block];
    known.all_before = std::max(known.all_before, release.all_before);
    uint32_t& own = known.own[release.thread];
    own = std::max(own, own_block ? release.own_in_block : release.own);
    if (release.at != 0) {
      uint32_t& published = known.published[{release.address, release.thread}];
      published = std::max(published, release.at);
    }
    if (release.warp_before != 0) {
      uint32_t& warp = known.warps[release.thread / 32];
      warp = std::max(warp, release.warp_before);
    }
    for (const Received& each : release.received) unread_.push_back({each, release.block});
  }
}

bool BlockOrder::received(uint64_t block, unsigned thread, uint32_t clock) {
  read_received();
  const auto found = known_.find(block);
  if (found == known_.end()) return false;
  if (clock < found->second.all_before) return true;
  const auto warp = found->second.warps.find(thread / 32);
  if (warp != found->second.warps.end() && clock < warp->second) return true;
  const auto own = found->second.own.find(thread);
  return own != found->second.own.end() && clock <= own->second;
}

bool BlockOrder::observed_at(uint64_t address, uint64_t block, unsigned thread, uint32_t clock) {
  // Of one word's publications the newest leads to all that came before it.
  const auto newest =
      std::find_if(observed_.rbegin(), observed_.rend(),
                   [&](const Observed& found) { return found.release->address == address; });
  const Release* next = newest == observed_.rend() ? nullptr : newest->release;
  for (; next != nullptr; next = next->through) {
    if (next->block == block && next->thread == thread && clock <= next->at) return true;
  }
  read_received();
  const auto found = known_.find(block);
  if (found == known_.end()) return false;
  const auto published = found->second.published.find({address, thread});
  return published != found->second.published.end() && clock <= published->second;
}

}  // namespace simt
