#include "observe.h"

#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>

#include "device.h"
#include "dwarf_lines.h"
#include "memory.h"
#include "options.h"
#include "profile_report.h"
#include "simt/runtime_types.h"
#include "worker.h"

namespace simt {
namespace {

// "0" means no, anything else yes.
bool environment_says(const char* name, bool otherwise) {
  const char* value = setting(name);
  return value == nullptr || *value == 0 ? otherwise : std::strcmp(value, "0") != 0;
}

bool all_written = true;  // of the files that the environment asks for

// A program with an error does not exit 0, whatever it thinks of the error itself.
void correct_exit_status(int status, void*) {
  if ((!watcher->reports.any_errors() && all_written) || status != 0) return;
  std::cout.flush();
  fflush(nullptr);
  _exit(1);
}

// The program's own code and data, the part of it that may change, and what it holds thread by
// thread.
struct ProgramImage {
  uint64_t begin = ~uint64_t{0}, end = 0, variables = ~uint64_t{0}, variables_end = 0;
  uint64_t thread_bytes = 0;
};

const ProgramImage& program_image() {
  static const ProgramImage image = [] {
    ProgramImage found;
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* result) {
          auto& image = *static_cast<ProgramImage*>(result);
          uint64_t relocated = 0;
          for (int i = 0; i < object->dlpi_phnum; ++i) {
            const auto& segment = object->dlpi_phdr[i];
            const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
            if (segment.p_type == PT_LOAD) {
              image.begin = std::min(image.begin, begin);
              image.end = std::max(image.end, begin + segment.p_memsz);
              if ((segment.p_flags & PF_W) != 0) {
                image.variables = std::min(image.variables, begin);
                image.variables_end = std::max(image.variables_end, begin + segment.p_memsz);
              }
            }
            if (segment.p_type == PT_GNU_RELRO) relocated = begin + segment.p_memsz;
            if (segment.p_type == PT_TLS) image.thread_bytes = segment.p_memsz;
          }
          // Constants with addresses in them come first, and are for reading from now on.
          image.variables = std::max(image.variables, relocated);
          return 1;  // the first object is the program
        },
        &found);
    return found;
  }();
  return image;
}

}  // namespace

Watcher* watcher = nullptr;

namespace {
std::atomic<bool> counting{environment_says("SIMT_PROFILE", false) ||
                           environment_says("SIMT_PROFILE_JSON", false)};
}  // namespace

bool Watcher::is_counting() { return counting; }

std::unique_ptr<Observer> make_observer() {
  auto made = std::make_unique<Watcher>();
  watcher = made.get();
  on_exit(correct_exit_status, nullptr);
  return made;
}

Watcher::Watcher()
    : checking(environment_says("SIMT_CHECK", true)),
      program_base(simt::program_base()),
      thread_data_bytes(program_image().thread_bytes) {
  for_each_symbol([this](const Allocation& variable) {
    if (variable.kind == MemoryKind::kManaged) memory.allocated(variable);
  });
}

// ---- launches ---------------------------------------------------------------------------------

uint32_t Watcher::new_stamp(const Work& work) {
  std::lock_guard<std::mutex> lock(stamp_mutex_);
  if (next_stamp_ == GlobalRaces::kStamps) {
    memory.clear_races();
    next_stamp_ = 1;
  }
  works_[next_stamp_] = work;
  ++kept_;
  waited_[next_stamp_] = false;
  return next_stamp_++;
}

uint32_t LaunchWatch::stamp(unsigned phase) {
  std::lock_guard<std::mutex> lock(stamp_mutex_);
  while (stamps_.size() <= phase) stamps_.push_back(watcher->new_stamp(work));
  return stamps_[phase];
}

LaunchWatch::LaunchWatch(const Launch& launch, bool counting)
    : OtherWork(GlobalRaces::kStamps),
      name(launch.name()),
      counting(counting),
      work{options().devices > 1 ? LaunchId::make(launch.device, *launch.place) : 0, launch.place,
           "kernel " + name_with_device(launch), launch.at},
      asked(launch.place->asked),
      board(options().devices > 1 ? watcher->board : own_board_) {
  if (counting) structures = launch.kernel->structures(launch.call.get());
}

