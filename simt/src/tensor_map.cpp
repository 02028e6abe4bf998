// cuTensorMapEncodeTiled: checks what the driver checks and writes a TensorMap.

#include "tensor_map.h"

#include <cstring>
#include <string>

#include "cuda.h"
#include "device.h"

namespace simt {
namespace {

struct DataType {
  unsigned bytes;
  ptx::Element element;
};

bool find_type(CUtensorMapDataType type, DataType* found) {
  using ptx::Element;
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8: *found = {1, Element::u8}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16: *found = {2, Element::b32}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32: *found = {4, Element::u32}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_INT32: *found = {4, Element::s32}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64: *found = {8, Element::u64}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_INT64: *found = {8, Element::s64}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16: *found = {2, Element::f16}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ: *found = {4, Element::f32}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64: *found = {8, Element::f64}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: *found = {2, Element::bf16}; return true;
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: *found = {4, Element::f32}; return true;
    default: return false;
  }
}

CUresult refuse(const char* why) {
  report(std::string("cuTensorMapEncodeTiled: ") + why);
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace simt

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* base, const cuuint64_t* sizes, const cuuint64_t* pitches,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  using namespace simt;
  DataType data;
  if (!map || !sizes || !box || !steps || !find_type(type, &data)) return CUDA_ERROR_INVALID_VALUE;
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0) return refuse("the map is not aligned to 64");
  if (rank < 1 || rank > 5) return refuse("a tensor has 1 to 5 dimensions");
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
    report("cuTensorMapEncodeTiled: interleaved layouts are not modelled");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (unsigned(swizzle) > CU_TENSOR_MAP_SWIZZLE_128B) {
    report("cuTensorMapEncodeTiled: this swizzle is not modelled");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (reinterpret_cast<uintptr_t>(base) % 16 != 0)
    return refuse("the tensor is not aligned to 16 bytes");
  TensorMap made{};
  made.magic = TensorMap::kMagic;
  made.rank = static_cast<uint8_t>(rank);
  made.element_bytes = static_cast<uint8_t>(data.bytes);
  made.element = data.element;
  made.swizzle_bytes =
      static_cast<uint8_t>(swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : 16 << swizzle);
  made.base = static_cast<char*>(base);
  made.nan_outside = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
  for (unsigned d = 0; d < rank; ++d) {
    if (sizes[d] == 0 || sizes[d] > uint64_t{1} << 32) return refuse("a size of 0 or above 2^32");
    if (box[d] == 0 || box[d] > 256) return refuse("a box of 0 or more than 256 elements");
    if (steps[d] == 0 || steps[d] > 8) return refuse("an element stride of 0 or above 8");
    made.size[d] = sizes[d];
    made.box[d] = static_cast<uint16_t>(box[d]);
    made.step[d] = static_cast<uint8_t>(steps[d]);
    if (d == 0) continue;
    if (!pitches) return CUDA_ERROR_INVALID_VALUE;
    if (pitches[d - 1] % 16 != 0 || pitches[d - 1] >= uint64_t{1} << 40)
      return refuse("a pitch that is not a multiple of 16 bytes below 2^40");
    made.pitch[d - 1] = pitches[d - 1];
  }
  const unsigned row = (box[0] + steps[0] - 1) / steps[0] * data.bytes;
  if (row % 16 != 0) return refuse("the rows of a box are not a multiple of 16 bytes");
  if (made.swizzle_bytes && row > made.swizzle_bytes)
    return refuse("the rows of a box are longer than the swizzle");
  std::memset(static_cast<void*>(map), 0, sizeof *map);
  std::memcpy(static_cast<void*>(map), &made, sizeof made);
  return CUDA_SUCCESS;
}

// Functions of the driver that programs look up by name.
namespace simt {
void* driver_function(const char* name) {
  if (name && std::strcmp(name, "cuTensorMapEncodeTiled") == 0)
    return reinterpret_cast<void*>(&cuTensorMapEncodeTiled);
  return nullptr;
}
}  // namespace simt
