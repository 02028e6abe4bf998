// From `kernel<<<grid, block, shared, stream>>>(a, b)` to the engine.
//
// The front end turns the launch into `(simt::configure(grid, block, shared, stream), kernel(a,
// b))` and the kernel's definition `void kernel(A a, B b) { body }` into
//
//   void kernel(A a, B b) { simt::enter_kernel(<name>, {}, [](A a, B b) { body }, a, b); }
//
// so a kernel is an ordinary function: overloads, templates, conversions of the arguments and
// function pointers work by the language's own rules. Calling it packs the arguments and hands body
// and arguments to the engine, which calls the body once for every thread.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "simt/build_mode.h"
#include "simt/layout.h"
#include "simt/location.h"
#include "simt/vector_types.h"

typedef struct CUstream_st* cudaStream_t;

namespace simt {

// __launch_bounds__(max_threads, min_blocks); 0: not given.
struct LaunchBounds {
  int max_threads = 0;
  int min_blocks = 0;
  int max_cluster_blocks = 0;
  unsigned cluster[3] = {0, 0, 0};  // __cluster_dims__(x, y, z)
};
constexpr LaunchBounds with_cluster(LaunchBounds bounds, unsigned x, unsigned y = 1,
                                    unsigned z = 1) {
  bounds.cluster[0] = x;
  bounds.cluster[1] = y;
  bounds.cluster[2] = z;
  return bounds;
}

// An argument that points to structures.
struct StructurePointer {
  const volatile void* pointer;
  Layout type;
};

// One kernel, that is one function or one instance of a function template.
struct Kernel {
  using Run = void (*)(const void* call);
  using Clone = void* (*)(const void* call);
  using Destroy = void (*)(void* call);
  using Structures = std::vector<StructurePointer> (*)(const void* call);

  Kernel(const char* signature, const char* type_name, LaunchBounds bounds, Run run, Clone clone,
         Destroy destroy, Structures structures, size_t call_bytes);

  std::string name;  // "matmul<16>"
  const char*
      type_name;  // mangled name of the body's type: tells which __shared__ variables it holds
  LaunchBounds bounds;
  Run run;                // runs the body for one thread
  Clone clone;            // copies body and arguments
  Destroy destroy;        // ends a copy
  Structures structures;  // its pointers to structures that are moved in pieces
  size_t call_bytes;      // of body and arguments

  // Set through cudaFuncSetAttribute.
  int max_dynamic_shared = 48 * 1024;
  int preferred_carveout = -1;
  bool large_clusters = false;  // cudaFuncAttributeNonPortableClusterSizeAllowed

  // Where each __shared__ variable of the program lies in this kernel's static shared memory, by
  // its number; -1: the kernel has not used it. Filled in before the first launch for the variables
  // in the kernel's own body, and at first use for those of device functions.
  std::vector<int> shared_offsets;
  size_t static_shared = 0;  // bytes in use
};

// ---- arguments --------------------------------------------------------------------------------
// A GPU gets the bytes of an argument: copies of it are made, and destroyed, on the host alone,
// where the kernel is called. So a class with a copy constructor or a destructor of its own goes
// through the stream, and to every thread, as bytes.

// Does C++ hand an argument of this type on by the address of a copy, which the caller destroys?
template <class T>
constexpr bool kPassedByAddress =
    std::is_class_v<T> &&
    (!std::is_trivially_destructible_v<T> ||
     (std::is_copy_constructible_v<T> && !std::is_trivially_copy_constructible_v<T>) ||
     (std::is_move_constructible_v<T> && !std::is_trivially_move_constructible_v<T>));

template <class T>
struct Bytes {
  alignas(T) unsigned char bytes[sizeof(T)];

  explicit Bytes(const T& argument) {
    std::memcpy(bytes, static_cast<const void*>(std::addressof(argument)), sizeof bytes);
  }
  operator T&() { return *reinterpret_cast<T*>(bytes); }
};

template <class T>
using Stored = std::conditional_t<kPassedByAddress<T>, Bytes<T>, T>;

// How a function that takes these is called with arguments that nobody copies and destroys.
template <class T>
using Passed = std::conditional_t<kPassedByAddress<T>, T&, T>;
template <class... Parameter>
auto without_copies(void (*function)(Parameter...)) {
  return reinterpret_cast<void (*)(Passed<Parameter>...)>(function);
}

// A body and its arguments, as they wait in a stream. Every thread gets its own copy of the
// arguments.
template <class Body, class... Argument>
struct Call {
  Body body;
  std::tuple<Stored<Argument>...> arguments;

