// Operations, their order, and the pool of workers.

#include "device.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "errors.h"
#include "faults.h"
#include "options.h"
#include "worker.h"

namespace simt {
namespace {

// Waking an OS thread costs several microseconds; a wait that ends sooner had better spin.
template <class Condition>
bool spin_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
  do {
    for (int i = 0; i < 50; ++i)
      if (condition()) return true;
    sched_yield();
  } while (std::chrono::steady_clock::now() < end);
  return condition();
}

}  // namespace

Device& Device::get() {
  // Never destroyed: the workers use it until the process ends.
  static Device* device = [] {
    Device* made = new Device;
    made->start_workers();
    atexit([] { Device::get().shut_down(); });
    return made;
  }();
  return *device;
}

Device::Device() {
  for (int device = 0; device < kMaxDevices; ++device) legacy_[device].device = device;
}

void Device::start_workers() {
  install_fault_handlers();
  if (make_observer) observer = make_observer().release();
  const int wanted = options().threads;
  for (int i = 0; i < wanted; ++i) {
    try {
      threads_.emplace_back([i] {
        Worker worker(i);
        worker.work();
      });
    } catch (const std::system_error&) {
      fprintf(stderr, "simt: cannot start more than %d of %d threads (see SIMT_THREADS)\n", i,
              wanted);
      _exit(1);
    }
  }
}

void Device::shut_down() {
  for (auto& thread : threads_)
    if (thread.get_id() == std::this_thread::get_id()) return;  // exit() in a host function
  report_unwaited();
  wait_for_all();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    quitting_ = true;
  }
  work_available_.notify_all();
  for (auto& thread : threads_) thread.join();
  report_failed_launches();
  if (observer) observer->program_end();
}

// ---- operations -------------------------------------------------------------------------------

// Puts the operation behind those in `before`. The lock is held.
void Device::add(const OperationPtr& operation, const std::vector<OperationPtr>& before) {
  ++outstanding_;
  for (const OperationPtr& earlier : before) {
    if (!earlier || earlier->done) continue;
    earlier->followers.push_back(operation);
    ++operation->waits_for;
    if (options().deferred) operation->before.push_back(earlier);
  }
  if (operation->waits_for == 0) make_ready(operation);
}

OperationPtr Device::enqueue_after(const std::vector<OperationPtr>& before, Task task) {
  auto operation = std::make_shared<Operation>();
  operation->task = std::move(task);
  std::lock_guard<std::mutex> lock(mutex_);
  // The first one before it is the graph's start, or has its place: the end of the graph is the
  // stream's next operation.
  const Place& start = *before.front()->place;
  *operation->place = start;
  if (start.clock.at(start.stream) == start.position) ++operation->place->position;
  operation->place->in_graph = true;
  add(operation, before);
  return operation;
}

// Everything before the operation is done. The lock is held.
void Device::make_ready(const OperationPtr& operation) {
  if (options().deferred && !operation->wanted) return;
  Task& task = operation->task;
  if (task.kind == Task::kMarker || (fault() && task.kind == Task::kKernel)) {
    complete(operation);
    return;
  }
  if (task.kind != Task::kKernel) {
    ready_.push_back(operation);
    ++pending_work_;
    work_available_.notify_one();
    return;
  }
  auto launch = std::make_unique<Launch>();
  launch->number = ++launches_;
  launch->device = task.device;
  launch->kernel = task.kernel;
  launch->call = task.call;
  launch->place = operation->place;
  static_cast<LaunchShape&>(*launch) = task.shape;
  launch->block_count = uint64_t(launch->grid.x) * launch->grid.y * launch->grid.z;
  const dim3 cluster = launch->cluster;
  if (cluster.x != 0) launch->cluster_blocks = cluster.x * cluster.y * cluster.z;
  launch->threads_per_block = launch->block.x * launch->block.y * launch->block.z;
  if (observer) observer->launch_begin(*launch);
  operation->launch = std::move(launch);
  running_.push_back(operation);
  ++pending_work_;
  work_available_.notify_all();
}

