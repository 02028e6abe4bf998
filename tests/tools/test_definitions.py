"""Which definitions a rung uses of other files, transitively, and in which order."""

import textwrap
import unittest

from tool_case import REPOSITORY, ToolCase  # (puts tools/ on the path)

import definitions
from definitions import Definitions, as_text, files_of, lines_of
from include_graph import Graph, source_files

KIT, OTHER, RUNG = "01_add/kit/a.cuh", "common/kit/b.cuh", "01_add/01_naive.cuh"


class DefinitionsCase(ToolCase):
    def book(self, rung, kit="", other=""):
        self.write(RUNG, f'#include "01_add/kit/a.cuh"\n{rung}')
        self.write(KIT, f'#include "common/kit/b.cuh"\n{textwrap.dedent(kit)}')
        self.write(OTHER, other)
        return Definitions(Graph(self.root, source_files(self.root)))

    def used(self, rung, kit="", other=""):
        """What the rung uses: the first line of code of each piece."""
        pieces = self.book(rung, kit, other).used_by(RUNG)
        code = (p.text.split("\n") for p in pieces)
        return [next(line for line in lines if line[:2] not in ("//", "te")) for lines in code]


class Names(DefinitionsCase):
    def test_transitively_and_in_the_order_of_the_preprocessor(self):
        other = "int deep();\nint unused();\nint first();\n"
        kit = "inline int middle() { return first() + deep(); }\nint later();\n"
        self.assertEqual(
            self.used("int f() { return later() + middle(); }\n", kit, other),
            [
                "int deep();",
                "int first();",
                "inline int middle() { return first() + deep(); }",
                "int later();",
            ],
        )

    def test_what_there_is_to_use(self):
        for kit, use in (
            ("constexpr int kTile = 8;", "int a[kTile];"),
            ("constexpr long kMost = long{1} << 30;", "bool f() { return 2 > kMost; }"),
            ("constexpr int kA = 1, kB = 2;", "int b = kB;"),
            ("struct Tile { int n; };", "void f(Tile);"),
            ("enum Side { kLeft, kRight };", "int s = kRight;"),
            ("enum class Side { left };", "auto s = Side::left;"),
            ("using Number = float;", "Number x;"),
            ("float (&four(float* x))[4];", "float y = four(x)[1];"),
            ("void each(int (*f)(int));", "void g() { each(h); }"),
            ("extern int counter;", "int f() { return counter; }"),
            ("__device__ float slots[4];", "float* f() { return slots; }"),
            ("inline constexpr auto add = [](int a) { return a; };", "int x = add(1);"),
        ):
            self.assertEqual(self.used(f"{use}\n", f"{kit}\nint unused();\n"), [kit], use)

    def test_local_names_hide_those_of_other_files(self):
        kit = "int tile;\nint row();\nint rest(int);\nconstexpr int kTile = 1;\n"
        for code in (
            "int f(int tile) { int row = 1; return tile + row; }",
            "template <int kTile> int f() { return kTile; }",
            "int f(X x) { return x.tile + x->row(); }",
            "struct S { int tile; int row() { return tile; } };",
            "// tile row() rest\nchar* f() { return \"tile\"; }",
        ):
            self.assertEqual(self.used(code + "\n", kit), [], code)

    def test_own_definitions_come_first(self):
        kit = "namespace n {\nint load(int);\n}\nint load(int);\n"
        self.assertEqual(self.used("namespace m {\nint load(int);\nint x = load(1);\n}\n", kit), [])

    def test_overloads_and_specializations_go_together(self):
        kit = "int load(int);\nint store(int);\nint load(float);\n"
        both = ["int load(int);", "int load(float);"]
        self.assertEqual(self.used("int x = load(1);\n", kit), both)
        kit = "template <class T>\nstruct Of;\ntemplate <>\nstruct Of<int> {};\nstruct No {};\n"
        self.assertEqual(self.used("Of<int> x;\n", kit), ["struct Of;", "struct Of<int> {};"])

    def test_what_belongs_to_a_type(self):
        kit = """
        struct Big { int limbs[4]; int sum() const; static const Big kOne; };
        int Big::sum() const { return limbs[0]; }
        const Big Big::kOne = {};
        Big operator+(Big a, Big b);
        Other operator-(Other a);
        static_assert(sizeof(Big) == 16, "Big has no gaps");
        static_assert(sizeof(Other) == 4, "");
        struct Other { int n; };
        """
        used = self.used("Big f(Big a) { return a + a; }\n", kit)
        self.assertEqual(len(used), 5, used)
        self.assertNotIn("Other", " ".join(used))
        self.assertEqual(self.used("int f();\n", kit), [])


