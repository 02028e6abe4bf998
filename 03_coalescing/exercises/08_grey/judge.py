"""Exercise 03/grey."""

from exercise.api import Array, Case, Count, Right, drawn

TITLE = "A new problem: a picture turned grey"
KIND = "problem"
MINUTES = 30
CALL = "to_grey(unsigned char* rgb, unsigned char* grey, int n)"


def cases(random):
    fixed = (512, 4096, 1, 2, 3, 5, 127, 511, 513, 2047, 3001)
    odd = drawn(random, 6, 3999, besides=(*fixed, *range(0, 3999, 4)))
    for n in (*fixed, drawn(random, 1024, 3584, 512), odd):
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


def _is_whole(case):
    return case.sizes["n"] % 512 == 0


POINTS = [
    Right(2, "multiples of 512 pixels", _is_whole),
    Right(2, "any other number", lambda case: not _is_whole(case)),
    Count(
        1,
        "at most 96 loads for 4096 pixels",
        _is_whole,
        lambda counts, case: counts["global"]["load_requests"] <= 96 * case.sizes["n"] // 4096,
        lambda counts: f"{counts['global']['load_requests']} loads; 12 for each 512 "
        "pixels are enough",
    ),
    Count(
        1,
        "at most 32 stores",
        _is_whole,
        lambda counts, case: counts["global"]["store_requests"] <= 32 * case.sizes["n"] // 4096,
        lambda counts: f"{counts['global']['store_requests']} stores; 4 for each 512 "
        "pixels are enough",
        blocks=lambda case: case.sizes["n"] // 2048,
    ),
    Count(
        2,
        "each sector is loaded once",
        _is_whole,
        lambda counts, case: counts["global"]["load_sectors"] <= 384 * case.sizes["n"] // 4096,
        lambda counts: f"{counts['global']['load_sectors']} sectors were loaded; 48 for each "
        "512 pixels are enough",
        busy=0.5,
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
_SHUFFLES = (
    _HEAD
    + """  const int t = blockIdx.x * blockDim.x + threadIdx.x, lane = t % 32, warp = t / 32;
  if (128 * warp + 128 > n) {
    for (int i = 128 * warp + lane; i < n; i += 32) {
      const unsigned char* pixel = rgb + 3 * i;
      grey[i] = brightness(pixel[0], pixel[1], pixel[2]);
    }
    return;
  }
  const unsigned* from = reinterpret_cast<const unsigned*>(rgb) + 96 * warp + lane;
  unsigned own[3], words[3] = {};
  for (int k = 0; k < 3; ++k) own[k] = from[32 * k];
  for (int j = 0; j < 3; ++j) {
    for (int k = 0; k < 3; ++k) {
      const unsigned word = __shfl_sync(0xffffffffu, own[k], (3 * lane + j) % 32);
      if ((3 * lane + j) / 32 == k) words[j] = word;
    }
  }
  const auto byte = [&](int b) { return words[b / 4] >> b % 4 * 8 & 255u; };
  unsigned four = 0;
  for (int b = 9; b >= 0; b -= 3) four = four << 8 | brightness(byte(b), byte(b + 1), byte(b + 2));
  reinterpret_cast<unsigned*>(grey)[t] = four;
}"""
)
_WHOLE_TILES = (
    _HEAD
    + """  __shared__ unsigned tile[3 * 64];
  unsigned char* const bytes = reinterpret_cast<unsigned char*>(tile);
  const int pixels = min(256, n - 256 * static_cast<int>(blockIdx.x)), t = threadIdx.x;
  rgb += 768 * blockIdx.x;
  grey += 256 * blockIdx.x;
  for (int w = t; w < 3 * pixels / 4; w += 64) tile[w] = ((const unsigned*)rgb)[w];
  for (int b = 3 * pixels / 4 * 4 + t; b < 3 * pixels; b += 64) bytes[b] = rgb[b];
  __syncthreads();
  uchar4 out = {};
  unsigned char* const four = &out.x;
  for (int p = 0; p < 4 && 4 * t + p < pixels; ++p) {
    const unsigned char* c = bytes + 12 * t + 3 * p;
    four[p] = brightness(c[0], c[1], c[2]);
  }
  if (4 * t + 4 <= pixels) {
    ((uchar4*)grey)[t] = out;
  } else {
    for (int p = 0; 4 * t + p < pixels; ++p) grey[4 * t + p] = four[p];
  }
}"""
)
_ONE_LANE = _WHOLE_TILES.replace("  uchar4 out = {};\n  unsigned char* const four = &out.x;\n", """\
  __shared__ uchar4 all[64];
  all[t] = make_uchar4(0, 0, 0, 0);
  __syncthreads();
  for (int p = 0; p < pixels && t == 0; ++p) {
    const unsigned char* c = bytes + 3 * p;
    reinterpret_cast<unsigned char*>(all)[p] = brightness(c[0], c[1], c[2]);
  }
  __syncthreads();
  uchar4 out = all[t];
  unsigned char* const four = &out.x;
""").replace("""  for (int p = 0; p < 4 && 4 * t + p < pixels; ++p) {
    const unsigned char* c = bytes + 12 * t + 3 * p;
    four[p] = brightness(c[0], c[1], c[2]);
  }
""", "")
_ONE = {2: "grey_kernel<<<(n + 127) / 128, 128>>>(rgb, grey, n);"}
_FOUR = {2: "grey_kernel<<<(n + 511) / 512, 128>>>(rgb, grey, n);"}


def _words(rest="i < n", shift="8 * ((3 * p + k) % 4)"):
    return _WORDS.replace("REST", rest).replace("SHIFT", shift)

RIGHTS = {
    "by shuffles": {1: _SHUFFLES, 2: "grey_kernel<<<(n + 511) / 512, 128>>>(rgb, grey, n);"},
    "any tile by words, and uchar4": {
        1: _WHOLE_TILES, 2: "grey_kernel<<<(n + 255) / 256, 64>>>(rgb, grey, n);"
    },
    "64 threads a block": {0: [("kBlock = 128", "kBlock = 64")]},
    "a template for the size of a block": {
        1: _SHUFFLES.replace("__global__ void", "template <int kThreads>\n__global__ void")
        .replace("blockDim.x", "kThreads"),
        2: "const int blocks = (n + 1023) / 1024;\n"
        "grey_kernel<256><<<blocks, 256>>>(rgb, grey, n);",
    },
}

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
    "before: one lane computes": {
        1: _ONE_LANE, 2: "grey_kernel<<<(n + 255) / 256, 64>>>(rgb, grey, n);"
    },
    "before: three words a thread, far apart": {1: _words(), **_FOUR},
}
