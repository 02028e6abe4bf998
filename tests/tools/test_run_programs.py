"""Running programs, and the line over all of them."""

import json
import unittest

from tool_case import ToolCase

# Writes what `rows` beside it holds, and ends with the status that `status` beside it holds.
LADDERS = r"""
echo "arguments: $*"
while (($#)); do [[ $1 != --json || ! -e ${0%/*}/rows ]] || cp "${0%/*}/rows" "$2"; shift; done
exit $(cat "${0%/*}/status" 2>/dev/null || echo 0)
"""


class RunPrograms(ToolCase):
    def ladders(self, chapter, *rows, status=0):
        folder = self.root / chapter
        self.executable(folder / "ladders", LADDERS)
        self.write(f"{chapter}/status", str(status))
        found = [
            {"problem": problem, "name": name, "status": verdict, "sizes": {"n": 7, "m": 2}}
            for problem, name, verdict in rows
        ]
        if rows:
            self.write(f"{chapter}/rows", json.dumps({"rows": found}))
        return folder / "ladders"

    def single(self, chapter, status=0):
        self.executable(self.root / chapter / "single", f'echo "single: $*"; exit {status}\n')
        return self.root / chapter / "single"

    def run_them(self, *words, status=0, **environment):
        environment.setdefault("KEPT_COUNTS", "")
        result = self.run_tool("run_programs.py", *words, status=status, **environment)
        return result.stdout, result.stdout.splitlines()[-1]

    def test_all_are_right(self):
        first = self.ladders("01_a", ("p", "x", "right"), ("p", "y", "skipped"))
        second = self.ladders("02_b", ("q", "x", "right"), ("q", "z", "outside the bound"))
        out, line = self.run_them("--quick", self.single("01_a"), first, second)
        self.assertEqual(
            line,
            "rows: 2 right, 1 outside the bound, 1 skipped, 0 wrong; "
            "chapters in one file: 1 of 1 right",
        )
        self.assertIn("single: \n", out)  # it has no options
        self.assertEqual(out.count("arguments: --quick --json "), 2)
        out, line = self.run_them(first)
        self.assertEqual(line, "rows: 1 right, 1 skipped, 0 wrong")
        self.assertIn("arguments: --json ", out)

    def test_what_is_wrong_is_named_and_the_others_run(self):
        first = self.ladders("01_a", ("p", "x", "wrong"), ("p", "y", "right"), status=1)
        second = self.ladders("02_b", ("q", "x", "right"))
        out, line = self.run_them(first, self.single("02_b", 1), second, status=1)
        self.assertEqual(
            line,
            "rows: 2 right, 0 skipped, 1 wrong; chapters in one file: 0 of 1 right; "
            "wrong: 01_a/p/x, 02_b/single (exit status 1)",
        )

    def test_a_program_that_did_not_tell_its_rows_is_wrong(self):
        for status in (0, 1, 2):
            line = self.run_them(self.ladders("01_a", status=status), status=1)[1]
            self.assertIn(f"; wrong: 01_a/ladders (exit status {status})", line)
        # Its rows were right, and then it could not go on.
        late = self.ladders("02_b", ("p", "x", "right"), status=1)
        self.assertIn("; wrong: 02_b/ladders (exit status 1)", self.run_them(late, status=1)[1])

    def test_rows_that_have_changed_since_they_were_counted(self):
        rows = [("p", "x", "right"), ("p", "y", "right"), ("q", "z", "right")]
        of_p = "p n=7 m=2\np/x load_sectors=4\np/y\n"
        self.write("kept", f"01_a: counted\n{of_p}q n=8 m=2\nq/z atomics=4\n")
        line = self.run_them(self.ladders("01_a", *rows), KEPT_COUNTS=str(self.root / "kept"))[1]
        self.assertIn("; 2 rows have changed since counted (make counts)", line)
        line = self.run_them(self.ladders("01_a", rows[1]), KEPT_COUNTS=str(self.root / "kept"))[1]
        self.assertIn("; 1 row has changed since counted (make counts)", line)


if __name__ == "__main__":
    unittest.main()
