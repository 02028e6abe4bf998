"""What an exercise's judge.py is written with.

A judge.py says what the exercise is (TITLE, KIND, MINUTES), how the student's function is called
(CALL: each parameter is the case's array, size or single value of that name; an exercise that does
more around the call has a run.cu instead), makes cases, knows what is right, and gives points.
SETTINGS, if there, are simt's for every run; COPIES = True lets the student's host code copy arrays
between host and device, which otherwise it has no need of. REFUSED names words that a file may not
use, with the reason: {"__activemask": "guesses who comes along"}.

    TITLE = "Guard the last block"
    KIND = "step"        # or "problem", "repair", "speed"
    MINUTES = 5
    CALL = "vector_add(float* x, float* y, int n)"

    def cases(random):
        for n in (1, 256, 1000):
            yield Case(f"n = {n}", {"n": n}, [
                Array("x", floats(random, n)),
                Array("y", floats(random, n), role="in_out"),
            ])

    def expected(case):
        x, y = case["x"].values, case["y"].values
        return {"y": [float32(a + b) for a, b in zip(x, y)]}

    POINTS = [
        Right(2, "sizes of whole blocks", lambda case: case.sizes["n"] % 256 == 0),
        Right(3, "sizes with a last block that is not full", lambda case: case.sizes["n"] % 256),
        Count(1, "each element of x is read once", "n = 1000",
              lambda counts, case: counts["global"]["load_bytes"] == 8 * case.sizes["n"]),
    ]

    # Other ways to be right, three at least, and to be wrong, six: task -> what stands in for its
    # solution; 0 -> (text, another) for what stands around the tasks. One of the wrong ones misses
    # a part of the points alone, or earns it though it is wrong elsewhere; one is off by little,
    # where there is a bound. Sizes that are drawn catch a table of answers.
    RIGHTS = {"a fixed grid": {1: ..., 2: ...}}
    MUTANTS = {"no guard": {1: "y[i] += x[i];"}}
"""

import array
import math
import struct
from dataclasses import dataclass, field
from operator import mul
from typing import Callable, Optional

TYPES = {"float": "f", "double": "d", "int": "i", "uint": "I", "byte": "B", "long": "q"}


