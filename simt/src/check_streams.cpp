// What the host, its streams and its copies do at the same time. A kernel, a copy or a fill has a
// place among the operations of all streams (engine.h); two that touch the same bytes, one of them
// writing, must be ordered by a stream, an event or a wait. The host's own accesses are seen in
// managed and page-locked memory. They are noted with how many operations it had asked for: what it
// does after it asked for one, and before it has waited for it, is done at the same time.
//
// Words that both sides read and write by volatile or atomic accesses are how host and kernel may
// talk to one another; they order what they find.

#include "device.h"
#include "dwarf_lines.h"
#include "observe.h"

namespace simt {
namespace {

// What the worker that asks carries out at the moment.
thread_local std::shared_ptr<const Place> present;
thread_local uint32_t present_stamp = 0;  // once it has one: all rows of a copy have the same
// Where this host thread looked last by a volatile or an atomic read. The hook comes before the
// read itself, so what that has found is known at the thread's next step.
thread_local uint64_t listened = 0;

std::string line_of(Location at) {
  return at.file == nullptr || at.line == 0 ? "?"
                                            : std::string(at.file) + ":" + std::to_string(at.line);
}

class OthersOfPlace final : public OtherWork {
 public:
  explicit OthersOfPlace(const Place& place) : OtherWork(GlobalRaces::kStamps), place_(place) {}
  bool unordered(uint32_t stamp, uint64_t asked) override {
    if (stamp == 0) return asked >= place_.asked;
    if (watcher->unordered_work(stamp, place_)) return true;
    before_[stamp].store(true, std::memory_order_relaxed);
    return false;
  }

 private:
  const Place& place_;
};

class OthersOfHost final : public OtherWork {
 public:
  OthersOfHost() : OtherWork(GlobalRaces::kStamps) {}
  bool unordered(uint32_t stamp, uint64_t) override {
    return stamp != 0 && watcher->unordered_work(stamp, host_);
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

bool LaunchWatch::unordered(uint32_t stamp, uint64_t asked_then) {
  if (stamp == 0) return asked_then >= asked.load(std::memory_order_relaxed);
  if (watcher->unordered_work(stamp, *work.place)) return true;
  before_[stamp].store(true, std::memory_order_relaxed);
  return false;
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
  // Nothing is under way, so what the host has waited for comes before all that it asks for from
  // now on: to keep it is no use.
  if (!Device::get().idle()) return;
  std::lock_guard<std::mutex> lock(stamp_mutex_);
  if (kept_ < kKept) return;
  kept_ = 0;
  for (Work& work : works_) {
    if (work.place == nullptr) continue;
    if (Device::get().host_has_waited(*work.place)) {
      work = Work();
    } else {
      ++kept_;
    }
  }
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
  if (!found) return;
  const SourceLine here = line_of_return_address(pc);
  CheckReport report;
  report.file = here.file;
  report.line = here.line;
  report_unordered(std::string("host code ") + (writes(use) ? "writes" : "reads"), to_string(here),
                   rival, base + where, std::move(report), true);
}

// The present copy or fill.
void Watcher::work_touches(uint64_t address, uint64_t bytes, bool writes, const char* what,
                           Location at) {
  if (!checking || present == nullptr || bytes == 0) return;
  const std::shared_ptr<const Place> place = present;
  // What the host waits for, nobody can meet later; nor can another stream, if there is none.
  if (!memory.host_shares(address) && !Device::get().several_streams()) return;
  OthersOfPlace others(*place);
  const bool stays = !place->waits;
  if (stays && present_stamp == 0) present_stamp = new_stamp({place, what, at});
  const uint32_t stamp = stays ? present_stamp : GlobalRaces::kStamps;
  Rival rival;
  uint64_t where = 0, base = 0;
  bool found = false;
  memory.with(address, bytes, [&](WatchedMemory& of, uint64_t offset, uint64_t part) {
    base = of.base;
    found =
        of.races->access_of_work(offset, part, stamp, 0, 0, writes, stays, others, &rival, &where);
  });
  if (!found) return;
  CheckReport report;
  report.file = at.file == nullptr ? "" : at.file;
  report.line = static_cast<unsigned>(at.line);
  report_unordered(std::string(what) + (writes ? " writes" : " reads"), line_of(at), rival,
                   base + where, std::move(report), false);
}

void Watcher::copied(void* to, const void* from, size_t bytes, Location at) {
  const auto target = reinterpret_cast<uint64_t>(to), source = reinterpret_cast<uint64_t>(from);
  work_touches(source, bytes, false, "a copy", at);
  work_touches(target, bytes, true, "a copy", at);
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
  memory.filled(to, bytes);
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
                               uint64_t address, CheckReport report, bool host) {
  const std::string other = describe_work(rival);
  report.check = "unordered";
  report.message =
      "error [unordered]: two that nothing orders touch the same bytes, and one of them writes\n  "
      "at " +
      place + ": " + now + "\n  at " + other + "\n  " +
      describe_address(reinterpret_cast<const void*>(address)) + "\n  " +
      (host || rival.stamp == 0
           ? "the host has not waited: cudaDeviceSynchronize, cudaStreamSynchronize or an event"
           : "their streams do not wait for one another: record an event, cudaStreamWaitEvent");
  reports.add(std::move(report), {place, other.substr(0, other.find(": "))});
}

}  // namespace simt
