"""Cutting definitions out of C++ and CUDA sources."""

import textwrap
import unittest

import tool_case  # noqa: F401  (puts tools/ on the path)
from cpp_source import SourceError, region_text, symbol_text, whole_text

SOURCE = textwrap.dedent(
    r"""
    // A rung.
    // It opens with lines like these.
    #pragma once
    #define OPEN(x) if (x) {

    namespace lesson {

    // Threads along one side of a tile.
    constexpr int kTile = 32;  // } in a comment
    static const char* const kText = "a } brace, a \" quote and {";
    constexpr int kSizes[] = {1, 2, 3};

    enum class Order { forward, backward };

    struct Point;

    /* Two lines
       of a block comment. */
    struct Point {
      float x = 0, y = 0;
      float norm() const { return x * x + y * y; }
    };

    __global__ void tiled_kernel(const float* a, int n);

    // Adds one tile.
    //
    // Second paragraph.
    template <int N, bool Wide = (N > 4)>
    __global__ void __launch_bounds__(N * N)
        tiled_kernel(const float* __restrict__ a, int n) {
      __shared__ float tile[N][N];
      const char c = '{';
      const auto raw = R"(a ) } " )";
      const int million = 1'000'000;  // a } here
      if (n > 0) { tile[0][0] = a[0]; }
    #pragma unroll
      for (int i = 0; i < N; ++i) {
        __syncthreads();
      }
    }

    // Not about the next function.

    inline void launch_tiled(const float* a, int n, cudaStream_t stream = {}) {
      // region launch
      tiled_kernel<kTile><<<1, dim3(kTile, kTile), 0, stream>>>(a, n);
      // region inner
      check(cudaGetLastError());
      // endregion
      // endregion launch
    }

    void twice(int);
    void twice(int) {}
    void twice(float) {}

    using Tile = Point;

    struct Buffer final : Point {
      Buffer(int n, int m);
      int n_, m_;
    };

    Buffer::Buffer(int n, int m)
        : n_{n}, m_{m} {
      use(n_);
    }
    }  // namespace lesson
    """
)


class Symbol(unittest.TestCase):
    def test_kernel_comes_with_template_attributes_and_comment(self):
        text = symbol_text(SOURCE, "tiled_kernel")
        self.assertTrue(text.startswith("// Adds one tile.\n//\n// Second paragraph.\ntemplate"))
        self.assertTrue(text.endswith("    __syncthreads();\n  }\n}"))
        self.assertIn("1'000'000;  // a } here", text)

    def test_definition_wins_over_declaration(self):
        self.assertNotIn("int n);", symbol_text(SOURCE, "tiled_kernel"))

    def test_a_use_of_a_name_is_no_definition(self):
        with self.assertRaisesRegex(SourceError, "no definition of 'check'"):
            symbol_text(SOURCE, "check")
        with self.assertRaisesRegex(SourceError, "no definition of 'tile'"):
            symbol_text(SOURCE, "tile")

    def test_comment_apart_from_the_function_stays_out(self):
        text = symbol_text(SOURCE, "launch_tiled")
        self.assertTrue(text.startswith("inline void launch_tiled("))
        self.assertNotIn("region", text)

    def test_heading_of_a_part_of_the_file_stays_out(self):
        text = "// ---------------- on the CPU\n// Adds.\nvoid add() {}\n"
        self.assertEqual(symbol_text(text, "add"), "// Adds.\nvoid add() {}")

    def test_constant_with_its_comments(self):
        expected = (
            "// Threads along one side of a tile.\nconstexpr int kTile = 32;  // } in a comment"
        )
        self.assertEqual(symbol_text(SOURCE, "kTile"), expected)

    def test_constants_with_brackets_and_strings(self):
        self.assertEqual(symbol_text(SOURCE, "kSizes"), "constexpr int kSizes[] = {1, 2, 3};")
        self.assertIn('quote and {";', symbol_text(SOURCE, "kText"))

    def test_struct_enum_and_alias(self):
        struct = symbol_text(SOURCE, "Point")
        self.assertTrue(struct.startswith("/* Two lines\n"))
        self.assertTrue(struct.endswith("\n};"))
        self.assertEqual(symbol_text(SOURCE, "Order"), "enum class Order { forward, backward };")
        self.assertEqual(symbol_text(SOURCE, "Tile"), "using Tile = Point;")

    def test_overloads_must_be_quoted_by_region(self):
        with self.assertRaisesRegex(SourceError, "defined 2 times"):
            symbol_text(SOURCE, "twice")

    def test_unbalanced_brackets_are_named_by_line(self):
        with self.assertRaisesRegex(SourceError, "line 2: '{' is never closed"):
            symbol_text("int a;\nvoid f() {\n", "f")
        with self.assertRaisesRegex(SourceError, "line 3: '}' closes nothing"):
            symbol_text("void f() {\n}\n}\n", "g")

    def test_opening_comment_of_the_file_is_not_taken_along(self):
        self.assertEqual(
            symbol_text("// the rung\n\nint f() { return 1; }\n", "f"), "int f() { return 1; }"
        )

    def test_derived_type_and_constructor_with_initialiser_list(self):
        self.assertTrue(symbol_text(SOURCE, "Buffer::Buffer").endswith("{m} {\n  use(n_);\n}"))
        self.assertTrue(symbol_text(SOURCE, "Buffer").startswith("struct Buffer final"))


class Region(unittest.TestCase):
    def test_region_is_dedented_and_loses_inner_marks(self):
        lines = region_text(SOURCE, "launch").split("\n")
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith("tiled_kernel<kTile><<<1"))
        self.assertEqual(region_text(SOURCE, "inner"), "check(cudaGetLastError());")

    def test_wrong_regions(self):
        for text, message in [
            ("int a;\n", "is not there"),
            ("// region x\n", "never closed"),
            ("// endregion\n", "endregion without region"),
            ("// region x\n// endregion y\n", "closes region x"),
            ("// region x\n// endregion\n// region x\n// endregion\n", "appears twice"),
        ]:
            with self.assertRaisesRegex(SourceError, message):
                region_text(text, "x")

    def test_whole_file_loses_only_marks(self):
        self.assertEqual(
            whole_text("int a;\n// region x\nint b;\n// endregion\n"), "int a;\nint b;"
        )


class Namespaces(unittest.TestCase):
    TEXT = """
        namespace house { namespace sgemm {
        int store() { return 1; }
        } }
        namespace house::bf16 { int store() { return 2; } }
        int alone();
        """

    def test_a_name_of_several_namespaces(self):
        with self.assertRaisesRegex(SourceError, "defined 2 times"):
            symbol_text(self.TEXT, "store")
        self.assertEqual(symbol_text(self.TEXT, "sgemm::store"), "int store() { return 1; }")
        self.assertEqual(symbol_text(self.TEXT, "house::sgemm::store"), "int store() { return 1; }")
        self.assertIn("return 2", symbol_text(self.TEXT, "bf16::store"))
        self.assertEqual(symbol_text(self.TEXT, "alone"), "int alone();")

    def test_a_namespace_that_has_no_such_name(self):
        for symbol in ("house::store", "other::store", "bf16::alone", "::store", "a::bf16::store"):
            with self.assertRaisesRegex(SourceError, "no definition of"):
                symbol_text(self.TEXT, symbol)


if __name__ == "__main__":
    unittest.main()
