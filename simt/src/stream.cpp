// Streams: which operation waits for which.

#include <algorithm>

#include "device.h"
#include "graph.h"

namespace simt {
namespace {

bool per_thread_default = false;

void join(StreamClock& clock, const StreamClock& other) {
  for (const auto& [stream, position] : other) {
    uint64_t& known = clock[stream];
    known = std::max(known, position);
  }
}

}  // namespace

void use_per_thread_default_stream() { per_thread_default = true; }

CUstream_st* Device::stream(cudaStream_t handle) {
  const int device = current_device();
  if (handle == cudaStreamLegacy || (!handle && !per_thread_default)) return &legacy_[device];
  std::lock_guard<std::mutex> lock(mutex_);
  if (handle == cudaStreamPerThread || !handle) {
    auto& mine = per_thread_[{std::this_thread::get_id(), device}];
    if (!mine) mine = std::make_unique<CUstream_st>();
    mine->device = device;
    return mine.get();
  }
  auto found = std::find_if(streams_.begin(), streams_.end(),
                            [&](const auto& s) { return s.get() == handle; });
  return found == streams_.end() ? nullptr : found->get();
}

CUstream_st* Device::create_stream(bool blocking, int priority) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.push_back(std::make_unique<CUstream_st>());
  streams_.back()->device = current_device();
  streams_.back()->blocking = blocking;
  streams_.back()->priority = priority;
  return streams_.back().get();
}

// Its pending work goes on.
void Device::destroy_stream(CUstream_st* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (stream->last && !stream->last->done) orphans_.push_back(stream->last);
  join(destroyed_clock_[stream->device], stream->clock);
  orphans_.erase(std::remove_if(orphans_.begin(), orphans_.end(),
                                [](const OperationPtr& o) { return o->done.load(); }),
                 orphans_.end());
  streams_.erase(std::find_if(streams_.begin(), streams_.end(),
                              [&](const auto& s) { return s.get() == stream; }));
}

// What new work of the stream has to wait for.
std::vector<OperationPtr> Device::predecessors(CUstream_st* stream) {
  std::vector<OperationPtr> before;
  if (stream->last) before.push_back(stream->last);
  before.insert(before.end(), stream->awaited.begin(), stream->awaited.end());
  stream->awaited.clear();
  CUstream_st& legacy = legacy_[stream->device];
  if (stream == &legacy) {
    // The legacy default stream waits for all blocking streams of its device, ...
    for (auto& other : streams_)
      if (other->device == stream->device && other->blocking && other->last)
        before.push_back(other->last);
    for (auto& [thread, other] : per_thread_)
      if (other->device == stream->device && other->last) before.push_back(other->last);
    for (auto& orphan : orphans_)
      if (orphan->task.device == stream->device) before.push_back(orphan);
  } else if (stream->blocking && legacy.last) {
    before.push_back(legacy.last);  // ... and they wait for it.
  }
  return before;
}

// What a wait for the stream waits for: its last operation, or those it would wait for next.
OperationPtr Device::last_of(CUstream_st* stream) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!is_legacy(stream) && stream->awaited.empty()) return stream->last;
  }
  return enqueue(stream, Task{});
}

OperationPtr Device::enqueue(CUstream_st* stream, Task task) {
  auto operation = std::make_shared<Operation>();
  operation->task = std::move(task);
  operation->task.device = stream->device;
  if (observer) observer->host_asks();
  std::lock_guard<std::mutex> lock(mutex_);
  const std::vector<OperationPtr> before = predecessors(stream);
  for (const OperationPtr& earlier : before) join(stream->clock, earlier->place->clock);
  if (is_legacy(stream)) join(stream->clock, destroyed_clock_[stream->device]);
  advance(stream, operation);
  add(operation, before);
  stream->last = operation;
  return operation;
}