def float32(value):
    """The float nearest to a number, as a kernel would store it."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def floats(random, count, low=-1.0, high=1.0):
    """`count` random floats. Signed, and never all equal: such inputs hide mistakes."""
    return [float32(random.uniform(low, high)) for _ in range(count)]


def eighths(random, count):
    """`count` multiples of 1/8 between -1 and 1, never 0. Their sums are exact in any order, so the
    check may be ==, and one that is left out or counted twice shows."""
    return [random.choice((-1, 1)) * random.randrange(1, 9) / 8 for _ in range(count)]


def e4m3(byte):
    """The number that a byte of E4M3 is, unless it is NaN: of 1 + 4 + 3 bits."""
    exponent, mantissa = byte >> 3 & 15, byte & 7
    size = math.ldexp(mantissa + 8 * (exponent > 0), max(exponent, 1) - 10)
    return -size if byte > 127 else size


def drawn(random, low, high, multiple=1, besides=()):
    """A size between low and high that the seed draws, a multiple of `multiple`: nobody can write a
    kernel for the sizes that are known."""
    sizes = range(-(-low // multiple) * multiple, high + 1, multiple)
    return random.choice([size for size in sizes if size not in besides])


def many(count, what):
    """1 block, 2 blocks."""
    return f"{count} {what}{'s' * (count != 1)}"


def product(a, b, m, n, k):
    """A B, of matrices that lie in lists row by row: A is m x k, B is k x n."""
    columns = [b[j : k * n : n] for j in range(n)]
    rows = [a[i * k : (i + 1) * k] for i in range(m)]
    return [sum(map(mul, row, column)) for row in rows for column in columns]


def is_wide(counts):
    """Whether all stores are of 16 bytes a thread. Then loads are judged by their bytes, not by
    sectors: of a float4 behind a reference simt sees four loads, where nvcc makes one, and of one
    that goes by value into a function it may see none."""
    found = counts["global"]
    return found["store_bytes"] == 16 * found["store_executions"] > 0


def conflict_degree(counts):
    """Wavefronts of all accesses to shared memory, over those that they need without conflicts: a
    float4 needs four. 1 where there are no accesses."""
    sites = [site for site in counts["sites"] if site.get("wavefronts")]
    needed = sum(site["wavefronts"] / site["conflict_degree"] for site in sites)
    return sum(site["wavefronts"] for site in sites) / needed if needed else 1


@dataclass
class Array:
    """An array that the code under test is given.

    role: "input" must not change, "output" is filled with NaN (or -1) before, "in_out" is both.
    shape: (rows, columns) if errors are to be told by row and column.
    by_host: its new values are run.cu's; all others must have been written by a kernel.
    count: elements of an output, which has no values.
    """

    name: str
    values: Optional[list] = None
    role: str = "input"
    type: str = "float"
    shape: Optional[tuple] = None
    count: int = 0
    by_host: bool = False

    def __len__(self):
        return len(self.values) if self.values is not None else self.count

    @property
    def itemsize(self):
        return array.array(TYPES[self.type]).itemsize

    def data(self):
        """Its bytes before the run."""
        if self.role == "output":
            return b"\xff" * (self.itemsize * len(self))
        return array.array(TYPES[self.type], self.values).tobytes()

    def where(self, index):
        """An element in the words of the task: y[17], or C at row 1, column 2."""
        if self.shape is None:
            return f"{self.name}[{index}]"
        row, column = divmod(index, self.shape[1])
        return f"{self.name} at row {row}, column {column}"


@dataclass
class Case:
    """One input: sizes, which are whole numbers, and arrays."""

    name: str
    sizes: dict
    arrays: list
    tile: int = 0  # if all wrong elements lie in the last tile of so many, that is said
    meets: str = ""  # arrays overlap, and threads that share the work race; said if none do

    def __getitem__(self, name):
        return next(a for a in self.arrays if a.name == name)


def product_case(random, m, n, k):
    """The input of a product C = A B: A is m x k, B is k x n, both of eighths."""
    arrays = [
        Array("a", eighths(random, m * k), shape=(m, k)),
        Array("b", eighths(random, k * n), shape=(k, n)),
        Array("c", role="output", count=m * n, shape=(m, n)),
    ]
    return Case(f"{m} x {n} x {k}", {"m": m, "n": n, "k": k}, arrays)


@dataclass
class Right:
    """Points for right results in all cases that `when` accepts."""

    points: int
    title: str
    when: Callable = field(default=lambda case: True)
    task: int = 0  # whose hints come first when this fails; 0: as they stand in the file


@dataclass
class Count:
    """Points for a count that a case's kernels have: the same on every machine, no clock needed.

    case: the name of one, or a function that says of each whether it is counted.
    holds(counts, case) looks at the sums over all kernels of the run (simt/checks-and-counters.md
    names them); says(counts) puts them into words for whoever missed it. What is counted has a
    bound on one side: who needs less is right, too.
    """

    points: int
    title: str
    case: object
    holds: Callable
    says: Callable = field(default=lambda counts: "")
    task: int = 0  # as above
    # Of a case: so many blocks must share its loads and stores, for one SM alone is slow, and 8
    # lanes of a warp work on average; and so many threads share its {"loads": ..., "stores": ...,
    # "steps": ...}. Who is idle shares nothing: what counts is how much of all the busiest one
    # does, of several launches one after another.
    blocks: Callable = None
    threads: Callable = None
    loose: str = ""  # why much more than right answers need is let pass, where it is
    busy: float = 0  # this part of the threads started share all loads and stores, at least


@dataclass
class Speed:
    """Says how a version that is right is timed on a GPU, in an exercise whose skeleton is right
    too: that one is the baseline. SPEED = Speed({"n": 1 << 26}, {"x": 1 << 26, "y": 1 << 26}, ...)
    """

    sizes: dict
    arrays: dict  # elements by name, of 4 bytes each; what they hold is nobody's business
    bytes: int  # that every version must move: who is faster than these has not done the work
    full: float = 2.0  # times as fast as the baseline: full score

    def case(self):
        arrays = [Array(name, role="output", count=n) for name, n in self.arrays.items()]
        return Case("speed", self.sizes, arrays)
