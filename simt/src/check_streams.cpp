// What the host, its streams and its copies do at the same time. A kernel, a copy or a fill has a
// place among the operations of all streams (engine.h); two that touch the same bytes, one of them
// writing, must be ordered by a stream, an event or a wait. The host's own accesses are seen in
// managed and page-locked memory. They are noted with how many operations it had asked for: what it
// does after it asked for one, and before it has waited for it, is done at the same time.
//
// Words that both sides read and write by volatile or atomic accesses are how host and kernel may
// talk to one another; they order what they find.

#include <algorithm>

#include "device.h"
#include "dwarf_lines.h"
#include "memory.h"
#include "observe.h"
#include "options.h"

namespace simt {
namespace {

// What the worker that asks carries out at the moment.
thread_local std::shared_ptr<const Place> present;
thread_local uint32_t present_stamp = 0;  // once it has one: all rows of a copy have the same
// Where this host thread looked last by a volatile or an atomic read. The hook comes before the
// read itself, so what that has found is known at the thread's next step.
thread_local uint64_t listened = 0;

constexpr const char* kHostWaits =
    "the host has not waited: cudaDeviceSynchronize, cudaStreamSynchronize or an event";

std::string line_of(Location at) {
  return at.file == nullptr || at.line == 0 ? "?"
                                            : std::string(at.file) + ":" + std::to_string(at.line);
}

class OthersOfPlace final : public OtherWork {
 public:
  explicit OthersOfPlace(const Place& place) : OtherWork(GlobalRaces::kStamps), place_(place) {}
  uint64_t base = 0;  // of the memory that is touched
  bool unordered(const Earlier& then, const Accessor*) override {
    if (then.stamp == 0) return then.asked() >= place_.asked;
    if (watcher->unordered_work(then.stamp, place_)) return !is_known(then);
    before_[then.stamp].store(true, std::memory_order_relaxed);
    return false;
  }

 private:
  // By way of flags between kernels.
  bool is_known(const Earlier& then) {
    if (options().devices == 1) return false;
    if (known_ == nullptr) known_ = std::make_unique<Knowledge>(watcher->known_before(place_));
    const uint64_t block = LaunchId::block(watcher->id_of(then.stamp), then.block);
    if (known_->has(block, then.thread, then.clock)) return true;
    // The flag itself: a kernel has found it, so what comes after that kernel may reset it.
    return then.atomic &&
           known_->has_published_in(base + then.offset, block, then.thread, then.clock);
  }

  const Place& place_;
  std::unique_ptr<Knowledge> known_;
};

class OthersOfHost final : public OtherWork {
 public:
  OthersOfHost() : OtherWork(GlobalRaces::kStamps) {}
  bool unordered(const Earlier& then, const Accessor*) override {
    return then.stamp != 0 && watcher->unordered_work(then.stamp, host_);
  }