  SIMT_INLINE static void run(const void* call) {
    static_cast<const Call*>(call)->run_thread(std::index_sequence_for<Argument...>{});
  }
  template <size_t... Index>
  SIMT_INLINE void run_thread(std::index_sequence<Index...>) const {
    if constexpr ((kPassedByAddress<Argument> || ...)) {
      without_copies(+body)(Stored<Argument>(std::get<Index>(arguments))...);
    } else {
      body(Argument(std::get<Index>(arguments))...);
    }
  }
  static void* clone(const void* call) { return new Call(*static_cast<const Call*>(call)); }
  static void destroy(void* call) { delete static_cast<Call*>(call); }
  static std::vector<StructurePointer> structures(const void* call) {
    std::vector<StructurePointer> found;
    const auto look_at = [&found](const auto& argument) {
      using Given = std::decay_t<decltype(argument)>;
      using Target = std::remove_pointer_t<Given>;
      if constexpr (std::is_pointer_v<Given> && std::is_object_v<Target>) {
        const Layout type = layout_of<Target>();
        if (type.in_pieces()) found.push_back({argument, type});
      }
    };
    std::apply([&](const auto&... argument) { (look_at(argument), ...); },
               static_cast<const Call*>(call)->arguments);
    return found;
  }
};

// Keeps the launch configuration for the kernel call that follows.
void configure(dim3 grid, dim3 block, size_t dynamic_shared = 0, cudaStream_t stream = nullptr,
               Location at = Location::here());

// Launches the kernel with the configuration kept by configure().
void launch_configured(Kernel& kernel, const void* call);

template <class Body, class... Given>
void enter_kernel(const char* signature, LaunchBounds bounds, Body body, Given&&... arguments) {
  using ThisCall = Call<Body, std::decay_t<Given>...>;
  static Kernel kernel(signature, typeid(Body).name(), bounds, &ThisCall::run, &ThisCall::clone,
                       &ThisCall::destroy, &ThisCall::structures, sizeof(ThisCall));
  ThisCall call{body, std::tuple<Stored<std::decay_t<Given>>...>(arguments...)};
  launch_configured(kernel, &call);
}

// ---- kernels by pointer -----------------------------------------------------------------------
// The runtime API names kernels by `const void*`. The front end wraps each conversion of a kernel
// to `void*` in kernel_handle(), which remembers how to call what the pointer points to.

struct KernelHandle {
  void (*call)(const void* function, void** arguments);  // calls the kernel with its arguments
  Kernel* (*identify)(const void* function);
};

void register_kernel(const void* function, KernelHandle handle);

// While it lives, a kernel called on this host thread is not launched but only named.
class KernelQuery {
 public:
  KernelQuery();
  ~KernelQuery();
  Kernel* result() const { return result_; }

 private:
  friend void launch_configured(Kernel&, const void*);
  Kernel* result_ = nullptr;
  KernelQuery* outer_;
};

template <class... Parameter, size_t... Index>
void call_kernel(void (*function)(Parameter...), void** arguments, std::index_sequence<Index...>) {
  (void)arguments;
  without_copies(function)(*static_cast<std::remove_reference_t<Parameter>*>(arguments[Index])...);
}

// The kernel behind a function pointer.
template <class... Parameter>
Kernel* find_kernel(void (*function)(Parameter...)) {
  std::tuple<std::aligned_storage_t<sizeof(Parameter), alignof(Parameter)>...> blanks{};
  void* arguments[sizeof...(Parameter) + 1] = {};
  std::apply(
      [&](auto&... blank) {
        int i = 0;
        ((arguments[i++] = &blank), ...);
        (void)i;
      },
      blanks);
  KernelQuery query;
  call_kernel(function, arguments, std::index_sequence_for<Parameter...>{});
  return query.result();
}

template <class... Parameter>
void* kernel_handle(void (*function)(Parameter...)) {
  using Function = void (*)(Parameter...);
  KernelHandle handle;
  handle.call = [](const void* f, void** arguments) {
    call_kernel(reinterpret_cast<Function>(const_cast<void*>(f)), arguments,
                std::index_sequence_for<Parameter...>{});
  };
  handle.identify = [](const void* f) {
    return find_kernel(reinterpret_cast<Function>(const_cast<void*>(f)));
  };
  void* pointer = reinterpret_cast<void*>(function);
  register_kernel(pointer, handle);
  return pointer;
}
inline const void* kernel_handle(const void* other) { return other; }
inline void* kernel_handle(void* other) { return other; }

}  // namespace simt