void LaunchWatch::guesses(uint32_t pc) {
  std::lock_guard<std::mutex> lock(mutex);
  guesses_.insert(pc);
}
void LaunchWatch::race_with_read(uint32_t pc, CheckReport report, std::vector<std::string> places) {
  std::lock_guard<std::mutex> lock(mutex);
  races_with_reads_.push_back({pc, std::move(report), std::move(places)});
}
void LaunchWatch::tell_races_with_reads() {
  for (RaceWithRead& race : races_with_reads_)
    if (guesses_.count(race.pc) == 0) watcher->reports.add(std::move(race.report), race.places);
}

void Watcher::launch_begin(Launch& launch) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (launches_running_++ == 0) {
    memory.sweep();
    forget_launches();
  }
  auto* watch = new LaunchWatch(launch, counting);
  launch.observer_data = watch;
  if (options().devices > 1) {
    auto start = std::make_unique<const Knowledge>(known_before(*launch.place));
    watch->start = start.get();
    std::lock_guard<std::mutex> knowledge(knowledge_mutex_);
    starts_.push_back(std::move(start));
  }
  if (checking) check_arguments(launch);
  reports.count_launch();
}

// Host code that writes &x of a __device__ variable names the host's own, which no kernel can use.
void Watcher::check_arguments(const Launch& launch) {
  const auto* words = static_cast<const uint64_t*>(launch.call.get());
  const size_t count = launch.kernel->call_bytes / sizeof *words;
  for (size_t i = 0; i < count; ++i) {
    Allocation variable;
    const auto* address = reinterpret_cast<const void*>(words[i]);
    if (!among_symbols(words[i]) || !find_allocation(address, &variable) || variable.asked ||
        variable.kind != MemoryKind::kSymbol || variable.guard || variable.fixed)
      continue;
    const std::string place = std::string(launch.at.file) + ":" + std::to_string(launch.at.line);
    CheckReport report;
    report.check = "host-pointer";
    report.kernel = launch.name();
    report.file = launch.at.file;
    report.line = static_cast<unsigned>(launch.at.line);
    report.message = "error [host-pointer]: a kernel is given the address of " + variable.name +
                     " in the host's memory\n  kernel " + launch.name() + "\n  at " + place +
                     "\n  cudaGetSymbolAddress tells where the variable lies on the device";
    reports.add(std::move(report), {place});
  }
}

void Watcher::launch_end(Launch& launch) {
  std::unique_ptr<LaunchWatch> watch(static_cast<LaunchWatch*>(launch.observer_data));
  launch.observer_data = nullptr;
  watch->tell_races_with_reads();
  if (options().devices > 1) {
    std::lock_guard<std::mutex> knowledge(knowledge_mutex_);
    ends_[launch.place->stream][launch.place->position].join(watch->take_learned());
  }
  if (watch->counting) {
    Counters sum;
    sum.launches = 1;
    sum.blocks = launch.block_count;
    sum.threads = launch.block_count * launch.threads_per_block;
    sum.warps = launch.block_count * ((launch.threads_per_block + kWarpSize - 1) / kWarpSize);
    for (auto& block : watch->idle) {
      sum.add(block->counters());
      block->counters().clear();
    }
    sum.end_launch();
    book.add(watch->name, sum);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& block : watch->idle) idle_.push_back(std::move(block));
  --launches_running_;
}

void Watcher::block_begin(Block& block) {
  auto& launch = *static_cast<LaunchWatch*>(block.launch->observer_data);
  std::unique_ptr<BlockWatch> watch;
  const auto take = [&](std::vector<std::unique_ptr<BlockWatch>>& from) {
    if (watch || from.empty()) return;
    watch = std::move(from.back());
    from.pop_back();
  };
  {
    std::lock_guard<std::mutex> lock(launch.mutex);
    take(launch.idle);
  }
  if (!watch) {
    std::lock_guard<std::mutex> lock(mutex_);
    take(idle_);
  }
  if (!watch) watch = std::make_unique<BlockWatch>();
  watch->begin(block, launch);
  block.observer_data = watch.release();
}

