#include "check_order.h"

#include <algorithm>

namespace simt {
namespace {

constexpr unsigned index(Scope scope) { return static_cast<unsigned>(scope); }

template <class Key, class Map>
uint32_t at(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

template <class Map>
void join_newest(Map& map, const Map& other) {
  for (const auto& [key, clock] : other) {
    uint32_t& known = map[key];
    known = std::max(known, clock);
  }
}

bool is_among(const Fenced& others, unsigned thread, uint32_t clock) {
  return others != nullptr && std::any_of(others->begin(), others->end(), [&](const auto& other) {
           return other.first == thread && clock <= other.second;
         });
}

}  // namespace

bool Known::has(unsigned thread, uint32_t clock) const {
  if (clock < all_before || clock < at(warps, thread / 32)) return true;
  const auto found = own.find(thread);
  return found != own.end() && clock <= found->second;
}

bool Known::has_published(uint64_t address, unsigned thread, uint32_t clock) const {
  return clock <= at(published, std::pair<uint64_t, uint32_t>(address, thread));
}

void Known::join(const Known& other) {
  all_before = std::max(all_before, other.all_before);
  join_newest(published, other.published);
  join_newest(own, other.own);
  join_newest(warps, other.warps);
}

bool Knowledge::has_all(uint64_t id) const {
  const auto found = clock.find(LaunchId::stream(id));
  return found != clock.end() && found->second >= LaunchId::position(id);
}

bool Knowledge::has(uint64_t block, unsigned thread, uint32_t clock) const {
  if (has_all(block)) return true;
  const auto found = blocks.find(block);
  return found != blocks.end() && found->second.has(thread, clock);
}

bool Knowledge::has_published(uint64_t address, uint64_t block, unsigned thread,
                              uint32_t clock) const {
  if (has_all(block)) return true;
  const auto found = blocks.find(block);
  return found != blocks.end() && found->second.has_published(address, thread, clock);
}

bool Knowledge::has_published_in(uint64_t word, uint64_t block, unsigned thread,
                                 uint32_t clock) const {
  for (const uint64_t address :
       {word, word + 1, word + 2, word + 3, word & ~uint64_t{7}, word & ~uint64_t{15}})
    if (has_published(address, block, thread, clock)) return true;
  return false;
}

void Knowledge::join(const Knowledge& other) {
  for (const auto& [stream, position] : other.clock) {
    uint64_t& known = clock[stream];
    known = std::max(known, position);
  }
  for (const auto& [block, known] : other.blocks) blocks[block].join(known);
}

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
  release.everywhere =
      release.scope == Scope::kSystem &&
      release.own[index(Scope::kSystem)] == release.own[index(Scope::kBlock)] &&
      release.all_before[index(Scope::kSystem)] == release.all_before[index(Scope::kDevice)] &&
      release.warp_before[index(Scope::kSystem)] == release.warp_before[index(Scope::kBlock)] &&
      release.others[index(Scope::kSystem)] == release.others[index(Scope::kBlock)] &&
      release.others[index(Scope::kSystem)] == release.others[index(Scope::kDevice)] &&
      (newest == nullptr || newest->everywhere);
  for (const Received& each : release.received)
    release.everywhere &= each.scope == Scope::kSystem && each.release->everywhere;
  all_.push_back(std::move(release));
  newest = &all_.back();
  __atomic_fetch_add(&count_, 1, __ATOMIC_RELEASE);
  return newest;
}

void ReleaseBoard::pass_on(uint64_t address, uint64_t to) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = newest_.find(address);
  if (found != newest_.end()) newest_[to] = found->second;
}