// The operation is the stream's next one. The lock is held.
void Device::advance(CUstream_st* stream, const OperationPtr& operation) {
  if (stream->number == 0) {
    stream->number = ++streams_used_;
    if (observer && streams_used_ == 2) observer->second_stream();
  }
  {
    std::lock_guard<std::mutex> host(host_mutex_);
    join(stream->clock, host_clock_);
  }
  const uint64_t position = ++stream->clock[stream->number];
  const Task& task = operation->task;
  *operation->place = {stream->number, position, stream->clock, ++asked_, task.waits, false};
  if (task.kind == Task::kKernel)
    unwaited_[stream->number] = {position, task.kernel->name, task.shape.at};
}

// The host has waited for the operation, or has seen that it is done.
void Device::waited(const Place& place) {
  host_sees(place);
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [stream, position] : place.clock) {
    const auto found = unwaited_.find(stream);
    if (found != unwaited_.end() && found->second.position <= position) unwaited_.erase(found);
  }
}

bool Device::host_has_waited(const Place& place) {
  std::lock_guard<std::mutex> lock(host_mutex_);
  const auto found = host_clock_.find(place.stream);
  return found != host_clock_.end() && found->second >= place.position;
}

void Device::host_sees(const Place& place) {
  std::lock_guard<std::mutex> lock(host_mutex_);
  join(host_clock_, place.clock);
  join(host_clock_, {{place.stream, place.position}});
}

// At the end of the program.
void Device::report_unwaited() {
  std::map<unsigned, Unwaited> left;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    left = std::move(unwaited_);
  }
  if (!observer || fault()) return;
  for (const auto& [stream, last] : left) {
    report({"unwaited",
            "the program ends, and nobody has waited for kernel " + last.kernel + ", launched at " +
                last.at.file + ":" + std::to_string(last.at.line) +
                ": on a GPU it may not have run, and what it prints is lost",
            cudaSuccess, last.at});
  }
}

OperationPtr Device::enqueue_graph(
    CUstream_st* stream,
    const std::function<std::vector<OperationPtr>(const OperationPtr&)>& launch_nodes) {
  OperationPtr start = enqueue(stream, Task{});
  std::vector<OperationPtr> nodes = launch_nodes(start);  // enqueue_after gives them their places
  auto end = std::make_shared<Operation>();
  end->task.device = stream->device;
  std::lock_guard<std::mutex> lock(mutex_);
  nodes.push_back(start);
  advance(stream, end);
  for (const OperationPtr& node : nodes) {
    const Task& task = node->task;
    if (task.kind == Task::kKernel)
      unwaited_[stream->number] = {end->place->position, task.kernel->name, task.shape.at};
  }
  add(end, nodes);
  stream->last = end;
  return end;
}

bool Device::any_blocking_capture() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& s) { return s->capture && s->blocking; });
}

bool Device::invalidate_captures() {
  std::lock_guard<std::mutex> lock(mutex_);
  bool any = false;
  for (auto& stream : streams_) {
    if (!stream->capture || stream->capture->capture_mode == cudaStreamCaptureModeRelaxed) continue;
    stream->capture_invalid = any = true;
  }
  return any;
}

bool Device::end_capture(CUgraph_st* graph, const std::vector<CUgraphNode_st*>& tail) {
  // Joined: everything that another stream recorded last comes before the origin's end.
  std::vector<CUgraphNode_st*> reached = tail;
  for (size_t i = 0; i < reached.size(); ++i)
    for (CUgraphNode_st* earlier : reached[i]->before)
      if (std::find(reached.begin(), reached.end(), earlier) == reached.end())
        reached.push_back(earlier);
  bool joined = true;
  std::lock_guard<std::mutex> lock(mutex_);
  for (auto& stream : streams_) {
    if (stream->capture != graph) continue;
    for (CUgraphNode_st* last : stream->capture_tail)
      joined &= std::find(reached.begin(), reached.end(), last) != reached.end();
    stream->capture = nullptr;
    stream->capture_origin = stream->capture_invalid = false;
    stream->capture_tail.clear();
  }
  return joined;
}

void Device::make_stream_wait(CUstream_st* stream, const OperationPtr& operation) {
  if (!operation) return;
  std::lock_guard<std::mutex> lock(mutex_);
  join(stream->clock, operation->place->clock);
  // Done or not: who waits for the stream has waited for it, too.
  stream->awaited.push_back(operation);
}

}  // namespace simt