void Watcher::block_end(Block& block) {
  auto& launch = *static_cast<LaunchWatch*>(block.launch->observer_data);
  std::unique_ptr<BlockWatch> watch(watch_of(&block));
  block.observer_data = nullptr;
  watch->end();
  std::lock_guard<std::mutex> lock(launch.mutex);
  if (block.launch->cooperative) ++launch.ended[watch->grid_barriers()];
  launch.idle.push_back(std::move(watch));
}

// ---- passed on to the block -------------------------------------------------------------------

namespace {

// One device is all there is of the system.
Scope reach_of(Scope scope) {
  return scope == Scope::kDevice && options().devices == 1 ? Scope::kSystem : scope;
}

}  // namespace

void Watcher::barrier(Block& block) { watch_of(&block)->barrier(); }
void Watcher::grid_barrier(Block& block) { watch_of(&block)->grid_barrier(); }
void Watcher::warp_operation(Block& block, unsigned warp, uint32_t lanes, uint32_t) {
  watch_of(&block)->warp_operation(warp, lanes);
}
void Watcher::warp_idle(Block& block, unsigned warp) { watch_of(&block)->warp_idle(warp); }
void Watcher::barrier_wait(Barrier, Location at) { watch_of(state.block)->barrier_wait(at); }
void Watcher::grid_wait(Location) { watch_of(state.block)->grid_wait(); }
void Watcher::warp_wait(uint32_t named, const WarpOperation&, Location) {
  watch_of(state.block)->warp_wait(named);
}
void Watcher::thread_exit() { watch_of(state.block)->thread_exit(); }
void Watcher::fence(Scope scope) {
  if (scope != Scope::kBlock) watch_of(state.block)->mbarrier_fence();
  watch_of(state.block)->fence(reach_of(scope));
}
void Watcher::release(Scope scope) {
  watch_of(state.block)->mbarrier_fence();
  watch_of(state.block)->release(reach_of(scope));
}
void Watcher::acquire(Scope scope) { watch_of(state.block)->acquire(reach_of(scope)); }
void Watcher::publish(uint64_t key) { watch_of(state.block)->publish(key); }
void Watcher::receive(uint64_t key) { watch_of(state.block)->receive(key); }
void Watcher::pass_on(uint64_t key, uint64_t to) { watch_of(state.block)->pass_on(key, to); }
std::string Watcher::place_of_call(const void* pc) {
  const uint32_t at = relative_pc(pc, program_base);
  const std::vector<SourceLine> calls = inlined_calls(at);
  return to_string(calls.empty() ? line_of_return_address(at) : calls.back());
}
void Watcher::event_wait() { watch_of(state.block)->event_wait(); }
void Watcher::named_barrier(unsigned warps) { watch_of(state.block)->named_barrier(warps); }
void Watcher::copy_wrote(const void* address, size_t bytes) {
  const Block* owner = owner_of_shared(address);
  if (owner == nullptr) {
    memory.filled(address, bytes, kByKernel);
    return;
  }
  const char* shared =
      shared_base() + (int64_t{owner->cluster_rank} - int64_t{state.block->cluster_rank}) *
                          int64_t{kSharedSlotBytes};
  watch_of(owner)->copy_wrote(static_cast<const char*>(address) - shared, bytes);
}

