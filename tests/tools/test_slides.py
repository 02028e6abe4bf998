"""`make slides`: what of a lesson stands on a slide, and on a handout."""

import unittest

from tool_case import ToolCase

LESSON = """
# 01 Add

**The question.** How fast is $2^{10}$?

## The chapter in one file

It begins with the loop:

```cpp file=add.cu symbol=loop
void loop(int n);
```

## Predict

1. Faster than `loop`, or
   slower?

## How it is built

![Blocks & threads](blocks.svg)

### wide

A thread takes four. Then it goes on.

```cpp file=01_wide.cuh symbol=wide
int a = b < c;
```

<!-- proof wide -->
> **1.50 ms**, as fast as a copy.
<!-- end proof -->

| rung | time |
| --- | --- |
| wide | never shown |
"""


class Slides(ToolCase):
    def setUp(self):
        super().setUp()
        self.write("01_add/README.md", LESSON)
        self.write("01_add/blocks.svg", "<svg/>")
        self.write("01_add/add.cu", "void loop(int n) {}\nint main() {}\n")
        self.write("01_add/beyond.md", "# More\n<!-- proof wide -->\n")
        self.write(
            "exercises.md",
            """
            | chapter | you can |
            |---|---|
            | 01 | add; subtract |

            | exercise | task | kind | minutes | points | GPU |
            |---|---|---|---:|---:|---|
            | [`01/guard`](a.md) | Guard it | step | 10 | 6 | any |
            | [`02/other`](b.md) | Another | step | 11 | 7 | any |
            """,
        )
        self.run_tool("slides.py", "--root", self.root, "--out", self.root / "out")

    def test_a_slide_for_each_step(self):
        page = self.read("out/01_add.html")
        self.assertEqual(page.count("<section>"), 5)
        for text in (
            "How fast is <i>2<sup>10</sup></i>?",
            "<pre>void loop(int n);</pre>",
            "<li>Faster than <code>loop</code>, or slower?</li>",
            'alt="Blocks &amp; threads" src="data:image/svg+xml;base64,PHN2Zy8+"',
            "A thread takes four. Then it goes on. </p><pre>int a = b &lt; c;</pre>",
            "<b>1.50 ms</b>, as fast as a copy.",
        ):
            self.assertIn(text, page)
        self.assertNotIn("never shown", page)

    def test_side_roads_have_none(self):
        names = sorted(path.name for path in (self.root / "out").iterdir())
        self.assertEqual(names, ["01_add.html", "01_add_handout.html"])

    def test_a_handout_has_the_program_its_goals_and_its_exercises(self):
        page = self.read("out/01_add_handout.html")
        self.assertIn("<li>add</li><li>subtract</li>", page)
        self.assertIn("int main() {}", page)
        self.assertIn("<td>Guard it</td><td>10</td>", page)
        self.assertNotIn("Another", page)


if __name__ == "__main__":
    unittest.main()
