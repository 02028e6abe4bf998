#include "profile_report.h"

#include <cinttypes>
#include <cmath>
#include <cstring>

#include "json_writer.h"
#include "options.h"

namespace simt {
namespace {

// "global loads     32 requests, 4.00 sectors each (1.00 per thread), 100 % of 4096 moved bytes
// used"
void print_global(FILE* out, const char* what, uint64_t requests, uint64_t sectors, uint64_t used,
                  double per_thread) {
  if (requests == 0) return;
  fprintf(out,
          "  %-13s %" PRIu64 " requests, %.2f sectors each, %.0f %% of %" PRIu64
          " moved bytes used, %.2f per thread\n",
          what, requests, ratio(sectors, requests), 100 * ratio(used, sectors * 32), sectors * 32,
          per_thread);
}

void print_shared(FILE* out, const char* what, uint64_t requests, uint64_t wavefronts,
                  double degree, uint64_t max_degree) {
  if (requests == 0) return;
  fprintf(out,
          "  %-13s %" PRIu64 " requests, %" PRIu64
          " wavefronts, conflict degree %.2f (at most %" PRIu64 ")\n",
          what, requests, wavefronts, degree, max_degree);
}

void print_site(FILE* out, const SiteProfile& site) {
  const std::string place = site.file + ":" + std::to_string(site.line);
  fprintf(out, "  %-36s %-13s %4u %10" PRIu64 " %6.1f", place.c_str(), to_string(site.kind),
          site.size, site.requests, site.active_lanes());
  if (is_shared(site.kind)) {
    fprintf(out, " %8s %6s %8.2f", "", "", site.conflict_degree());
  } else {
    fprintf(out, " %8.2f %4.0f %% %8s", site.sectors_per_request(),
            100 * ratio(site.bytes_used, site.sectors * 32), "");
  }
  if (is_atomic(site.kind)) fprintf(out, " %8.2f", ratio(site.serialization, site.requests));
  fputc('\n', out);
}

void print_kernel(FILE* out, const KernelProfile& kernel) {
  fprintf(out,
          "%s: %" PRIu64 " launch%s, %" PRIu64 " threads in %" PRIu64
          " warps, %.2f active lanes per instruction, %" PRIu64 " divergent branch%s, %" PRIu64
          " barrier%s\n",
          kernel.kernel.c_str(), kernel.launches, kernel.launches == 1 ? "" : "es", kernel.threads,
          kernel.warps, kernel.active_lanes_per_instruction(), kernel.divergent_branches,
          kernel.divergent_branches == 1 ? "" : "es", kernel.barriers,
          kernel.barriers == 1 ? "" : "s");
  const GlobalCounts& global = kernel.global;
  print_global(out, "global loads", global.load_requests, global.load_sectors,
               global.load_bytes_used, kernel.reads_per_thread());
  print_global(out, "global stores", global.store_requests, global.store_sectors,
               global.store_bytes_used, kernel.writes_per_thread());
  const SharedCounts& shared = kernel.shared;
  print_shared(out, "shared loads", shared.load_requests, shared.load_wavefronts,
               shared.load_conflict_degree(), shared.load_max_degree);
  print_shared(out, "shared stores", shared.store_requests, shared.store_wavefronts,
               shared.store_conflict_degree(), shared.store_max_degree);
  const AtomicCounts& atomics = kernel.atomics;
  if (atomics.global_requests + atomics.shared_requests > 0) {
    fprintf(out,
            "  atomics       %" PRIu64 " requests in global, %" PRIu64
            " in shared memory, %.2f lanes in turn on one address (at most %" PRIu64 ")\n",
            atomics.global_requests, atomics.shared_requests, atomics.average_serialization(),
            atomics.max_serialization);
  }
  const BesideCounts& beside = kernel.beside;
  if (beside.tma_load_bytes + beside.tma_store_bytes > 0)
    fprintf(out,
            "  TMA           %" PRIu64 " bytes loaded, %" PRIu64 " stored, %" PRIu64
            " saved by multicast\n",
            beside.tma_load_bytes, beside.tma_store_bytes, beside.multicast_saved_bytes);
  if (beside.tensor_operations > 0)
    fprintf(out, "  tensor cores  %" PRIu64 " operations\n", beside.tensor_operations);
  if (beside.stage_waits > 0)
    fprintf(out, "  stages        %" PRIu64 " waits, %.0f %% found their phase complete\n",
            beside.stage_waits, 100 * beside.stages_found());
  if (beside.link_read_bytes + beside.link_written_bytes > 0)
    fprintf(out, "  link          %" PRIu64 " bytes read from other devices, %" PRIu64 " written\n",
            beside.link_read_bytes, beside.link_written_bytes);
  if (kernel.sites.empty()) return;
  fprintf(out, "  %-36s %-13s %4s %10s %6s %8s %6s %8s %8s\n", "place", "access", "size",
          "requests", "lanes", "sectors", "used", "conflict", "in turn");
  for (const SiteProfile& site : kernel.sites) print_site(out, site);
}

void write_site(JsonWriter& json, const SiteProfile& site) {
  json.element();
  json.open("\n {");
  json.member("file", site.file);
  json.member("line", uint64_t{site.line});
  json.member("column", uint64_t{site.column});
  json.member("kind", std::string(to_string(site.kind)));
  json.member("size", uint64_t{site.size});
  json.member("executions", site.lanes);
  json.member("requests", site.requests);
  json.member("active_lanes", site.active_lanes());
  if (is_shared(site.kind)) {
    json.member("wavefronts", site.wavefronts);
    json.member("conflict_degree", site.conflict_degree());
    json.member("max_conflict_degree", site.max_degree);
  } else {
    json.member("sectors", site.sectors);
    json.member("sectors_per_request", site.sectors_per_request());
    json.member("bytes_used", site.bytes_used);
    json.member("bytes_moved", site.sectors * 32);
  }
  if (is_atomic(site.kind)) {
    json.member("serialization", ratio(site.serialization, site.requests));
    json.member("max_serialization", site.max_serialization);
  }
  json.close("}");
}

void write_kernel(JsonWriter& json, const KernelProfile& kernel) {
  json.element();
  json.open("\n{");
  json.member("kernel", kernel.kernel);
  json.member("launches", kernel.launches);
  json.member("blocks", kernel.blocks);
  json.member("threads", kernel.threads);
  json.member("warps", kernel.warps);
  json.member("instructions", kernel.instructions);
  json.member("executions", kernel.instruction_lanes);
  json.member("active_lanes_per_instruction", kernel.active_lanes_per_instruction());
  json.member("divergent_branches", kernel.divergent_branches);
  json.member("barriers", kernel.barriers);
  json.member("barrier_requests", kernel.barrier_requests);
  const GlobalCounts& global = kernel.global;
  json.name("global");
  json.open("{");
  json.member("load_requests", global.load_requests);
  json.member("load_executions", global.load_lanes);
  json.member("load_sectors", global.load_sectors);
  json.member("load_sectors_per_request", global.load_sectors_per_request());
  json.member("load_bytes", global.load_bytes);
  json.member("load_bytes_used", global.load_bytes_used);
  json.member("load_bytes_moved", global.load_bytes_moved());
  json.member("store_requests", global.store_requests);
  json.member("store_executions", global.store_lanes);
  json.member("store_sectors", global.store_sectors);
  json.member("store_sectors_per_request", global.store_sectors_per_request());
  json.member("store_bytes", global.store_bytes);
  json.member("store_bytes_used", global.store_bytes_used);
  json.member("store_bytes_moved", global.store_bytes_moved());
  json.close("}");
  const SharedCounts& shared = kernel.shared;
  json.name("shared");
  json.open("{");
  json.member("load_requests", shared.load_requests);
  json.member("load_executions", shared.load_lanes);
  json.member("load_wavefronts", shared.load_wavefronts);
  json.member("load_conflict_degree", shared.load_conflict_degree());
  json.member("load_max_conflict_degree", shared.load_max_degree);
  json.member("store_requests", shared.store_requests);
  json.member("store_executions", shared.store_lanes);
  json.member("store_wavefronts", shared.store_wavefronts);
  json.member("store_conflict_degree", shared.store_conflict_degree());
  json.member("store_max_conflict_degree", shared.store_max_degree);
  json.close("}");
  const AtomicCounts& atomics = kernel.atomics;
  json.name("atomics");
  json.open("{");
  json.member("global_requests", atomics.global_requests);
  json.member("global_executions", atomics.global_lanes);
  json.member("shared_requests", atomics.shared_requests);
  json.member("shared_executions", atomics.shared_lanes);
  json.member("serialization", atomics.average_serialization());
  json.member("max_serialization", atomics.max_serialization);
  json.close("}");
  const BesideCounts& beside = kernel.beside;
  json.name("beside");
  json.open("{");
  json.member("tma_load_bytes", beside.tma_load_bytes);
  json.member("tma_store_bytes", beside.tma_store_bytes);
  json.member("multicast_saved_bytes", beside.multicast_saved_bytes);
  json.member("tensor_operations", beside.tensor_operations);
  json.member("stage_waits", beside.stage_waits);
  json.member("stages_found", beside.stages_found());
  json.member("link_read_bytes", beside.link_read_bytes);
  json.member("link_written_bytes", beside.link_written_bytes);
  json.close("}");
  const BusiestCounts& busiest = kernel.busiest;
  json.name("busiest");
  json.open("{");
  json.member("thread_load_bytes", busiest.load_bytes.thread);
  json.member("block_load_bytes", busiest.load_bytes.block);
  json.member("thread_store_bytes", busiest.store_bytes.thread);
  json.member("block_store_bytes", busiest.store_bytes.block);
  json.member("thread_steps", busiest.steps.thread);
  json.member("block_steps", busiest.steps.block);
  json.close("}");
  json.name("nsight_compute");
  json.open("{");
  for (const NsightMetric& metric : nsight_metrics(kernel))
    json.member(metric.name.c_str(), metric.value);
  json.close("}");
  json.member("reads_per_thread", kernel.reads_per_thread());
  json.member("writes_per_thread", kernel.writes_per_thread());
  json.name("sites");
  json.open("[");
  for (const SiteProfile& site : kernel.sites) write_site(json, site);
  json.close("]");
  json.close("}");
}

void print_nsight(FILE* out, const KernelProfile& kernel) {
  fprintf(out, "%s\n", kernel.kernel.c_str());
  for (const NsightMetric& metric : nsight_metrics(kernel))
    fprintf(out, "  %-72s %14.*f\n", metric.name.c_str(),
            metric.value == std::floor(metric.value) ? 0 : 2, metric.value);
}

}  // namespace

void print_profiles(FILE* out, const std::vector<KernelProfile>& kernels) {
  fprintf(out, "simt: counters (no caches, no time: see simt/checks-and-counters.md)\n");
  const char* names = setting("SIMT_PROFILE");
  const auto print = names && std::strcmp(names, "ncu") == 0 ? print_nsight : print_kernel;
  for (const KernelProfile& kernel : kernels) print(out, kernel);
}

bool write_profiles_json(const std::string& path, const std::vector<KernelProfile>& kernels) {
  return write_json_file("SIMT_PROFILE_JSON", path, [&kernels](JsonWriter& json) {
    json.open("{");
    json.member("schema", uint64_t{1});
    if (*sealed_word()) json.member("seal", std::string(sealed_word()));
    json.name("kernels");
    json.open("[");
    for (const KernelProfile& kernel : kernels) write_kernel(json, kernel);
    json.close("]");
    json.close("}\n");
  });
}

}  // namespace simt
