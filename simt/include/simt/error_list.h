// The runtime API's error codes: value, name, and the text of cudaGetErrorString.
#pragma once

#define SIMT_ERRORS(E)                                                                             \
  E(0, cudaSuccess, "no error")                                                                    \
  E(1, cudaErrorInvalidValue, "invalid argument")                                                  \
  E(2, cudaErrorMemoryAllocation, "out of memory")                                                 \
  E(3, cudaErrorInitializationError, "initialization error")                                       \
  E(4, cudaErrorCudartUnloading, "driver shutting down")                                           \
  E(5, cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool")         \
  E(6, cudaErrorProfilerNotInitialized, "profiler not initialized: call cudaProfilerInitialize()") \
  E(7, cudaErrorProfilerAlreadyStarted, "profiler already started")                                \
  E(8, cudaErrorProfilerAlreadyStopped, "profiler already stopped")                                \
  E(9, cudaErrorInvalidConfiguration, "invalid configuration argument")                            \
  E(12, cudaErrorInvalidPitchValue, "invalid pitch argument")                                      \
  E(13, cudaErrorInvalidSymbol, "invalid device symbol")                                           \
  E(16, cudaErrorInvalidHostPointer, "invalid host pointer")                                       \
  E(17, cudaErrorInvalidDevicePointer, "invalid device pointer")                                   \
  E(18, cudaErrorInvalidTexture, "invalid texture reference")                                      \
  E(19, cudaErrorInvalidTextureBinding, "texture is not bound to a pointer")                       \
  E(20, cudaErrorInvalidChannelDescriptor, "invalid channel descriptor")                           \
  E(21, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                      \
  E(22, cudaErrorAddressOfConstant, "invalid address of constant")                                 \
  E(23, cudaErrorTextureFetchFailed, "fetch from texture failed")                                  \
  E(24, cudaErrorTextureNotBound, "cannot fetch from a texture that is not bound")                 \
  E(25, cudaErrorSynchronizationError, "incorrect use of __syncthreads()")                         \
  E(26, cudaErrorInvalidFilterSetting, "linear filtering not supported for non-float type")        \
  E(27, cudaErrorInvalidNormSetting, "read as normalized float not supported for data type")       \
  E(28, cudaErrorMixedDeviceExecution,                                                             \
    "device emulation mode and device execution mode cannot be mixed")                             \
  E(31, cudaErrorNotYetImplemented, "feature not yet implemented")                                 \
  E(32, cudaErrorMemoryValueTooLarge, "memory size or pointer value too large to fit in 32 bit")   \
  E(34, cudaErrorStubLibrary, "CUDA driver is a stub library")                                     \
  E(35, cudaErrorInsufficientDriver,                                                               \
    "CUDA driver version is insufficient for CUDA runtime version")                                \
  E(36, cudaErrorCallRequiresNewerDriver,                                                          \
    "API call is not supported in the installed CUDA driver")                                      \
  E(37, cudaErrorInvalidSurface, "invalid surface reference")                                      \
  E(43, cudaErrorDuplicateVariableName, "duplicate global variable looked up by string name")      \
  E(44, cudaErrorDuplicateTextureName, "duplicate texture looked up by string name")               \
  E(45, cudaErrorDuplicateSurfaceName, "duplicate surface looked up by string name")               \
  E(46, cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")          \
  E(49, cudaErrorIncompatibleDriverContext, "incompatible driver context")                         \
  E(52, cudaErrorMissingConfiguration, "__global__ function call is not configured")               \
  E(53, cudaErrorPriorLaunchFailure, "unspecified launch failure in prior launch")                 \
  E(65, cudaErrorLaunchMaxDepthExceeded, "launch would exceed maximum depth of nested launches")   \
  E(66, cudaErrorLaunchFileScopedTex,                                                              \
    "launch failed because kernel uses unsupported, file-scoped textures (texture objects are "    \
    "supported)")                                                                                  \
  E(67, cudaErrorLaunchFileScopedSurf,                                                             \
    "launch failed because kernel uses unsupported, file-scoped surfaces (surface objects are "    \
    "supported)")                                                                                  \
  E(68, cudaErrorSyncDepthExceeded,                                                                \
    "cudaDeviceSynchronize failed because caller's grid depth exceeds "                            \
    "cudaLimitDevRuntimeSyncDepth")                                                                \
  E(69, cudaErrorLaunchPendingCountExceeded,                                                       \
    "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount")             \
  E(98, cudaErrorInvalidDeviceFunction, "invalid device function")                                 \
  E(100, cudaErrorNoDevice, "no CUDA-capable device is detected")                                  \
  E(101, cudaErrorInvalidDevice, "invalid device ordinal")                                         \
  E(102, cudaErrorDeviceNotLicensed, "device doesn't have valid Grid license")                     \
  E(103, cudaErrorSoftwareValidityNotEstablished, "integrity checks failed")                       \
  E(127, cudaErrorStartupFailure, "startup failure in cuda runtime")                               \
  E(200, cudaErrorInvalidKernelImage, "device kernel image is invalid")                            \
  E(201, cudaErrorDeviceUninitialized, "invalid device context")                                   \
  E(205, cudaErrorMapBufferObjectFailed, "mapping of buffer object failed")                        \
  E(206, cudaErrorUnmapBufferObjectFailed, "unmapping of buffer object failed")                    \
  E(207, cudaErrorArrayIsMapped, "array is mapped")                                                \
  E(208, cudaErrorAlreadyMapped, "resource already mapped")                                        \
  E(209, cudaErrorNoKernelImageForDevice,                                                          \
    "no kernel image is available for execution on the device")                                    \
  E(210, cudaErrorAlreadyAcquired, "resource already acquired")                                    \
  E(211, cudaErrorNotMapped, "resource not mapped")                                                \
  E(212, cudaErrorNotMappedAsArray, "resource not mapped as array")                                \
  E(213, cudaErrorNotMappedAsPointer, "resource not mapped as pointer")                            \
  E(214, cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                         \
  E(215, cudaErrorUnsupportedLimit, "limit is not supported on this architecture")                 \
  E(216, cudaErrorDeviceAlreadyInUse,                                                              \
    "exclusive-thread device already in use by a different thread")                                \
  E(217, cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices") \
  E(218, cudaErrorInvalidPtx, "a PTX JIT compilation failed")                                      \
  E(219, cudaErrorInvalidGraphicsContext, "invalid OpenGL or DirectX context")                     \
  E(220, cudaErrorNvlinkUncorrectable, "uncorrectable NVLink error detected during the execution") \
  E(221, cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found")                       \
  E(222, cudaErrorUnsupportedPtxVersion,                                                           \
    "the provided PTX was compiled with an unsupported toolchain.")                                \
  E(223, cudaErrorJitCompilationDisabled, "PTX JIT compilation was disabled")                      \
  E(224, cudaErrorUnsupportedExecAffinity, "the provided execution affinity is not supported")     \
  E(225, cudaErrorUnsupportedDevSideSync,                                                          \
    "the provided PTX contains unsupported call to cudaDeviceSynchronize")                         \
  E(226, cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error")  \
  E(300, cudaErrorInvalidSource, "device kernel image is invalid")                                 \
  E(301, cudaErrorFileNotFound, "file not found")                                                  \
  E(302, cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found")                    \
  E(303, cudaErrorSharedObjectInitFailed, "shared object initialization failed")                   \
  E(304, cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS")         \
  E(400, cudaErrorInvalidResourceHandle, "invalid resource handle")                                \
  E(401, cudaErrorIllegalState, "the operation cannot be performed in the present state")          \
  E(402, cudaErrorLossyQuery, "attempted introspection would be semantically lossy")               \
  E(500, cudaErrorSymbolNotFound, "named symbol not found")                                        \
  E(600, cudaErrorNotReady, "device not ready")                                                    \
  E(700, cudaErrorIllegalAddress, "an illegal memory access was encountered")                      \
  E(701, cudaErrorLaunchOutOfResources, "too many resources requested for launch")                 \
  E(702, cudaErrorLaunchTimeout, "the launch timed out and was terminated")                        \
  E(703, cudaErrorLaunchIncompatibleTexturing, "launch uses incompatible texturing mode")          \
  E(704, cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")                      \
  E(705, cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")                        \
  E(708, cudaErrorSetOnActiveProcess, "cannot set while device is active in this process")         \
  E(709, cudaErrorContextIsDestroyed, "context is destroyed")                                      \
  E(710, cudaErrorAssert, "device-side assert triggered")                                          \
  E(711, cudaErrorTooManyPeers, "peer mapping resources exhausted")                                \
  E(712, cudaErrorHostMemoryAlreadyRegistered,                                                     \
    "part or all of the requested memory range is already mapped")                                 \
  E(713, cudaErrorHostMemoryNotRegistered,                                                         \
    "pointer does not correspond to a registered memory region")                                   \
  E(714, cudaErrorHardwareStackError, "hardware stack error")                                      \
  E(715, cudaErrorIllegalInstruction, "an illegal instruction was encountered")                    \
  E(716, cudaErrorMisalignedAddress, "misaligned address")                                         \
  E(717, cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space")   \
  E(718, cudaErrorInvalidPc, "invalid program counter")                                            \
  E(719, cudaErrorLaunchFailure, "unspecified launch failure")                                     \
  E(720, cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch")              \
  E(721, cudaErrorTensorMemoryLeak, "tensor memory not completely freed")                          \
  E(800, cudaErrorNotPermitted, "operation not permitted")                                         \
  E(801, cudaErrorNotSupported, "operation not supported")                                         \
  E(802, cudaErrorSystemNotReady, "system not yet initialized")                                    \
  E(803, cudaErrorSystemDriverMismatch,                                                            \
    "system has unsupported display driver / cuda driver combination")                             \
  E(804, cudaErrorCompatNotSupportedOnDevice,                                                      \
    "forward compatibility was attempted on non supported HW")                                     \
  E(805, cudaErrorMpsConnectionFailed,                                                             \
    "MPS client failed to connect to the MPS control daemon or the MPS server")                    \
  E(806, cudaErrorMpsRpcFailure,                                                                   \
    "the remote procedural call between the MPS server and the MPS client failed")                 \
  E(807, cudaErrorMpsServerNotReady, "MPS server is not ready to accept new MPS client requests")  \
  E(808, cudaErrorMpsMaxClientsReached,                                                            \
    "the hardware resources required to create MPS client have been exhausted")                    \
  E(809, cudaErrorMpsMaxConnectionsReached,                                                        \
    "the hardware resources required to support device connections have been exhausted")           \
  E(810, cudaErrorMpsClientTerminated, "the MPS client has been terminated by the server")         \
  E(811, cudaErrorCdpNotSupported,                                                                 \
    "is using CUDA Dynamic Parallelism, but the current configuration, like MPS, does not "        \
    "support it")                                                                                  \
  E(812, cudaErrorCdpVersionMismatch,                                                              \
    "unsupported interaction between different versions of CUDA Dynamic Parallelism")              \
  E(900, cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")    \
  E(901, cudaErrorStreamCaptureInvalidated,                                                        \
    "operation failed due to a previous error during capture")                                     \
  E(902, cudaErrorStreamCaptureMerge,                                                              \
    "operation would result in a merge of separate capture sequences")                             \
  E(903, cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")  \
  E(904, cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                     \
  E(905, cudaErrorStreamCaptureIsolation,                                                          \
    "dependency created on uncaptured work in another stream")                                     \
  E(906, cudaErrorStreamCaptureImplicit,                                                           \
    "operation would make the legacy stream depend on a capturing blocking stream")                \
  E(907, cudaErrorCapturedEvent,                                                                   \
    "operation not permitted on an event last recorded in a capturing stream")                     \
  E(908, cudaErrorStreamCaptureWrongThread,                                                        \
    "attempt to terminate a thread-local capture sequence from another thread")                    \
  E(909, cudaErrorTimeout, "wait operation timed out")                                             \
  E(910, cudaErrorGraphExecUpdateFailure,                                                          \
    "the graph update was not performed because it included changes which violated constraints "   \
    "specific to instantiated graph update")                                                       \
  E(911, cudaErrorExternalDevice, "an async error has occured in external entity outside of CUDA") \
  E(912, cudaErrorInvalidClusterSize,                                                              \
    "a kernel launch error has occurred due to cluster misconfiguration")                          \
  E(913, cudaErrorFunctionNotLoaded,                                                               \
    "the function handle is not loaded when calling an API that requires a loaded function")       \
  E(914, cudaErrorInvalidResourceType,                                                             \
    "one or more resources passed in are not valid resource types for the operation")              \
  E(915, cudaErrorInvalidResourceConfiguration,                                                    \
    "one or more resources are insufficient or non-applicable for the operation")                  \
  E(999, cudaErrorUnknown, "unknown error")
