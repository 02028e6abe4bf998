"""Counters from Nsight Compute and from simt, in the same columns."""

import json
import unittest

from tool_case import ToolCase  # (puts tools/ on the path)

import profile

HEADER = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
)
# What ncu 2025.3 counted on an H200 for a kernel that reads shared memory down a column (32-way
# conflicts) and one that copies float4 through shared memory; the second was launched twice.
COUNTED = {
    ("0", "strided_kernel"): {
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "4,736",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "768",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "512",
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "128",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "4,096",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "3,968",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "128",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": "0",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "4,096",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "128",
        "smsp__sass_branch_targets_threads_divergent.sum": "128",
        # 256 of the loads are switched off for a whole warp.
        "smsp__sass_inst_executed_op_global_ld.sum": "512",
        "sass__inst_executed_per_opcode": "8,448 (LDG: 768; BAR: 1,256; ATOMS: 256; REDG: 8)",
        "sass__thread_inst_executed_true_per_opcode": "60,000 (LDG: 16,512; ATOMS: 8,192; BAR: 9)",
    },
    ("1", "vec_kernel"): {
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "2,048",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "128",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "515",
        # Three wavefronts more, and as many conflicts, came about beside the addresses.
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "3",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "512",
        "sass__inst_executed_per_opcode": "2,560",
    },
    # Reads by ldmatrix alone, 16-way conflicts; of the writes some are a barrier's.
    ("3", "matrix_kernel"): {
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "65,536",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": "61,440",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum": "65,536",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "400",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "256",
        "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum": "64",
        "sass__inst_executed_per_opcode": "1",
    },
}
COUNTED["2", "vec_kernel"] = COUNTED["1", "vec_kernel"]


def ncu_log():
    lines = ["==PROF== Connected to process 1", HEADER]
    for (launch, kernel), metrics in COUNTED.items():
        for metric, value in metrics.items():
            before = f'"{launch}","1","p","127.0.0.1","{kernel}","1","7","(1024, 1, 1)","(4, 1, 1)"'
            lines.append(
                f'{before},"0","9.0","Command line profiler metrics","{metric}","","{value}"'
            )
    return "\n".join([*lines, "==PROF== Disconnected"])


SIMT_PROFILE = {
    "schema": 1,
    "kernels": [
        {
            "kernel": "transpose_tiled_kernel",
            "launches": 1,
            "threads": 1024,
            "instructions": 100,
            "active_lanes_per_instruction": 31.5,
            "divergent_branches": 4,
            "barriers": 1,
            "barrier_requests": 8,
            "global": {
                "load_requests": 32,
                "load_executions": 1024,
                "load_sectors_per_request": 4.0,
                "store_requests": 32,
                "store_executions": 256,
                "store_sectors_per_request": 32.0,
            },
            "shared": {
                "load_requests": 0,
                "load_executions": 0,
                "load_conflict_degree": 0.0,
                "load_wavefronts": 0,
                "store_requests": 32,
                "store_executions": 1024,
                "store_wavefronts": 32,
                "store_conflict_degree": 1.0,
            },
            "atomics": {"global_requests": 3, "shared_requests": 4, "serialization": 9.0},
            "beside": {
                "tma_load_bytes": 96,
                "tma_store_bytes": 32,
                "multicast_saved_bytes": 0,
                "tensor_operations": 4096,
            },
            "sites": [],
        }
    ],
}


