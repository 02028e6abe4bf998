// Device memory: a range of addresses of its own, so that every pointer shows where it belongs.
#pragma once

#include <cstddef>
#include <functional>

#include "engine.h"
#include "simt/runtime_types.h"

namespace simt {

// Reserves and frees device memory. The pointer is aligned to 256 bytes; an unmapped page follows
// at most 255 bytes behind the end, and freed addresses stay unmapped until the range is used up.
cudaError_t allocate_device(void** pointer, size_t bytes, MemoryKind kind, int device, Location at);
cudaError_t free_device(void* pointer);

// Page-locked host memory: ordinary memory that the engine knows of.
cudaError_t allocate_host(void** pointer, size_t bytes, Location at);
cudaError_t free_host(void* pointer);
cudaError_t register_host(void* pointer, size_t bytes, Location at);
cudaError_t unregister_host(void* pointer);

// The heap of device code, at the end of the range; null: there is no room.
void* heap_allocate(size_t bytes, size_t alignment, Location at);
bool heap_free(void* pointer);  // false: no object begins there, or it was freed already
bool heap_holds(const void* pointer);

void memory_info(int device, size_t* free_bytes, size_t* total_bytes);

// The device whose memory holds the address; -1: none's.
int owner_of(const void* address);

// Does the copy or fill stay inside what it touches, and does the direction fit? Replaces
// cudaMemcpyDefault by the real direction.
cudaError_t check_copy(const void* to, const void* from, size_t bytes, cudaMemcpyKind* kind);
// Why the calling thread's last copy could not be, in words; "": it could, or nobody knows.
std::string why_copy_fails();
cudaError_t check_device_range(const void* address, size_t bytes);

// Host memory that is not page-locked: asynchronous copies of it are not asynchronous.
bool is_pageable(const void* address);

// For cudaGetSymbolAddress and its kin: is there a registered variable at this address?
bool is_symbol(const void* address, size_t bytes);
// From now on the program has its address on the device.
void tell_symbol_address(const void* symbol);
// While this lives, the calling thread may copy from and to variables.
struct UseOfSymbols {
  UseOfSymbols();
  ~UseOfSymbols();
};
void for_each_symbol(const std::function<void(const Allocation&)>& f);

}  // namespace simt
