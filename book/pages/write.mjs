// Where a reader writes: in the page of an exercise, and on a page for programs of one's own. Only in a book that was built
// with the compiler (book/compiler).

import { escape } from '../lib/format.mjs'

export const WRITE = { out: 'write.html', title: 'Write a kernel' }
export const SCRIPT = 'compiler/write.js'
const CHAPTERS = /^0[1-6]\//

const NOSCRIPT = '<noscript><p>Writing in the page needs JavaScript.</p></noscript>'
const HOW = `<p class="quiet">It is compiled and run in this page, without a GPU, as <code>simt/nvcc</code> would do it; nothing leaves your machine.
The first time takes some seconds. Ctrl+Enter starts it, too, and Tab leaves the editor. What you write is kept in this browser.</p>`

export const isWritable = (book, exercise) => book.compiler.size > 0 && CHAPTERS.test(exercise.id)

export function writeHtml({ id, file, skeleton }) {
  return `<h2 id="write">Write it here</h2>
<p>The judge is that of <code>./exercise check</code>, with its cases and counters.</p>
${HOW}
<div class="write needs-js" data-exercise="${id}" data-file="${escape(file)}"><template>${escape(skeleton)}</template></div>${NOSCRIPT}`
}

const FIRST = `// Change it: leave the barrier out, or let threads read in columns; then run it again.
#include <cuda_runtime.h>
#include <cstdio>

constexpr int kTile = 32;

// b[c][r] = a[r][c], by a tile in shared memory.
__global__ void transpose(const float* a, float* b, int n) {
  __shared__ float tile[kTile][kTile];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = a[y * n + x];
  __syncthreads();
  const int to_x = blockIdx.y * kTile + threadIdx.x, to_y = blockIdx.x * kTile + threadIdx.y;
  b[to_y * n + to_x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int n = 128;
  float *a, *b;
  cudaMallocManaged(&a, n * n * sizeof(float));
  cudaMallocManaged(&b, n * n * sizeof(float));
  for (int i = 0; i < n * n; ++i) a[i] = i;
  transpose<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(a, b, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  int wrong = 0;
  for (int i = 0; i < n * n; ++i) wrong += b[i % n * n + i / n] != a[i];
  std::printf("%d of %d wrong\\n", wrong, n * n);
  cudaFree(a);
  cudaFree(b);
  return wrong != 0;
}
`

export function writePage(book) {
  const body = `<h1>${WRITE.title}</h1>
<p>A program of your own, with a <code>main</code>. simt runs it, counts what its warps do, and names races, stray accesses and missing
barriers at their lines.</p>
${HOW}
<div class="write needs-js" data-free><template>${escape(FIRST)}</template></div>${NOSCRIPT}`
  book.add({ ...WRITE, body, scripts: [SCRIPT] })
}