class Namespaces(DefinitionsCase):
    KIT = "namespace kit {\nint up(int);\n}\nnamespace other {\nint up(int);\n}\nint up(int);\n"

    def where(self, rung, kit=KIT):
        return [p.scope for p in self.book(rung, kit).used_by(RUNG)]

    def test_from_the_innermost_outwards(self):
        kit = "namespace a {\nint f();\nnamespace b {\nint f();\n}\n}\nint f();\n"
        for scope, found in (("a::b", ("a", "b")), ("a", ("a",)), ("a::c", ("a",)), ("d", ())):
            self.assertEqual(self.where(f"namespace {scope} {{\nint x = f();\n}}\n", kit), [found])

    def test_qualified(self):
        self.assertEqual(self.where("int x = kit::up(1);\n"), [("kit",)])
        self.assertEqual(self.where("int x = ::up(1);\n"), [()])
        self.assertEqual(self.where("namespace other {\nint x = ::kit::up(1);\n}\n"), [("kit",)])
        self.assertEqual(self.where("int x = T::up(1);\n"), [])  # a member
        alias = "namespace k = kit;\nint x = k::up(1);\n"
        self.assertEqual(self.where(alias), [("kit",)])

    def test_using(self):
        kit = "namespace kit {\nint up(int);\n}\nnamespace m {\nusing kit::up;\n}\n"
        rung = "namespace m {\nint x = up(1);\n}\n"
        self.assertEqual(self.where(rung, kit), [("kit",), ("m",)])
        kit = "namespace kit {\nint up(int);\n}\n"
        rung = "namespace m {\nusing namespace kit;\nint x = up(1);\n}\n"
        self.assertEqual(self.where(rung, kit), [("kit",)])
        # Found by its argument.
        self.assertEqual(self.where("namespace m {\nint x = up(y);\n}\n", kit), [("kit",)])
        # A directive goes with its file.
        kit += "namespace m {\nusing namespace kit;\nint g();\n}\n"
        self.assertEqual(self.where("namespace m {\nint x = g();\n}\n", kit), [("m",), ("m",)])

    def test_nested_inline_and_without_a_name(self):
        kit = "namespace a::b {\nint f();\n}\nnamespace {\nint g();\n}\n"
        kit += "inline namespace v1 {\nint h();\n}\n"
        pieces = self.book("int x = a::b::f() + g() + v1::h();\n", kit).used_by(RUNG)
        opens = [p.opens for p in pieces]
        inline = ("inline namespace v1 {",)
        self.assertEqual(opens, [("namespace a::b {",), ("namespace {",), inline])


class Macros(DefinitionsCase):
    def test_a_macro_and_what_its_body_says(self):
        other = "namespace kit {\nvoid check(int);\n}\n#define CHECK(x) \\\n  ::kit::check(x)\n"
        used = self.used("void f() { CHECK(1); }\n", other=other)
        self.assertEqual(used, ["void check(int);", "#define CHECK(x) \\"])

    def test_names_that_a_macro_pastes_together(self):
        kit = """
        int unused();
        int part(int);
        #define ONE(name, n) int get_##name(int x) { return part(n); }
        #define BOTH(n) \\
          ONE(a, n)     \\
          ONE(b, n)
        #define SET(name) int set_##name();
        #define THIRD(n) ONE(c, n)

        BOTH(1)
        SET(a)
        THIRD(1)
        #undef BOTH
        int after();
        """
        used = self.used("int x = get_a(1);\n", kit)
        wanted = ["int part(int);", "#define ONE(name", "#define BOTH(n)", "BOTH(1)", "#undef BOTH"]
        self.assertEqual([a[: len(b)] for a, b in zip(used, wanted)], wanted)
        self.assertEqual(len(used), len(wanted))
        self.assertEqual(self.used("int x = after();\n", kit), ["int after();"])

    def test_one_of_many_invocations_is_read(self):
        macro = "#define ONE(n) int get_##n();\n"
        pieces = self.book("int x = get_1();\n", macro + "ONE(1)\nONE(2)\nONE(3)\n#undef ONE\n")
        pieces = pieces.used_by(RUNG)
        self.assertEqual((len(pieces), lines_of(pieces)), (5, 2))

    def test_conditions(self):
        kit = """
        #define HAS_X 1
        int before();
        #if HAS_X
        int f();
        #elif OTHER
        int f();
        #else
        #ifdef INNER
        int f();
        #endif
        int g();
        #endif
        """
        pieces = self.book("int x = f();\n", kit).used_by(RUNG)
        guards = [p.guards for p in pieces]
        elif_ = ("#if HAS_X", "#elif OTHER")
        inner = (*elif_, "#else", "#ifdef INNER")
        self.assertEqual(guards, [(), ("#if HAS_X",), elif_, inner])
        text = as_text(pieces)
        self.assertEqual(text.count("#if"), text.count("#endif"))
        self.assertEqual(text.count("#elif OTHER\nint f();\n"), 1)