// The operation is done: those that waited only for it are ready. The lock is held. A list instead
// of a recursion, as thousands of markers may follow one another.
void Device::complete(const OperationPtr& operation) {
  std::vector<OperationPtr> finished{operation};
  while (!finished.empty()) {
    OperationPtr one = std::move(finished.back());
    finished.pop_back();
    one->done_at = std::chrono::steady_clock::now();
    one->task.call.reset();
    one->task.work = nullptr;
    one->before.clear();
    one->done = true;
    --outstanding_;
    auto followers = std::move(one->followers);
    one->followers.clear();
    for (OperationPtr& next : followers) {
      if (--next->waits_for != 0) continue;
      bool wanted = !options().deferred || next->wanted;
      if (next->task.kind == Task::kMarker && wanted)
        finished.push_back(next);
      else
        make_ready(next);
    }
  }
  ++progress;
  work_done_.notify_all();
}

// SIMT_STREAMS=deferred: work starts only once somebody waits for it or for something behind it.
void Device::want(const OperationPtr& operation) {
  if (!options().deferred) return;
  std::vector<OperationPtr> wanted{operation};
  while (!wanted.empty()) {
    OperationPtr one = std::move(wanted.back());
    wanted.pop_back();
    if (one->wanted || one->done) continue;
    one->wanted = true;
    for (const OperationPtr& earlier : one->before) wanted.push_back(earlier);
    if (one->waits_for == 0) make_ready(one);
  }
}

// On another device there may be what it waits for by itself.
void Device::want_all() {
  for_each_stream([&](const CUstream_st& stream) {
    if (stream.last) want(stream.last);
  });
  for (auto& orphan : orphans_) want(orphan);
}

// The lock is held.
template <class Function>
void Device::for_each_stream(Function f) {
  for (auto& stream : legacy_) f(stream);
  for (auto& stream : streams_) f(*stream);
  for (auto& [thread, stream] : per_thread_) f(*stream);
}

void Device::wait(const OperationPtr& operation) {
  if (!operation) return;
  waited(*operation->place);
  if (!options().deferred && spin_until([&] { return operation->done.load(); })) return;
  std::unique_lock<std::mutex> lock(mutex_);
  want(operation);
  if (options().devices > 1) want_all();
  work_done_.wait(lock, [&] { return operation->done.load(); });
}

bool Device::poll_done(const OperationPtr& operation) {
  if (!operation) return true;
  if (operation->done) {
    waited(*operation->place);
    return true;
  }
  if (options().deferred) {
    std::lock_guard<std::mutex> lock(mutex_);
    want(operation);
    if (options().devices > 1) want_all();
  }
  return false;
}

void Device::wait_for_all() {
  std::unique_lock<std::mutex> lock(mutex_);
  unwaited_.clear();
  {
    std::lock_guard<std::mutex> host(host_mutex_);
    const auto sees = [&](const StreamClock& clock) {
      for (const auto& [number, position] : clock)
        host_clock_[number] = std::max(host_clock_[number], position);
    };
    for_each_stream([&](const CUstream_st& stream) { sees(stream.clock); });
    for (const StreamClock& clock : destroyed_clock_) sees(clock);
  }
  want_all();
  work_done_.wait(lock, [&] { return outstanding_ == 0; });
}

void Device::wait_for_device(int device) {
  if (options().devices == 1) return wait_for_all();
  std::vector<OperationPtr> last;
  Place destroyed;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for_each_stream([&](const CUstream_st& stream) {
      if (stream.device != device) return;
      if (stream.last) last.push_back(stream.last);
      last.insert(last.end(), stream.awaited.begin(), stream.awaited.end());
    });
    for (auto& orphan : orphans_)
      if (orphan->task.device == device) last.push_back(orphan);
    destroyed.clock = destroyed_clock_[device];
  }
  for (const OperationPtr& operation : last) wait(operation);
  waited(destroyed);
}

// ---- workers ----------------------------------------------------------------------------------

OperationPtr Device::running_kernel() {
  if (pending_work_ == 0) return nullptr;
  std::lock_guard<std::mutex> lock(mutex_);
  while (!running_.empty()) {
    Launch& launch = *running_.front()->launch;
    if (launch.next_block < launch.block_count) return running_.front();
    // All its blocks are taken; whoever finishes the last one finds it in started_.
    started_.push_back(running_.front());
    running_.pop_front();
    --pending_work_;
  }
  return nullptr;
}

