// Streams, events, host functions.

#include "errors.h"
#include "graph.h"

using namespace simt;

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (!stream || flags > cudaStreamNonBlocking) return record_error(cudaErrorInvalidValue);
  *stream = Device::get().create_stream(flags != cudaStreamNonBlocking, priority);
  return record_error(cudaSuccess);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream || stream != handle) return record_error(cudaErrorInvalidResourceHandle);
  Device::get().destroy_stream(stream);
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (cudaError_t e = check_may_wait(__func__)) return record_error(e);
  Device& device = Device::get();
  CUstream_st* stream = device.stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (cudaError_t e = check_no_capture(stream)) return record_error(e);
  device.wait(device.last_of(stream));
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  Device& device = Device::get();
  CUstream_st* stream = device.stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (cudaError_t e = check_no_capture(stream)) return record_error(e);
  return record_error(device.poll_done(device.last_of(stream)) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  *flags = stream->blocking ? cudaStreamDefault : cudaStreamNonBlocking;
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  *priority = stream->priority;
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (!value) return record_error(cudaErrorInvalidValue);
  switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow: {
      const float ratio = value->accessPolicyWindow.hitRatio;
      if (!(ratio >= 0 && ratio <= 1)) return record_error(cudaErrorInvalidValue);
      stream->window = value->accessPolicyWindow;
      break;
    }
    case cudaLaunchAttributeSynchronizationPolicy: stream->waiting = value->syncPolicy; break;
    case cudaLaunchAttributePriority: stream->priority = value->priority; break;
    default: return record_error(cudaErrorInvalidValue);
  }
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (!value) return record_error(cudaErrorInvalidValue);
  switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow: value->accessPolicyWindow = stream->window; break;
    case cudaLaunchAttributeSynchronizationPolicy: value->syncPolicy = stream->waiting; break;
    case cudaLaunchAttributePriority: value->priority = stream->priority; break;
    default: return record_error(cudaErrorInvalidValue);
  }
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  CUstream_st *target = Device::get().stream(to), *source = Device::get().stream(from);
  if (!target || !source) return record_error(cudaErrorInvalidResourceHandle);
  target->window = source->window;
  target->waiting = source->waiting;
  target->priority = source->priority;
  return record_error(cudaSuccess);
}

cudaError_t cudaCtxResetPersistingL2Cache() { return record_error(cudaSuccess); }

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (!function) return record_error(cudaErrorInvalidValue);
  Task task;
  task.kind = Task::kHost;
  task.work = [=] { function(data); };
  return record_error(submit(stream, std::move(task)));
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* data,
                                  unsigned) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (!callback) return record_error(cudaErrorInvalidValue);
  if (stream->capture) return record_error(cudaErrorStreamCaptureUnsupported);
  Task task;
  task.kind = Task::kHost;
  task.work = [=] { callback(handle, Device::get().fault(), data); };
  return record_error(submit(stream, std::move(task)));
}

// ---- events -----------------------------------------------------------------------------------

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned kKnown =
      cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (!event || (flags & ~kKnown)) return record_error(cudaErrorInvalidValue);
  *event = new CUevent_st;
  (*event)->device = current_device();
  (*event)->timed = !(flags & cudaEventDisableTiming);
  return record_error(cudaSuccess);
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (!event) return record_error(cudaErrorInvalidResourceHandle);
  delete event;
  return record_error(cudaSuccess);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!event || !stream || event->device != stream->device)
    return record_error(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    event->capture = stream->capture;
    event->capture_tail = stream->capture_tail;
    return record_error(cudaSuccess);
  }
  event->capture = nullptr;
  return record_error(submit(stream, Task{}, &event->record));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!event || !stream) return record_error(cudaErrorInvalidResourceHandle);
  if (event->capture) return record_error(join_capture(stream, *event));
  if (stream->capture)
    return record_error(event->record ? cudaErrorStreamCaptureIsolation : cudaSuccess);
  Device::get().make_stream_wait(stream, event->record);
  return record_error(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (cudaError_t e = check_may_wait(__func__)) return record_error(e);
  if (!event) return record_error(cudaErrorInvalidResourceHandle);
  if (event->capture) return record_error(cudaErrorCapturedEvent);
  Device::get().wait(event->record);
  return record_error(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (!event) return record_error(cudaErrorInvalidResourceHandle);
  if (event->capture) return record_error(cudaErrorCapturedEvent);
  return record_error(Device::get().poll_done(event->record) ? cudaSuccess : cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!milliseconds) return record_error(cudaErrorInvalidValue);
  if (!start || !end || !start->timed || !end->timed || !start->record || !end->record ||
      start->device != end->device)
    return record_error(cudaErrorInvalidResourceHandle);
  Device& device = Device::get();
  if (!device.poll_done(start->record) || !device.poll_done(end->record))
    return record_error(cudaErrorNotReady);
  const auto elapsed = end->record->done_at - start->record->done_at;
  *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count();
  return record_error(cudaSuccess);
}