class Text(DefinitionsCase):
    def test_namespaces_are_opened_once_and_closed(self):
        other = "namespace kit {\nint a();\nint no();\nint b();\n}\n"
        kit = "// Adds.\n//\n// Twice.\ntemplate <class T>\nT add(T x) {\n  return x;\n}\n"
        pieces = self.book("int x = add(kit::a() + kit::b());\n", kit, other).used_by(RUNG)
        text = "namespace kit {\n\nint a();\n\nint b();\n\n}  // namespace kit\n\n"
        self.assertEqual(as_text(pieces), text + kit)
        self.assertEqual((lines_of(pieces), files_of(pieces)), (9, {KIT, OTHER}))

    def test_system_includes(self):
        kit = "#include <vector>\n#if __has_include(<x.h>)\n#include <x.h>\n#endif\nint f();\n"
        book = self.book("#include <atomic>\nint x = f();\n", kit, "#include <map>\nint no();\n")
        pieces = book.used_by(RUNG)
        found = ["#include <atomic>", "#include <vector>"]
        self.assertEqual(book.system_includes(pieces, RUNG), found)
        self.assertIn("#if __has_include(<x.h>)\n#include <x.h>\n#endif\n", as_text(pieces))

    def test_two_on_a_line_are_one_piece(self):
        line = "struct A {}; struct B {};"
        self.assertEqual(self.used("A f();\n", f"{line}\n"), [line])

    def test_several_rungs(self):
        book = self.book("int x = f() + h();\nint own();\n", "int f();\nint g();\nint h();\n")
        other = self.write("01_add/02_b.cuh", f'#include "{KIT}"\nint y = g() + f();\n')
        book = Definitions(Graph(self.root, source_files(self.root)))
        pieces = book.used_by(RUNG, str(other.relative_to(self.root)))
        self.assertEqual([p.text for p in pieces], ["int f();", "int g();", "int h();"])


class Repository(unittest.TestCase):
    """The repository's own rungs."""

    @classmethod
    def setUpClass(cls):
        cls.graph = Graph(REPOSITORY, source_files(REPOSITORY))
        cls.book = Definitions(cls.graph)

    def test_every_file_can_be_cut(self):
        self.assertEqual(self.book.unread, {})

    def test_every_line_of_code_is_in_one_piece(self):
        for path, pieces in self.book.of_file.items():
            lines = self.graph.text[path].split("\n")
            taken = [line for p in pieces for line in range(p.first, p.last + 1)]
            self.assertEqual(len(taken), len(set(taken)), path)
            code = definitions.cpp_source.code_of(self.graph.text[path]).split("\n")
            for number, line in enumerate(code):
                is_frame = not line.strip() or line.strip()[0] == "}" or "namespace" in line
                where = f"{path}:{number + 1}: {lines[number]}"
                self.assertTrue(is_frame or number in taken, where)

    def test_a_rung_that_everybody_can_count(self):
        rung = next(p for p in self.graph.rungs() if p.endswith("sgemm/05_tiled.cuh"))
        found = self.book.used_by(rung)
        self.assertIn("CUDA_CHECK", {name for piece in found for name in piece.names})
        self.assertLess(lines_of(found), 150)


if __name__ == "__main__":
    unittest.main()
