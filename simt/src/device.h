// The model GPU at work: operations (kernels, copies, host functions, events), the order between
// them, and the workers that carry them out.
//
// Every asynchronous call becomes an Operation. An operation waits for those before it: the last
// one of its stream, the events its stream was told to wait for, and what the legacy default stream
// asks for. When the last of these is done, the workers take it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine.h"
#include "simt/runtime_types.h"

namespace simt {

// What is to be done, without an order: operations are made of tasks, and so are graph nodes.
struct Task {
  enum Kind { kMarker, kKernel, kCopy, kFill, kHost };
  Kind kind = kMarker;
  int device = 0;
  std::function<void()> work;  // kCopy, kFill, kHost
  bool waits = false;          // the host will wait for it

  // kKernel
  Kernel* kernel = nullptr;
  std::shared_ptr<const void> call;
  LaunchShape shape;
};

struct Operation {
  Task task;
  std::shared_ptr<Place> place = std::make_shared<Place>();
  std::unique_ptr<Launch> launch;                  // while a kernel runs
  int waits_for = 0;                               // operations that must be done before
  bool wanted = false;                             // SIMT_STREAMS=deferred: somebody waits for it
  std::vector<std::shared_ptr<Operation>> before;  // SIMT_STREAMS=deferred: what it waits for
  std::vector<std::shared_ptr<Operation>> followers;
  std::atomic<bool> done{false};
  std::chrono::steady_clock::time_point done_at;
};
using OperationPtr = std::shared_ptr<Operation>;

}  // namespace simt

struct CUstream_st {
  int device = 0;
  bool blocking = true;  // waits for the legacy default stream, and it for this one
  int priority = 0;
  cudaAccessPolicyWindow window = {};  // kept for who asks: there is no cache
  cudaSynchronizationPolicy waiting = cudaSyncPolicyAuto;
  simt::OperationPtr last;
  std::vector<simt::OperationPtr> awaited;  // events that the next operation waits for
  unsigned number = 0;                      // 1, 2, 3, ..., in the order of their first use
  simt::StreamClock clock;                  // what the next operation comes after
  // Capture (graph.cpp): the graph that records this stream, and the nodes the next one depends on.
  CUgraph_st* capture = nullptr;
  bool capture_origin = false;
  bool capture_invalid = false;
  std::vector<CUgraphNode_st*> capture_tail;
};

struct CUevent_st {
  int device = 0;
  bool timed = true;
  simt::OperationPtr record;  // null: never recorded
  CUgraph_st* capture = nullptr;
  std::vector<CUgraphNode_st*> capture_tail;
};

namespace simt {

// The calling thread's (api_device.cpp).
int current_device();

// All devices of the machine: SIMT_DEVICES of them. They share the workers; each has streams and
// memory of its own.
class Device {
 public:
  static Device& get();

  // ---- streams (stream.cpp)
  CUstream_st* stream(
      cudaStream_t handle);  // resolves null, legacy and per-thread; null: not a stream
  CUstream_st* legacy(int device) { return &legacy_[device]; }
  bool is_legacy(const CUstream_st* stream) const {
    return stream >= legacy_ && stream < legacy_ + kMaxDevices;
  }
  OperationPtr enqueue(CUstream_st* stream, Task task);
  // An operation after exactly these (a graph's node).
  OperationPtr enqueue_after(const std::vector<OperationPtr>& before, Task task);
  // Are there several streams that anything was asked of?
  bool several_streams() const { return streams_used_ > 1; }
  // All operations of a graph launch, between a first and a last one of the stream.
  OperationPtr enqueue_graph(
      CUstream_st* stream,
      const std::function<std::vector<OperationPtr>(const OperationPtr& start)>& launch_nodes);
  void make_stream_wait(CUstream_st* stream, const OperationPtr& operation);
  OperationPtr last_of(CUstream_st* stream);
  void wait(const OperationPtr& operation);
  bool poll_done(const OperationPtr& operation);
  void wait_for_all();
  void wait_for_device(int device);
  bool idle() const { return outstanding_ == 0; }
  // How many operations the host has asked for; and has it waited for this one?
  uint64_t asked() const { return asked_; }
  bool host_has_waited(const Place& place);
  // The host has seen it in another way.
  void host_sees(const Place& place);
  CUstream_st* create_stream(bool blocking, int priority);  // of the current device
  void destroy_stream(CUstream_st* stream);
  // ---- capture (stream.cpp)
  bool any_blocking_capture();
  // Marks all captures as failed; false: there was none.
  bool invalidate_captures();
  // Takes the graph's streams out of the capture; false: one of them was not joined to the origin.
  bool end_capture(CUgraph_st* graph, const std::vector<CUgraphNode_st*>& tail);