void Watcher::count(Beside what, uint64_t how_much) {
  watch_of(state.block)->count(what, how_much);
}
void Watcher::takes_off(const InFlight& flight) {
  BlockWatch* watch = watch_of(flight.owner);
  if (watch != nullptr) watch->takes_off(flight, flight.owner == state.block);
}
bool Watcher::copies_global(const void* address, size_t bytes, bool is_write, const void* pc) {
  return watch_of(state.block)
      ->copies_global(reinterpret_cast<uint64_t>(address), bytes, is_write,
                      relative_pc(pc, program_base));
}
void Watcher::copy_reads(const void* address, size_t bytes, const void* pc) {
  watch_of(state.block)
      ->copy_reads(reinterpret_cast<uint64_t>(address), bytes, relative_pc(pc, program_base));
}
void Watcher::lands(const InFlight& flight) {
  BlockWatch* watch = flight.owner == nullptr ? nullptr : watch_of(flight.owner);
  if (watch != nullptr) watch->lands(flight);
}
void Watcher::proxy_fence() { watch_of(state.block)->proxy_fence(); }
void Watcher::product_fence() {
  if (checking) watch_of(state.block)->product_fence();
}
void Watcher::product(uint32_t number, const ProductRegisters& given, const void* pc) {
  if (checking) watch_of(state.block)->product(number, given, relative_pc(pc, program_base));
}
void Watcher::products_done(uint32_t count) {
  if (checking) watch_of(state.block)->products_done(count);
}
void Watcher::mbarrier_made(unsigned offset) {
  if (checking) watch_of(state.block)->mbarrier_made(offset);
}
void Watcher::mbarrier_fence() {
  if (checking) watch_of(state.block)->mbarrier_fence();
}
const char* Watcher::mbarrier_unseen(Block& owner, unsigned offset, bool by_copy) {
  if (!checking || watch_of(&owner) == nullptr) return nullptr;
  return watch_of(&owner)->mbarrier_unseen(*watch_of(state.block), offset, by_copy);
}
void Watcher::remote_access(Block& owner, const void* pc) {
  if (watch_of(&owner) != nullptr)
    watch_of(&owner)->remote_access(*watch_of(state.block), relative_pc(pc, program_base));
}

namespace {

void announce(const void* address, unsigned bytes, const void* pc, Use use,
              Scope scope = Scope::kSystem, bool compares = false) {
  const auto at = reinterpret_cast<uint64_t>(address);
  if (is_local(at)) return;
  watch_of(state.block)
      ->announced(at, bytes, relative_pc(pc, watcher->program_base), use, reach_of(scope),
                  compares);
}

}  // namespace

void Watcher::read(const void* address, unsigned bytes, const void* pc) {
  announce(address, bytes, pc, Use::kRead);
}
void Watcher::write(const void* address, unsigned bytes, const void* pc) {
  announce(address, bytes, pc, Use::kWrite);
}
void Watcher::range(const void* address, size_t bytes, bool writes, const void* pc) {
  const auto at = reinterpret_cast<uint64_t>(address);
  if (is_local(at)) return;
  watch_of(state.block)
      ->announced_range(at, bytes, relative_pc(pc, program_base),
                        writes ? Use::kWrite : Use::kRead);
}
void Watcher::atomic(const void* address, unsigned bytes, const void* pc, Scope scope) {
  announce(address, bytes, pc, Use::kAtomic, scope);
}
void Watcher::atomic_cas(const void* address, unsigned bytes, const void* pc, Scope scope) {
  announce(address, bytes, pc, Use::kAtomic, scope, true);
}
void Watcher::atomic_overwrite(const void* address, unsigned bytes, const void* pc, Scope scope) {
  announce(address, bytes, pc, Use::kAtomicOverwrite, scope);
}
void Watcher::atomic_load(const void* address, unsigned bytes, const void* pc, Scope scope) {
  announce(address, bytes, pc, Use::kAtomicLoad, scope);
}
void Watcher::atomic_store(const void* address, unsigned bytes, const void* pc, Scope scope) {
  announce(address, bytes, pc, Use::kAtomicStore, scope);
}

// ---- memory -----------------------------------------------------------------------------------

void Watcher::allocated(const Allocation& allocation) { memory.allocated(allocation); }
void Watcher::freed(const Allocation& allocation) { memory.freed(allocation); }

