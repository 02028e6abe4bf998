"""The counters of a GPU beside those of simt."""

import json
import unittest

from tool_case import ToolCase


def kernel(name, launches, **counters):
    empty = dict.fromkeys(
        (
            "load_sectors_per_request",
            "store_sectors_per_request",
            "shared_load_conflict",
            "shared_store_conflict",
            "active_lanes",
            "lanes_per_access",
        )
    )
    made = {"kernel": name, "launches": launches, "threads": 64 * launches, "varying": []}
    return {**made, **empty, "barriers": 0, "atomics": 0, **counters}


class CompareCounters(ToolCase):
    def compare(self, gpu, simt, arguments="--n 64", status=0):
        chapter = {"arguments": "--n 64", "backend": "ncu", "kernels": gpu}
        results = self.write("results.json", json.dumps({"counters": {"05_sum": chapter}}))
        profile = {"program": "sum", "arguments": arguments, "kernels": simt}
        counts = self.write("counts.json", json.dumps(profile))
        return self.run_tool("compare_counters.py", str(results), str(counts), status=status)

    def test_equal_is_within_two_percent(self):
        gpu = [kernel("tree_kernel", 1, active_lanes=20.0, load_sectors_per_request=4.0)]
        simt = [kernel("sum::tree_kernel", 1, active_lanes=20.3, load_sectors_per_request=4.1)]
        out = self.compare(gpu, simt).stdout
        self.assertRegex(out, r"\nactive lanes +1 of +1 equal, 100.0 %")
        self.assertRegex(out, r"load sectors/request +0 of +1 equal, +0.0 %")
        self.assertRegex(out, r"\nall +1 of +2 equal, +50.0 %")
        self.assertRegex(out, r"\nall but active lanes +0 of +1 equal")
        self.assertRegex(out, r"05 tree_kernel +load sectors/request +4.00 +4.10")
        self.assertNotRegex(out, r"05 tree_kernel +active lanes")

    def test_lanes_of_accesses_count_and_those_of_all_instructions_stand_apart(self):
        gpu = [kernel("tree_kernel", 1, active_lanes=15.4, lanes_per_access=30.2)]
        simt = [kernel("tree_kernel", 1, active_lanes=30.2, lanes_per_access=30.1)]
        out = self.compare(gpu, simt).stdout
        self.assertRegex(out, r"\nlanes per access +1 of +1 equal, 100.0 %")
        self.assertRegex(out, r"\nactive lanes +0 of +1 equal, +0.0 %")
        self.assertRegex(out, r"\nall but active lanes +1 of +1 equal, 100.0 %")
        self.assertRegex(out, r"\nall +1 of +2 equal, +50.0 %")

    def test_counts_are_for_as_many_threads(self):
        out = self.compare(
            [kernel("tree_kernel", 3, threads=1000, barriers=30, atomics=3)],
            [kernel("tree_kernel", 3, threads=2000, barriers=60, atomics=12)],
        ).stdout
        self.assertRegex(out, r"barriers +1 of +1 equal")
        self.assertRegex(out, r"05 tree_kernel +atomics +3.00 +6.00")

    def test_what_the_gpu_does_not_find_twice_is_counted_apart(self):
        gpu = [kernel("lock_kernel", 2, atomics=9000, barriers=2, varying=["atomics"])]
        out = self.compare(gpu, [kernel("lock_kernel", 2, atomics=4, barriers=2)]).stdout
        self.assertRegex(out, r"\nall +1 of +2 equal, +50.0 %; found twice: +1 of +1 equal")
        self.assertRegex(out, r"05 lock_kernel +atomics +[\d.]+ +[\d.]+  varies")

    def test_counters_of_an_older_profile(self):
        old = kernel("tree_kernel", 1, barriers=8)
        del old["threads"]
        result = self.compare([old], [kernel("tree_kernel", 1, barriers=8)], status=1)
        self.assert_one_line(result.stderr, "05_sum: an older tools/profile.py counted it")

    def test_what_only_one_of_them_counts_differs(self):
        out = self.compare(
            [kernel("tree_kernel", 1, load_sectors_per_request=16.0), kernel("copy_kernel", 1)],
            [kernel("tree_kernel", 1, store_sectors_per_request=4.0)],
        ).stdout
        self.assertRegex(out, r"05 tree_kernel +load sectors/request +16.00 +-")
        self.assertRegex(out, r"05 tree_kernel +store sectors/request +- +4.00")
        self.assertRegex(out, r"05 copy_kernel +not run by simt")

    def test_only_the_same_run_is_compared(self):
        result = self.compare([], [], arguments="--n 65", status=1)
        self.assert_one_line(result.stderr, "ran with `--n 65`, not `--n 64`")


if __name__ == "__main__":
    unittest.main()