class Profile(ToolCase):
    def setUp(self):
        super().setUp()
        self.program = self.executable(self.root / "program", "exit 0\n")
        self.output = self.root / "out.json"

    def profile(self, backend, *arguments, status=0, **options):
        command = [
            "profile.py",
            "--backend",
            backend,
            "--json",
            self.output,
            self.program,
            *arguments,
        ]
        return self.run_tool(*command, status=status, **options)

    def fake_ncu(self, log, status=0, known=""):
        self.write("log", log)
        self.write("known", known)
        self.fake(
            "ncu",
            f"""
            [[ $1 == --query-metrics ]] && {{ cat {self.root}/known; exit; }}
            [[ $1 == --help ]] && {{ echo "--print-metric-instances arg: none, details"; exit; }}
            echo "$@" >{self.root}/ncu_command
            while [[ $1 != --log-file ]]; do shift; done
            cp {self.root}/log "$2"
            exit {status}
            """,
        )

    def test_ncu_counts(self):
        self.fake_ncu(ncu_log())
        result = self.profile("ncu", "--n", "64")
        written = json.loads(self.output.read_text())
        self.assertEqual((written["schema"], written["backend"]), (1, "ncu"))
        self.assertEqual(written["runs"], 2)
        strided, vec, matrix = written["kernels"]
        self.assertEqual(strided["kernel"], "strided_kernel")
        self.assertAlmostEqual(strided["load_sectors_per_request"], 4736 / 768)
        self.assertEqual(strided["store_sectors_per_request"], 4)
        self.assertEqual(strided["shared_load_conflict"], 32)
        self.assertEqual(strided["shared_store_conflict"], 1)
        self.assertEqual(strided["threads"], 4096)
        self.assertAlmostEqual(strided["active_lanes"], (16512 + 8192) / (768 + 256 + 8))
        self.assertAlmostEqual(strided["lanes_per_access"], 16512 / 512)
        self.assertEqual(strided["divergent_branches"], 128)
        self.assertEqual(strided["barriers"], 1256)
        self.assertEqual(strided["atomics"], 264)
        self.assertEqual(vec["launches"], 2)
        self.assertEqual(vec["load_sectors_per_request"], 16)
        self.assertEqual(vec["shared_load_conflict"], 1)
        self.assertEqual(vec["threads"], 8192)
        self.assertIsNone(vec["active_lanes"])
        self.assertIsNone(vec["lanes_per_access"])
        self.assertIsNone(vec["store_sectors_per_request"])
        self.assertIsNone(vec["barriers"])
        self.assertEqual(matrix["shared_load_conflict"], 16)
        self.assertIsNone(matrix["shared_store_conflict"])  # 320 of 400
        self.assertEqual((strided["varying"], vec["varying"]), ([], []))
        self.assertRegex(
            result.stdout,
            r"strided_kernel +1 +4096 +6.17 +4.00 +32.00 +1.00 +23.94 +32.25 +128 +1256 +264",
        )

    def test_what_differs_from_run_to_run(self):
        log = ncu_log().splitlines()
        again = max(i for i, line in enumerate(log) if "mem_global_op_ld" in line)
        log[again] = log[again].replace('"128"', '"129"')
        self.fake_ncu("\n".join(log))
        self.profile("ncu")
        _, vec, _ = json.loads(self.output.read_text())["kernels"]
        self.assertEqual(vec["varying"], ["load_sectors_per_request"])

    def test_ncu_is_asked_for_counts_and_leaves_the_clocks_alone(self):
        self.fake_ncu(ncu_log())
        self.profile("ncu", "--n", "64")
        command = self.read("ncu_command")
        for words in (
            "--clock-control none --csv",
            "--print-metric-instances details",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,",
            f"{self.program} --verify --n 64",
        ):
            self.assertIn(words, command)

    def test_only_metrics_that_this_ncu_knows_are_asked_for(self):
        named = "smsp__sass_inst_executed_op_shared_ld"
        self.fake_ncu(ncu_log(), known=f"Device NVIDIA H200\n\n{named}  # of instructions\n")
        self.profile("ncu")
        command = self.read("ncu_command")
        self.assertIn(f",{named}.sum ", command)
        self.assertNotIn("inst_executed_op_shared_stsm", command)

    def test_both_backends_print_the_same_columns(self):
        self.fake_ncu(ncu_log())
        from_ncu = self.profile("ncu").stdout.splitlines()
        copy = '[[ $SIMT_PROFILE == 1 ]] || exit 7\ncp "$PROFILE" "$SIMT_PROFILE_JSON"\n'
        self.executable(self.program, copy)
        profile = self.write("simt.json", json.dumps(SIMT_PROFILE))
        from_simt = self.profile("simt", PROFILE=str(profile)).stdout.splitlines()
        titles = next(line for line in from_ncu if line.startswith("kernel "))
        self.assertEqual(titles.split(), from_simt[0].split())
        self.assertRegex(
            from_simt[1],
            r"transpose_tiled_kernel +1 +1024 +4.00 +32.00 +- +1.00 +31.50 +24.00 +4 +8 +7 +128 +- "
            r"+4096$",
        )
        self.assertEqual(json.loads(self.output.read_text())["backend"], "simt")

    def test_instances_of_a_template_are_one_kernel(self):
        one, two = (json.loads(json.dumps(SIMT_PROFILE["kernels"][0])) for _ in range(2))
        one.update(
            kernel="transpose::tiled_kernel<32>",
            instructions=100,
            active_lanes_per_instruction=32.0,
        )
        two.update(
            kernel="transpose::tiled_kernel<16>",
            instructions=300,
            active_lanes_per_instruction=16.0,
        )
        two["global"].update(
            load_requests=96, load_executions=96, load_sectors_per_request=8.0
        )
        # 64 wavefronts where 4 would do weigh as much as 4 wavefronts without a conflict.
        one["shared"].update(load_wavefronts=4, load_conflict_degree=1.0)
        two["shared"].update(load_wavefronts=64, load_conflict_degree=16.0)
        profile = self.write("simt.json", json.dumps({"schema": 1, "kernels": [one, two]}))
        self.executable(self.program, 'cp "$PROFILE" "$SIMT_PROFILE_JSON"\n')
        self.profile("simt", PROFILE=str(profile))
        (kernel,) = json.loads(self.output.read_text())["kernels"]
        self.assertEqual((kernel["kernel"], kernel["launches"]), ("transpose::tiled_kernel", 2))
        self.assertEqual(kernel["active_lanes"], 20)
        self.assertEqual(kernel["load_sectors_per_request"], 7)
        self.assertEqual(kernel["lanes_per_access"], (3 * 1024 + 2 * 256 + 96) / (4 * 32 + 32 + 96))
        self.assertEqual(kernel["shared_load_conflict"], 8.5)
        self.assertEqual(kernel["atomics"], 14)
        self.assertEqual(kernel["tma_bytes"], 256)
        self.assertIsNone(kernel["multicast_saved_bytes"])

    def test_names_of_kernels(self):
        for text, name in [
            ("vec_kernel", "vec_kernel"),
            ("void bf16::wgmma_kernel<(int)4, (bool)1>(const float *, int)", "bf16::wgmma_kernel"),
            ("a::bf16::ring_kernel<T<2, U<3>>, false>", "bf16::ring_kernel"),
            ("void a::<unnamed>::k(float *)", "a::k"),
            ("void (anonymous namespace)::k<float (*)(int)>(float (*)(int))", "k"),
            ("", ""),
        ]:
            self.assertEqual(profile.kernel_name(text), name)

    def test_missing_permission_has_a_remedy(self):
        self.fake_ncu("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n", status=1)
        error = self.profile("ncu", status=1).stderr
        self.assert_one_line(error, "sudo", "NVreg_RestrictProfilingToAdminUsers=0")
        self.assertFalse(self.output.exists())

    def test_failures_of_ncu(self):
        self.fake_ncu("==ERROR== Failed to find metric x\n", status=1)
        self.assert_one_line(self.profile("ncu", status=1).stderr, "Failed to find metric x")
        self.fake_ncu("==PROF== nothing\n")
        self.assert_one_line(self.profile("ncu", status=1).stderr, "no kernel launch")
        (self.bin / "ncu").unlink()
        self.borrow("bash")
        self.assert_one_line(self.profile("ncu", status=1, only_fakes=True).stderr, "not installed")

    def test_failures_of_simt(self):
        self.assert_one_line(self.profile("simt", status=1).stderr, "no instrumented simt build")
        self.program.write_text("#!/bin/bash\nexit 4\n")
        self.assert_one_line(self.profile("simt", status=1).stderr, "exit code 4")

    def test_damaged_counters_are_one_line(self):
        for text in ("", "[]", "{}", '{"kernels": [{}]}', '{"kernels": 3}', '{"kernels": NaN}'):
            self.write("counters", text)
            copy = f'#!/bin/bash\ncp {self.root}/counters "$SIMT_PROFILE_JSON"\n'
            self.program.write_text(copy)
            self.assert_one_line(self.profile("simt", status=1).stderr, "wrote no valid counters")
        for log in ('"ID","Metric Name"\n"0","x"\n', '"ID",\n"0"\n'):
            self.fake_ncu(log)
            self.assert_one_line(
                self.profile("ncu", status=1).stderr, "ncu wrote no valid counters"
            )
        self.assertFalse(self.output.exists())

    def test_bad_arguments(self):
        for arguments in (
            [self.program],
            ["--backend", "gdb", self.program],
            ["--backend", "simt", "nosuch"],
        ):
            self.assert_one_line(
                self.run_tool("profile.py", *arguments, status=2).stderr, "profile.py:"
            )


if __name__ == "__main__":
    unittest.main()