 private:
  Place host_;  // no stream: number 0
};

}  // namespace

bool Watcher::unordered_work(uint32_t stamp, const Place& place) {
  const bool by_host = place.stream == 0;
  if (by_host && waited_[stamp].load(std::memory_order_relaxed)) return false;
  std::shared_ptr<const Place> other;
  {
    std::lock_guard<std::mutex> lock(stamp_mutex_);
    other = works_[stamp].place;
  }
  if (other == nullptr) return false;
  if (!by_host) return !place.comes_after(*other);
  const bool waited = Device::get().host_has_waited(*other);
  if (waited) waited_[stamp].store(true, std::memory_order_relaxed);
  return !waited;
}

bool LaunchWatch::unordered(const Earlier& then, const Accessor* now) {
  if (then.stamp == 0) return then.asked() >= asked.load(std::memory_order_relaxed);
  if (!watcher->unordered_work(then.stamp, *work.place)) {
    before_[then.stamp].store(true, std::memory_order_relaxed);
    return false;
  }
  if (work.id == 0) return true;
  // Kernels of several devices, or streams, that run at the same time and talk to one another.
  BlockOrder& order = *now->order;
  const uint64_t block = LaunchId::block(watcher->id_of(then.stamp), then.block);
  if (order.received(block, then.thread, then.clock)) return false;
  if (!then.atomic) return true;
  const Scope between = scope_between(block, order.block());
  const bool in_reach = then.scope >= between && now->scope >= between;
  return !in_reach ||
         !(now->atomic || order.observed_at(now->address, block, then.thread, then.clock));
}

void LaunchWatch::learns(BlockOrder& order) {
  std::lock_guard<std::mutex> lock(mutex);
  order.pass_on(learned_, joined_);
}

// Without what everybody knows who comes behind the launch.
Knowledge LaunchWatch::take_learned() {
  learned_.join(*start);
  auto& blocks = learned_.blocks;
  for (auto each = blocks.begin(); each != blocks.end();) {
    const bool own = LaunchId::stream(each->first) == LaunchId::stream(work.id) &&
                     LaunchId::position(each->first) == LaunchId::position(work.id);
    each = own || learned_.has_all(each->first) ? blocks.erase(each) : std::next(each);
  }
  return std::move(learned_);
}

uint64_t Watcher::id_of(uint32_t stamp) {
  std::lock_guard<std::mutex> lock(stamp_mutex_);
  return works_[stamp].id;
}

Knowledge Watcher::known_before(const Place& place) {
  Knowledge known;
  known.clock = place.clock;
  // Nodes of a graph share one place, and count as ordered.
  uint64_t& own = known.clock[place.stream];
  own = std::max(own, place.position) - (place.in_graph ? 0 : 1);
  std::lock_guard<std::mutex> lock(knowledge_mutex_);
  for (const auto& [stream, position] : StreamClock(known.clock)) {
    const auto ends = ends_.find(stream);
    if (ends == ends_.end()) continue;
    const auto behind = ends->second.upper_bound(position);
    if (behind != ends->second.begin()) known.join(std::prev(behind)->second);
  }
  return known;
}

// No launch runs: when there is much to remember, all accesses so far count as ordered.
void Watcher::forget_launches() {
  std::lock_guard<std::mutex> lock(knowledge_mutex_);
  constexpr size_t kReleases = 1 << 16, kLaunches = 256;
  if (board.size() < kReleases && starts_.size() < kLaunches) return;
  memory.clear_races();
  board.clear();
  starts_.clear();
  ends_.clear();
}

void LaunchWatch::listens() {
  const uint64_t now = Device::get().asked() + 1;
  if (asked.load(std::memory_order_relaxed) < now) asked.store(now, std::memory_order_relaxed);
}

void Watcher::task_begins(const std::shared_ptr<const Place>& place) {
  present = place;
  present_stamp = 0;
}
void Watcher::task_ends() { present = nullptr; }

void Watcher::host_sees(uint64_t address) {
  uint32_t stamp = 0;
  memory.with(address, 1, [&](WatchedMemory& found, uint64_t offset, uint64_t) {
    stamp = found.races->last_writer(offset);
  });
  if (stamp == 0) return;
  std::shared_ptr<const Place> place;
  {
    std::lock_guard<std::mutex> lock(stamp_mutex_);
    place = works_[stamp].place;
  }
  if (place != nullptr) Device::get().host_sees(*place);
}

void Watcher::host_asks() {
  if (listened != 0) host_sees(listened);
  listened = 0;
  if (kept_.load(std::memory_order_relaxed) < kKept) return;
  // Nothing is under way, so what the host has waited for comes before all that it asks for from
  // now on: to keep it is no use.
  if (!Device::get().idle()) return;
  std::lock_guard<std::mutex> lock(stamp_mutex_);
  unsigned kept = 0;
  for (Work& work : works_) {
    if (work.place == nullptr) continue;
    if (Device::get().host_has_waited(*work.place)) {
      work = Work();
    } else {
      ++kept;
    }
  }
  kept_ = kept;
}

void Watcher::host_touches_variable(uint64_t address, uint32_t pc, Use use) {
  if (!checking || present != nullptr) return;
  Allocation variable;
  if (!find_allocation(reinterpret_cast<const void*>(address), &variable) || variable.guard ||
      variable.fixed || variable.kind != MemoryKind::kSymbol)
    return;
  report("device-variable",
         std::string("host code ") + (writes(use) ? "writes" : "reads") + " its own " +
             variable.name + ", not the device's",
         pc,
         std::string(writes(use) ? "cudaMemcpyToSymbol" : "cudaMemcpyFromSymbol") +
             " copies the device's");
}

void Watcher::host_shares(uint64_t address, unsigned size, uint32_t pc, Use use) {
  if (!checking || present != nullptr) return;  // a host function comes after what is before it
  host_asks();
  if (is_volatile(use) || is_atomic(use)) {
    if (reads(use)) listened = address;
    return;
  }
  static OthersOfHost others;
  Rival rival;
  uint64_t where = 0, base = 0;
  bool found = false;
  memory.with(address, size, [&](WatchedMemory& of, uint64_t offset, uint64_t bytes) {
    base = of.base;
    found = of.races->access_of_work(offset, bytes, 0, Device::get().asked(), pc, writes(use), true,
                                     others, &rival, &where);
  });
  if (base == 0) return host_access(address, pc, writes(use));  // between two of them
  if (!found) return;
  const SourceLine here = line_of_return_address(pc);
  CheckReport report;
  report.file = here.file;
  report.line = here.line;
  report_unordered(std::string("host code ") + (writes(use) ? "writes" : "reads"), to_string(here),
                   rival, base + where, std::move(report), kHostWaits);
}

// The present copy or fill.
void Watcher::work_touches(uint64_t address, uint64_t bytes, bool writes, const char* what,
                           Location at) {
  if (!checking || present == nullptr || bytes == 0) return;
  const std::shared_ptr<const Place> place = present;
  // What the host waits for, only another stream's work can meet later: it was asked for before,
  // and has not run yet.
  const bool several = Device::get().several_streams();
  if (!memory.host_shares(address) && !several) return;
  OthersOfPlace others(*place);
  const bool stays = several || !place->waits;
  if (stays && present_stamp == 0)
    present_stamp = new_stamp({LaunchId::make(0, *place), place, what, at});
  const uint32_t stamp = stays ? present_stamp : GlobalRaces::kStamps;
  Rival rival;
  uint64_t where = 0, base = 0;
  bool found = false;
  memory.with(address, bytes, [&](WatchedMemory& of, uint64_t offset, uint64_t part) {
    base = others.base = of.base;
    found =
        of.races->access_of_work(offset, part, stamp, 0, 0, writes, stays, others, &rival, &where);
  });
  if (!found) return;
  CheckReport report;
  report.file = at.file == nullptr ? "" : at.file;
  report.line = static_cast<unsigned>(at.line);
  report_unordered(std::string(what) + (writes ? " writes" : " reads"), line_of(at), rival,
                   base + where, std::move(report), "");
}

void Watcher::copied(void* to, const void* from, size_t bytes, Location at) {
  const auto target = reinterpret_cast<uint64_t>(to), source = reinterpret_cast<uint64_t>(from);
  work_touches(source, bytes, false, "a copy", at);
  work_touches(target, bytes, true, "a copy", at);
  if (is_counting() && options().devices > 1) {
    const int there = owner_of(to), here = owner_of(from);
    if (there >= 0 && here >= 0 && there != here) {
      Counters between;
      between.launches = 1;
      between.count(Beside::kLinkWritten, bytes);
      book.add("copies between devices", between);
    }
  }
  if (checking && !in_device_range(to)) {
    const uint64_t unwritten = memory.unwritten(source, bytes);
    if (unwritten != 0) {
      CheckReport report;
      report.check = "uninitialized";
      report.file = at.file == nullptr ? "" : at.file;
      report.line = static_cast<unsigned>(at.line);
      report.message = "error [uninitialized]: a copy brings " + std::to_string(bytes) +
                       " bytes to the host, of which nobody wrote " + std::to_string(unwritten) +
                       "\n  at " + line_of(at) + "\n  " + describe_address(from);
      reports.add(std::move(report), {line_of(at)});
    }
  }
  memory.copied(to, from, bytes);
}

void Watcher::filled(void* to, size_t bytes, Location at) {
  work_touches(reinterpret_cast<uint64_t>(to), bytes, true, "a fill", at);
  // Other bytes than zeros, one at a time, could carry what host code has computed.
  const auto* begin = static_cast<const char*>(to);
  const bool is_zero = std::all_of(begin, begin + bytes, [](char byte) { return byte == 0; });
  memory.filled(to, bytes, is_zero ? kByKernel : kByHost);
}

void Watcher::stream_frees(const Allocation& allocation, Location at) {
  work_touches(reinterpret_cast<uint64_t>(allocation.base), allocation.bytes, true, "cudaFreeAsync",
               at);
}

std::string Watcher::describe_work(const Rival& rival) {
  const char* does = rival.wrote ? " writes" : " reads";
  if (rival.stamp == 0) return to_string(line_of_return_address(rival.pc)) + ": host code" + does;
  Work work;
  {
    std::lock_guard<std::mutex> lock(stamp_mutex_);
    work = works_[rival.stamp];
  }
  if (rival.pc == 0) return line_of(work.at) + ": " + work.what + does;
  return to_string(line_of_return_address(rival.pc)) + ": " + work.what + does + ", launched at " +
         line_of(work.at);
}

void Watcher::report_unordered(const std::string& now, const std::string& place, const Rival& rival,
                               uint64_t address, CheckReport report, const std::string& missing) {
  const std::string other = describe_work(rival);
  report.check = "unordered";
  report.message =
      "error [unordered]: two that nothing orders touch the same bytes, and one of them writes\n  "
      "at " +
      place + ": " + now + "\n  at " + other + "\n  " +
      describe_address(reinterpret_cast<const void*>(address)) + "\n  " +
      (!missing.empty()   ? missing
       : rival.stamp == 0 ? kHostWaits
                          : "their streams do not wait for one another: record an event, "
                            "cudaStreamWaitEvent");
  reports.add(std::move(report), {place, other.substr(0, other.find(": "))});
}

}  // namespace simt
