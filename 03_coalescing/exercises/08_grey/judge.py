"""Exercise 03/grey."""

from exercise.api import Array, Case, Count, Right

TITLE = "A new problem: a picture turned grey"
KIND = "problem"
MINUTES = 30
CALL = "to_grey(unsigned char* rgb, unsigned char* grey, int n)"


def cases(random):
    for n in (512, 4096, 1, 2, 3, 5, 127, 511, 513, 2047, 3001):
        rgb = [random.randrange(256) for _ in range(3 * n)]
        yield Case(
            f"n = {n}",
            {"n": n},
            [
                Array("rgb", rgb, type="byte", shape=(n, 3)),
                Array("grey", role="output", type="byte", count=n),
            ],
        )


def expected(case):
    rgb = case["rgb"].values
    return {
        "grey": [
            (77 * rgb[i] + 150 * rgb[i + 1] + 29 * rgb[i + 2] + 128) // 256
            for i in range(0, len(rgb), 3)
        ]
    }


POINTS = [
    Right(2, "multiples of 512 pixels", lambda case: case.sizes["n"] % 512 == 0),
    Right(2, "any other number", lambda case: case.sizes["n"] % 512),
    Count(
        1,
        "at most 96 loads",
        "n = 4096",
        lambda counts, case: counts["global"]["load_requests"] <= 96,
        lambda counts: f"{counts['global']['load_requests']} loads",
    ),
    Count(
        1,
        "at most 32 stores",
        "n = 4096",
        lambda counts, case: counts["global"]["store_requests"] <= 32,
        lambda counts: f"{counts['global']['store_requests']} stores",
    ),
    Count(
        2,
        "each sector is loaded once",
        "n = 4096",
        lambda counts, case: counts["global"]["load_sectors"] <= 384,
        lambda counts: f"{counts['global']['load_sectors']} sectors were loaded, 384 are enough",
    ),
]

_HEAD = "__global__ void grey_kernel(const unsigned char* rgb, unsigned char* grey, int n) {\n"
_BYTES = (
    _HEAD
    + """  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grey[i] = brightness(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
}"""
)
_WORDS = (
    _HEAD
    + """  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * t + 4 > n) {
    for (int i = 4 * t; REST; ++i) {
      grey[i] = brightness(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
    }
    return;
  }
  unsigned words[3];
  for (int k = 0; k < 3; ++k) words[k] = reinterpret_cast<const unsigned*>(rgb)[3 * t + k];
  unsigned four = 0;
  for (int p = 0; p < 4; ++p) {
    unsigned colour[3];
    for (int k = 0; k < 3; ++k) colour[k] = words[(3 * p + k) / 4] >> SHIFT & 255;
    four |= brightness(colour[0], colour[1], colour[2]) << 8 * p;
  }
  reinterpret_cast<unsigned*>(grey)[t] = four;
}"""
)
_ONE = {2: "grey_kernel<<<(n + 127) / 128, 128>>>(rgb, grey, n);"}
_FOUR = {2: "grey_kernel<<<(n + 511) / 512, 128>>>(rgb, grey, n);"}


def _words(rest="i < n", shift="8 * ((3 * p + k) % 4)"):
    return _WORDS.replace("REST", rest).replace("SHIFT", shift)


MUTANTS = {
    "the last pixels are left out": {1: _words(rest="false"), **_FOUR},
    "bytes of a word from the wrong end": {
        1: _words(shift="(24 - 8 * ((3 * p + k) % 4))"),
        **_FOUR,
    },
    "planes, not pixels": {
        1: _BYTES.replace("3 * i + 2", "2 * n + i").replace("3 * i + 1", "n + i").replace(
            "3 * i", "i"
        ),
        **_ONE,
    },
    "before: a byte at a time": {
        1: _BYTES,
        **_ONE,
    },
    "before: three words a thread, far apart": {1: _words(), **_FOUR},
}