bool Watcher::is_program_data(uint64_t address) const {
  const ProgramImage& image = program_image();
  return address - image.begin < image.end - image.begin;
}

bool Watcher::is_program_constant(uint64_t address) const {
  const ProgramImage& image = program_image();
  const bool may_change = address - image.variables < image.variables_end - image.variables;
  return is_program_data(address) && !may_change;
}

// ---- reports ----------------------------------------------------------------------------------

namespace {

std::string called_at(const SourceLine& line) { return "\n  called at " + to_string(line); }

// A line lies in a function that others call: from where the running thread has come to it.
std::string describe_calls(const std::string& place) {
  const auto plain = [](const std::string& path) {  // ./a/b and a/b are one file
    return std::filesystem::path(path).lexically_normal();
  };
  std::string text;
  bool found = false;
  for (const SourceLine& line : lines_of_calls()) {
    if (found) text += called_at(line);
    found |= plain(to_string(line)) == plain(place);
  }
  return text;
}

}  // namespace

// The same for what happened before, as far as the compiler has put functions into one another.
std::string describe_inlined_calls(uint32_t pc) {
  std::string text;
  for (const SourceLine& line : inlined_calls(pc)) text += called_at(line);
  return text;
}

void Watcher::report(const char* check, const std::string& what, uint32_t pc,
                     const std::string& more) {
  const SourceLine at = line_of_return_address(pc);
  CheckReport report;
  report.check = check;
  report.file = at.file;
  report.line = at.line;
  report.message = std::string("error [") + check + "]: " + what + "\n  at " + to_string(at);
  if (state.block != nullptr) report.message += describe_calls(to_string(at));
  report.message += "\n  ";
  if (state.block != nullptr) {
    report.kernel = state.block->launch->name();
    report.message += describe_current_thread();
  } else {
    report.message += "host code";
  }
  report.message += "\n  " + more;
  reports.add(std::move(report), {to_string(at)});
}

void Watcher::host_access(uint64_t address, uint32_t pc, bool is_write) {
  if (!checking) return;
  const WatchedMemory* found = memory.find(address);
  if (found == nullptr) {  // beside managed memory, on a page of its own
    const auto* pointer = reinterpret_cast<const void*>(address);
    Allocation near;
    if (in_device_range(pointer) && nearest_allocation(pointer, &near) &&
        near.kind == MemoryKind::kManaged)
      beyond_managed(near, pointer, pc, is_write);
    return;
  }
  if (found->allocation.kind != MemoryKind::kDevice) return;
  report("device-pointer",
         std::string("host code ") + (is_write ? "writes" : "reads") +
             " device memory: copy it with cudaMemcpy",
         pc, describe_address(reinterpret_cast<const void*>(address)));
  // On a machine with a GPU this is a segmentation fault: the program ends here.
  program_end();
  std::cout.flush();
  fflush(nullptr);
  _exit(1);
}

void Watcher::beyond_managed(const Allocation& near, const void* address, uint32_t pc,
                             bool is_write) {
  report(near.freed ? "use-after-free" : "out-of-bounds",
         std::string("host code ") + (is_write ? "writes" : "reads") +
             (near.freed ? " managed memory after cudaFree" : " beyond managed memory"),
         pc, describe_address(address));
}

bool Watcher::fault(const void* address, const void* pc, bool is_write) {
  if (!checking) return false;
  // A faulting instruction, not a call: its own address is the one to look up.
  const uint32_t at = relative_pc(pc, program_base) + 1;
  if (state.block == nullptr) {
    if (!in_device_range(address)) return false;
    Allocation near;
    if (nearest_allocation(address, &near) && near.kind == MemoryKind::kManaged) {
      beyond_managed(near, address, at, is_write);
    } else {
      report("device-pointer",
             std::string("host code ") + (is_write ? "writes" : "reads") +
                 " device memory: copy it with cudaMemcpy",
             at, describe_address(address));
    }
    program_end();
    return true;
  }
  report("invalid-access", is_write ? "invalid write" : "invalid read", at,
         describe_address(address));
  return true;
}