bool Device::take_task(OperationPtr* operation) {
  if (pending_work_ == 0) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  if (ready_.empty()) return false;
  *operation = std::move(ready_.front());
  ready_.pop_front();
  --pending_work_;
  return true;
}

void Device::task_done(const OperationPtr& operation) {
  std::lock_guard<std::mutex> lock(mutex_);
  complete(operation);
}

void Device::block_finished(Launch& launch, uint64_t count) {
  const uint64_t finished = launch.finished_blocks += count;
  if (finished < launch.block_count) {
    if (launch.waiting_at_grid) {
      std::lock_guard<std::mutex> lock(mutex_);
      meet_at_grid(launch);
    }
    return;
  }
  if (observer) observer->launch_end(launch);
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto* list : {&running_, &started_}) {
    auto mine = std::find_if(list->begin(), list->end(),
                             [&](const OperationPtr& o) { return o->launch.get() == &launch; });
    if (mine == list->end()) continue;
    OperationPtr operation = *mine;
    if (list == &running_) --pending_work_;
    list->erase(mine);
    complete(operation);
    return;
  }
}

void Device::block_at_grid(Launch& launch) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++launch.waiting_at_grid;
  meet_at_grid(launch);
}

// When every block stands at grid.sync() or has ended, all go on. The lock is held.
void Device::meet_at_grid(Launch& launch) {
  if (launch.waiting_at_grid == 0) return;
  if (launch.waiting_at_grid + launch.finished_blocks != launch.block_count) return;
  launch.waiting_at_grid = 0;
  ++launch.grid_phase;
  ++progress;
}

void Device::sleep_until_work() {
  auto something = [&] { return pending_work_ > 0 || quitting_; };
  if (spin_until(something)) return;
  std::unique_lock<std::mutex> lock(mutex_);
  ++idle_or_polling;
  if (options().deferred) {
    tell_what_waits(lock, something);
  } else {
    work_available_.wait(lock, something);
  }
  --idle_or_polling;
}

// SIMT_STREAMS=deferred: a host that waits by reading memory, instead of for a stream, waits for
// ever. The lock is held.
template <class Function>
void Device::tell_what_waits(std::unique_lock<std::mutex>& lock, Function something) {
  const auto timeout = std::chrono::duration<double>(options().patience);
  for (uint64_t seen = asked_; !work_available_.wait_for(lock, timeout, something); seen = asked_) {
    if (outstanding_ == 0 || seen != asked_ || told_what_waits_) continue;
    told_what_waits_ = true;
    fprintf(
        stderr,
        "simt: for %.0f s the host has asked for nothing, and with SIMT_STREAMS=deferred its work "
        "waits until it waits for that: cudaStreamSynchronize or the like; one that polls "
        "memory instead waits for ever\n",
        options().patience);
  }
}

// ---- faults -----------------------------------------------------------------------------------

void Device::set_fault(cudaError_t error) {
  int none = 0;
  fault_.compare_exchange_strong(none, error);
}

void Device::set_async_error(cudaError_t error) {
  int none = 0;
  async_error_.compare_exchange_strong(none, error);
}

void abort_launch(Launch& launch, int error) {
  Device& device = Device::get();
  {
    // Blocks that run at the same time may meet the same error, and the second of them after the
    // program has taken the first one's: a launch fails once. Its error is there before anybody can
    // see that it was aborted and so end it.
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    if (launch.aborted) return;
    // What the model GPU lacks is no fault: the program may go on with other kernels.
    if (error == cudaErrorNotSupported)
      device.set_async_error(cudaErrorNotSupported);
    else
      device.set_fault(static_cast<cudaError_t>(error));
    launch.aborted = true;
  }
  // Blocks that nobody has taken will never run.
  const uint64_t next = launch.next_block.exchange(launch.block_count);
  if (next < launch.block_count) device.block_finished(launch, launch.block_count - next);
}

}  // namespace simt
