#include "simt/profile.h"

namespace simt {

std::vector<NsightMetric> nsight_metrics(const KernelProfile& kernel) {
  std::vector<NsightMetric> metrics;
  const auto add = [&metrics](std::string name, uint64_t value) {
    metrics.push_back({std::move(name), static_cast<double>(value)});
  };
  add("launch__grid_size", kernel.blocks);
  add("launch__thread_count", kernel.threads);
  add("smsp__warps_launched.sum", kernel.warps);

  const auto add_global = [&](const std::string& op, uint64_t requests, uint64_t sectors) {
    add("smsp__sass_inst_executed_op_global_" + op + ".sum", requests);
    add("l1tex__t_requests_pipe_lsu_mem_global_op_" + op + ".sum", requests);
    add("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op + ".sum", sectors);
    add("l1tex__t_bytes_pipe_lsu_mem_global_op_" + op + ".sum", sectors * 32);
    metrics.push_back(
        {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_" + op + ".ratio",
         ratio(sectors, requests)});
  };
  const GlobalCounts& global = kernel.global;
  add_global("ld", global.load_requests, global.load_sectors);
  add_global("st", global.store_requests, global.store_sectors);

  const auto add_shared = [&](const std::string& op, uint64_t requests, uint64_t wavefronts,
                              uint64_t needed) {
    add("smsp__sass_inst_executed_op_shared_" + op + ".sum", requests);
    add("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_" + op + ".sum", wavefronts);
    add("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" + op + ".sum", wavefronts);
    add("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" + op + ".sum", wavefronts - needed);
  };
  const SharedCounts& shared = kernel.shared;
  add_shared("ld", shared.load_requests, shared.load_wavefronts, shared.load_groups);
  add_shared("st", shared.store_requests, shared.store_wavefronts, shared.store_groups);
  return metrics;
}

}  // namespace simt