bool Watcher::finding(const Finding& finding) {
  if (!checking) return false;
  CheckReport report;
  report.check = finding.check;
  report.message = std::string("error [") + finding.check + "]: " + finding.message;
  report.file = finding.at.file;
  report.line = static_cast<unsigned>(finding.at.line);
  const Block* block = finding.block != nullptr ? finding.block : state.block;
  if (block != nullptr) {
    report.kernel = block->launch->name();
    if (std::strcmp(finding.check, "deadlock") == 0 && watch_of(block) != nullptr) {
      SourceLine loops;
      report.message += watch_of(block)->describe_loops(&loops);
      if (report.line == 0) {
        report.file = loops.file;
        report.line = loops.line;
      }
    }
  }
  const bool found = finding.pc != nullptr && finding.at.line == 0;
  if (found) {
    const SourceLine at = line_of_return_address(relative_pc(finding.pc, program_base));
    report.file = at.file;
    report.line = at.line;
    if (at.line != 0) report.message += "\n  at " + to_string(at);
  }
  const std::string place = report.file + ":" + std::to_string(report.line);
  if (state.block != nullptr && block == state.block && (found || finding.at.line != 0))
    report.message += describe_calls(place);
  report.message += finding.more;
  reports.add(std::move(report), {report.line ? place : finding.message});
  return true;
}

// Memory that is never freed, told line by line.
// After a fault nothing can be freed any more.
void Watcher::report_leaks() {
  if (Device::get().fault() != cudaSuccess) return;
  std::map<std::pair<std::string, int>, std::pair<uint64_t, uint64_t>> places;
  for (const Allocation& allocation : memory.living()) {
    auto& [count, bytes] = places[{allocation.at.file, allocation.at.line}];
    ++count;
    bytes += allocation.bytes;
  }
  for (const auto& [place, what] : places) {
    CheckReport report;
    report.check = "leak";
    report.file = place.first;
    report.line = static_cast<unsigned>(place.second);
    const std::string at = report.file + ":" + std::to_string(report.line);
    const std::string pieces =
        what.first == 1 ? "" : " in " + std::to_string(what.first) + " pieces";
    report.message = "error [leak]: " + std::to_string(what.second) + " bytes" + pieces +
                     " are never freed\n  allocated at " + at;
    reports.add(std::move(report), {at});
  }
}

void Watcher::program_end() {
  if (checking && environment_says("SIMT_LEAKS", false)) report_leaks();
  if (const char* path = setting("SIMT_CHECK_JSON")) all_written &= reports.write_json(path);
  if (const char* path = setting("SIMT_CHECK_SARIF")) all_written &= reports.write_sarif(path);
  pass_on_reports(reports.all());
  if (checking && this_run.number + 1 == this_run.count) reports.print_summary(memory.unwatched());
  if (this_run.number > 0) return;
  const std::vector<KernelProfile> kernels = book.profiles();
  if (const char* path = setting("SIMT_PROFILE_JSON")) {
    all_written &= write_profiles_json(path, kernels);
  }
  if (environment_says("SIMT_PROFILE", false)) print_profiles(stderr, kernels);
}

// ---- for tests (simt/profile.h) ---------------------------------------------------------------

void guard(const void* begin, uint64_t bytes) {
  if (watcher != nullptr) watcher->memory.guard(reinterpret_cast<uint64_t>(begin), bytes);
}

void profile_reset() {
  counting = true;
  if (watcher != nullptr) watcher->book.clear();
}
void profile_stop() { counting = false; }
KernelProfile profile(const std::string& name) {
  return watcher == nullptr ? KernelProfile() : watcher->book.profile(name);
}
std::vector<KernelProfile> profiles() {
  return watcher == nullptr ? std::vector<KernelProfile>() : watcher->book.profiles();
}
std::vector<CheckReport> check_reports() {
  return watcher == nullptr ? std::vector<CheckReport>() : watcher->reports.take();
}

}  // namespace simt