  // ---- errors
  // The sticky error: set by the first fault in a kernel, ends all later work. 0: none.
  cudaError_t fault() const { return static_cast<cudaError_t>(fault_.load()); }
  void set_fault(cudaError_t error);
  void clear_fault() { fault_ = 0; }
  // An error that asynchronous work met and that the next call returns, once.
  void set_async_error(cudaError_t error);
  cudaError_t take_async_error() { return static_cast<cudaError_t>(async_error_.exchange(0)); }

  // ---- for the workers (device.cpp)
  OperationPtr running_kernel();  // one with blocks that nobody has taken, or null
  void block_finished(Launch& launch, uint64_t count = 1);
  void block_at_grid(Launch& launch);
  bool take_task(OperationPtr* operation);
  void task_done(const OperationPtr& operation);
  void sleep_until_work();
  bool quitting() const { return quitting_; }
  // Grows whenever any thread of any block makes progress other than polling.
  std::atomic<uint64_t> progress{0};
  std::atomic<int> idle_or_polling{0};
  int worker_count() const { return static_cast<int>(threads_.size()); }

  void shut_down();

 private:
  Device();
  void start_workers();
  void add(const OperationPtr& operation, const std::vector<OperationPtr>& before);
  void make_ready(const OperationPtr& operation);
  void complete(const OperationPtr& operation);
  void want(const OperationPtr& operation);
  void want_all();
  template <class Function>
  void tell_what_waits(std::unique_lock<std::mutex>& lock, Function something);
  template <class Function>
  void for_each_stream(Function f);
  std::vector<OperationPtr> predecessors(CUstream_st* stream);
  void meet_at_grid(Launch& launch);
  void advance(CUstream_st* stream, const OperationPtr& operation);
  void waited(const Place& place);
  void report_unwaited();

  std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable work_done_;
  std::deque<OperationPtr> ready_;    // tasks that any worker may take
  std::deque<OperationPtr> running_;  // kernels with blocks left to take
  std::deque<OperationPtr> started_;  // kernels whose blocks are all taken
  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::map<std::pair<std::thread::id, int>, std::unique_ptr<CUstream_st>> per_thread_;
  CUstream_st legacy_[kMaxDevices];
  std::vector<OperationPtr> orphans_;  // last work of destroyed streams
  unsigned streams_used_ = 0;
  StreamClock destroyed_clock_[kMaxDevices];  // what destroyed streams had done
  std::mutex host_mutex_;   // locked last: checks ask while they hold locks of their own
  StreamClock host_clock_;  // for what the host has waited
  std::atomic<uint64_t> asked_{0};
  // The last kernel of each stream for which the host has not waited.
  struct Unwaited {
    uint64_t position;  // in the stream
    std::string kernel;
    Location at;
  };
  std::map<unsigned, Unwaited> unwaited_;
  std::atomic<int> fault_{0};
  std::atomic<int> async_error_{0};
  std::atomic<uint64_t> outstanding_{0};  // operations not done
  std::atomic<int> pending_work_{0};      // entries of ready_ and running_ (a hint for spinning)
  uint64_t launches_ = 0;
  bool told_what_waits_ = false;
  std::atomic<bool> quitting_{false};
  std::vector<std::thread> threads_;
};

// --default-stream per-thread: stream 0 is the calling thread's own.
void use_per_thread_default_stream();

}  // namespace simt