void BlockOrder::begin(uint64_t number, unsigned threads, uint64_t launch, const Knowledge* start) {
  block_ = LaunchId::block(launch, number);
  number_ = number;
  launch_ = launch;
  start_ = start;
  learned_.clear();
  threads_ = threads;
  base_ = newest_ = 1;
  std::fill_n(fenced_before_barrier_, kScopes, 0);
  for (Fenced& each : fenced_threads_) each = nullptr;
  has_fenced_ = has_newly_fenced_ = false;
  std::fill_n(fenced_base_, kScopes, 0);
  std::fill_n(clock_, threads, 1);
  for (auto& fences : fence_) std::fill_n(fences, threads, 0);
  fence_lanes_.clear();
  std::fill_n(warp_base_, 32, 1);
  std::fill_n(partial_, 32, false);
  last_found_ = {nullptr, Scope::kBlock};
  observed_.clear();
  received_.clear();
  unread_.clear();
  visited_.clear();
  visited_by_.clear();
  known_.clear();
}

void BlockOrder::barrier() {
  if (has_newly_fenced_) keep_visible();
  base_ = ++newest_;
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

void BlockOrder::fence(unsigned thread, Scope scope) {
  release(thread, scope);
  acquire(scope);
}

void BlockOrder::release(unsigned thread, Scope scope) {
  const Fenced lanes = partial_[thread / 32] ? lanes_met(thread) : nullptr;
  for (unsigned reach = 0; reach <= index(scope); ++reach) {
    fence_[reach][thread] = clock_[thread];
    fence_warp_[reach][thread] = warp_base_[thread / 32];
    if (lanes != nullptr) {
      fence_lanes_[{reach, thread}] = lanes;
    } else {
      fence_lanes_.erase({reach, thread});
    }
  }
  if (scope != Scope::kBlock) make_visible(thread, scope);
  advance(thread, clock_[thread] + 1);
}

// Of the lanes of a warp that has met in part: what the thread knows of each.
Fenced BlockOrder::lanes_met(unsigned thread) const {
  const unsigned first = thread / 32 * 32, count = std::min(32u, threads_ - first);
  std::vector<std::pair<uint32_t, uint32_t>> lanes;
  for (unsigned i = 0; i < count; ++i)
    if (seen_[thread][i] > warp_base_[thread / 32])
      lanes.push_back({first + i, seen_[thread][i] - 1});
  return std::make_shared<const std::vector<std::pair<uint32_t, uint32_t>>>(std::move(lanes));
}

// The same as of its last fence that reaches so far.
Fenced BlockOrder::fence_lanes(unsigned reach, unsigned thread) const {
  const auto found = fence_lanes_.find({reach, thread});
  return found == fence_lanes_.end() ? nullptr : found->second;
}

// A fence of `thread`: what it did, what its warp did before it last met, and what the block did
// before the last barrier.
void BlockOrder::make_visible(unsigned thread, Scope scope) {
  if (!has_fenced_) {
    for (auto& visible : visible_) std::fill_n(visible, threads_, 0);
  }
  has_fenced_ = has_newly_fenced_ = true;
  const unsigned warp = thread / 32, first = warp * 32, count = std::min(32u, threads_ - first);
  for (unsigned reach = index(Scope::kDevice); reach <= index(scope); ++reach) {
    uint32_t* const visible = visible_[reach];
    fenced_base_[reach] = base_;
    visible[thread] = clock_[thread];
    if (warp_base_[warp] == base_ && !partial_[warp]) continue;  // it has not met
    for (unsigned i = 0; i < count; ++i) {
      const uint32_t met = std::max(warp_base_[warp], partial_[warp] ? seen_[thread][i] : 0);
      visible[first + i] = std::max(visible[first + i], met - 1);
    }
  }
}

// At a barrier, what fences have made visible by now becomes what any thread may publish.
void BlockOrder::keep_visible() {
  for (const Scope scope : {Scope::kDevice, Scope::kSystem}) {
    const unsigned i = index(scope);
    if (fenced_base_[i] == 0) continue;
    const uint32_t all = *std::min_element(visible_[i], visible_[i] + threads_);
    fenced_before_barrier_[i] = std::max(fenced_base_[i], all + 1);
    std::vector<std::pair<uint32_t, uint32_t>> more;
    for (unsigned thread = 0; thread < threads_; ++thread) {
      const uint32_t visible = visible_[i][thread];
      if (visible >= fenced_before_barrier_[i]) more.push_back({thread, visible});
    }
    const Fenced& nearer = fenced_threads_[index(Scope::kDevice)];
    if (more.empty()) {
      fenced_threads_[i] = nullptr;
    } else if (nearer != nullptr && *nearer == more) {
      fenced_threads_[i] = nearer;
    } else {
      fenced_threads_[i] =
          std::make_shared<const std::vector<std::pair<uint32_t, uint32_t>>>(std::move(more));
    }
  }
  has_newly_fenced_ = false;
}

void BlockOrder::acquire(Scope scope) {
  for (Observed& each : observed_) {
    if (static_cast<int>(scope) <= each.reached) continue;
    each.reached = static_cast<int>(scope);
    receive(Received{each.release, std::min(each.scope, scope)});
  }
  if (scope == Scope::kSystem) observed_.clear();
}

void BlockOrder::receive(const Received& found) {
  received_.push_back(found);
  unread_.push_back({found, block_});
}

// What is published there, if the block did not find the same the last time that it looked.
const Release* BlockOrder::find_new(uint64_t address, ReleaseBoard& board, Scope scope) {
  if (board.empty()) return nullptr;
  const Release* found = board.find(address);
  if (found == nullptr) return nullptr;
  if (found == last_found_.release && scope <= last_found_.scope) return nullptr;
  last_found_ = {found, scope};
  return found;
}

void BlockOrder::observe(uint64_t address, ReleaseBoard& board, Scope scope) {
  if (const Release* found = find_new(address, board, scope)) observed_.push_back({{found, scope}});
}

void BlockOrder::receive(uint64_t address, ReleaseBoard& board) {
  if (const Release* found = find_new(address, board)) receive(Received{found, Scope::kSystem});
}

void BlockOrder::publish(unsigned thread, uint64_t address, ReleaseBoard& board, Scope scope) {
  // How far the thread's own fences reach, or those of others before the last barrier, which count
  // for other blocks: each for what its thread had done or knew of by then.
  int reach = fence_[index(Scope::kBlock)][thread] >= base_ ? 0 : -1;
  Release release;
  for (const Scope each : {Scope::kDevice, Scope::kSystem}) {
    const unsigned i = index(each);
    const bool fenced_now = fence_[i][thread] >= base_;
    if (fenced_now || fenced_before_barrier_[i] != 0) reach = static_cast<int>(i);
    release.own[i] = fence_[i][thread];
    release.all_before[i] = fenced_now ? base_ : fenced_before_barrier_[i];
    release.warp_before[i] = fenced_now ? fence_warp_[i][thread] : 0;
    release.others[i] = fenced_now ? fence_lanes(i, thread) : fenced_threads_[i];
  }
  if (reach < 0) return;
  const unsigned near = index(Scope::kBlock);
  const bool fenced_near = fence_[near][thread] >= base_;
  release.own[near] = fence_[near][thread];
  release.all_before[near] = release.all_before[index(Scope::kDevice)];
  release.warp_before[near] = fenced_near ? fence_warp_[near][thread] : 0;
  release.others[near] =
      fenced_near ? fence_lanes(near, thread) : release.others[index(Scope::kDevice)];
  release.scope = std::min(scope, static_cast<Scope>(reach));
  release.thread = thread;
  release.address = address;
  release.at = clock_[thread];
  publish(board, address, std::move(release));
}

void BlockOrder::publish_all(unsigned thread, uint64_t address, ReleaseBoard& board) {
  Release release;
  std::fill_n(release.own, kScopes, clock_[thread]);
  std::fill_n(release.all_before, kScopes, base_);
  release.thread = thread;
  std::fill_n(release.warp_before, kScopes, warp_base_[thread / 32]);
  publish(board, address, std::move(release));
  advance(thread, clock_[thread] + 1);
}

// The release carries all that was received so far: one entry stands for the whole list.
const Release* BlockOrder::publish(ReleaseBoard& board, uint64_t address, Release release) {
  release.block = block_;
  release.start = start_;
  release.received = received_;
  const Release* published = board.publish(address, std::move(release));
  received_.assign(1, {published, Scope::kSystem});
  return published;
}

bool BlockOrder::is_new(const Unread& next) {
  if (visited_.count(next.release) != 0) return false;
  if (next.release->everywhere && next.scope == Scope::kSystem)
    return visited_.insert(next.release).second;
  return visited_by_.insert({next.release, next.by, next.scope}).second;
}

void BlockOrder::read_received() {
  while (!unread_.empty()) {
    const Unread next = unread_.back();
    unread_.pop_back();
    if (next.release == nullptr || !is_new(next)) continue;
    const Release& release = *next.release;
    unread_.push_back({{release.through, next.scope}, next.by});
    const Scope between = scope_between(release.block, next.by);
    if (release.scope < between || next.scope < between) continue;
    Known& known = known_[release.block];
    known.all_before = std::max(known.all_before, release.all_before[index(between)]);
    uint32_t& own = known.own[release.thread];
    own = std::max(own, release.own[index(between)]);
    if (const Fenced& others = release.others[index(between)]) {
      for (const auto& [thread, clock] : *others) {
        uint32_t& other = known.own[thread];
        other = std::max(other, clock);
      }
    }
    if (release.at != 0) {
      uint32_t& published = known.published[{release.address, release.thread}];
      published = std::max(published, release.at);
    }
    if (const uint32_t met = release.warp_before[index(between)]) {
      uint32_t& warp = known.warps[release.thread / 32];
      warp = std::max(warp, met);
    }
    if (release.start != start_ &&
        std::find(learned_.begin(), learned_.end(), release.start) == learned_.end())
      learned_.push_back(release.start);
    for (const Received& each : release.received) unread_.push_back({each, release.block});
  }
}

bool BlockOrder::received(uint64_t block, unsigned thread, uint32_t clock) {
  read_received();
  const auto found = known_.find(block);
  if (found != known_.end() && found->second.has(thread, clock)) return true;
  if (start_ != nullptr && start_->has(block, thread, clock)) return true;
  return std::any_of(learned_.begin(), learned_.end(),
                     [&](const Knowledge* start) { return start->has(block, thread, clock); });
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
  if (found != known_.end() && found->second.has_published(address, thread, clock)) return true;
  const auto has = [&](const Knowledge* start) {
    return start->has_published(address, block, thread, clock);
  };
  return (start_ != nullptr && has(start_)) || std::any_of(learned_.begin(), learned_.end(), has);
}

bool BlockOrder::in_reach_of_wider_scopes(uint64_t block, unsigned thread, uint32_t clock) const {
  std::vector<const Release*> unread;
  for (const Received& each : received_) unread.push_back(each.release);
  std::unordered_set<const Release*> visited;
  while (!unread.empty()) {
    const Release* release = unread.back();
    unread.pop_back();
    if (release == nullptr || !visited.insert(release).second) continue;
    if (release->block == block &&
        (clock < release->all_before[index(Scope::kBlock)] ||
         (thread == release->thread && clock <= release->own[index(Scope::kBlock)]) ||
         (thread / 32 == release->thread / 32 &&
          clock < release->warp_before[index(Scope::kBlock)]) ||
         is_among(release->others[index(Scope::kBlock)], thread, clock)))
      return true;
    if (release->start != nullptr && release->start->has(block, thread, clock)) return true;
    unread.push_back(release->through);
    for (const Received& each : release->received) unread.push_back(each.release);
  }
  return false;
}

void BlockOrder::pass_on(Knowledge& to, std::set<const Knowledge*>& joined) {
  acquire();  // a kernel's end does what a fence does
  read_received();
  for (const auto& [block, known] : known_) to.blocks[block].join(known);
  for (const Knowledge* start : learned_)
    if (joined.insert(start).second) to.join(*start);
}

}  // namespace simt
