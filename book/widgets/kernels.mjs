// Widgets that run a kernel of the tutorial in the page: { ..., kernels, sources }. The kernels are
// those of kernels/kernels.cu, in its order; a widget's values are the arguments there.

import { run } from '../kernels/run.mjs'
import { table } from '../lib/figures.mjs'
import { grouped } from '../lib/format.mjs'
import { coalescing, lanesOverSectors } from './coalescing.mjs'

const slider = (name, label, min, max, value) => ({ name, label, min, max, value, slider: true })
const kernelOf = (names, value) => ({ name: 'kernel', label: 'Kernel', options: names, value })
const BARRIERS = { name: 'barriers', label: 'Barriers', options: ['left out', 'as written'], value: 'as written' }

const mean = (part, all) => (all ? (part / all).toFixed(2) : '–')
const used = (bytes, sectors) => (sectors ? `${((100 * bytes) / (32 * sectors)).toFixed(1)} %` : '–')

// Said in words; the colour only repeats it.
const kindOf = (isGood) => (isGood ? 'good' : 'bad')

// Each pair of racing places once, whichever came first.
function racingLines({ pairs }) {
  const name = ({ file, line }, other) => (file === other.file ? String(line) : `${file.split('/').at(-1)}:${line}`)
  const said = ({ then, now }) => {
    if (then.file === now.file && then.line === now.line) return `${now.line} with itself`
    const [first, second] = then.file === now.file && now.line < then.line ? [now, then] : [then, now]
    return `${name(first, second)} with ${name(second, first)}`
  }
  return [...new Set(pairs.map(said))].sort().join(', ')
}

// Of the lines of a file those that race: line -> what they race with.
export function racingWith(pairs, file) {
  const found = new Map()
  const add = (one, other) => {
    if (one.file !== file) return
    const isSame = other.file === file && other.line === one.line
    const says = isSame ? 'itself in another thread' : other.file === file ? `line ${other.line}` : `${other.file}:${other.line}`
    found.set(one.line, [...new Set([...(found.get(one.line) ?? []), says])])
  }
  for (const { then, now } of pairs) {
    add(then, now)
    add(now, then)
  }
  return found
}

function facts(r) {
  if (r.answer === 'refused') return [['Result', 'refused: a float4 begins on 16 bytes, 4 floats']]
  return [
    ['Result', r.answer, kindOf(r.answer === 'right')],
    ['Racing accesses', grouped(r.races), ...(r.races ? [kindOf(false)] : [])],
    ...(r.races ? [['Racing lines', racingLines(r), kindOf(false)]] : []),
    ['Active lanes, of 32', mean(r.instructionLanes, r.instructions)],
    ...(r.shared ? [['Wavefronts where 1 would do', mean(r.wavefronts, r.fewestWavefronts)]] : []),
    ...(r.barriers ? [['Barriers, of all blocks', grouped(r.barriers)]] : []),
  ]
}

const HEAD = ['Requests of warps', 'How many', 'Lanes each', 'Sectors each', 'Bytes used']

// Each kind of memory request that the kernel made, in a row.
function draw(r) {
  if (r.answer === 'refused') return ''
  const rows = [
    ['global loads', r.loads, r.loadLanes, mean(r.loadSectors, r.loads), used(r.loadBytes, r.loadSectors)],
    ['global stores', r.stores, r.storeLanes, mean(r.storeSectors, r.stores), used(r.storeBytes, r.storeSectors)],
    ['shared loads, stores', r.shared, r.sharedLanes, '', ''],
    ['shared atomics', r.sharedAtomics, r.sharedAtomicLanes, '', ''],
  ]
  const cells = rows
    .filter(([, requests]) => requests)
    .map(([name, requests, lanes, ...more]) => [name, grouped(requests), mean(lanes, requests), ...more])
  return `${table({ title: 'What the kernel asked of memory', head: HEAD, rows: cells })}
<p class="quiet">Active lanes: how many of a warp's 32 take part, on average over its memory requests and its basic blocks, pieces of code without a branch.
The code is not optimized here: compare these kernels with each other, not with the lesson's tables.</p>`
}

function widget({ name, title, about, ask, sources, inputs }) {
  // An option counts by its place in the list.
  const numberOf = (input, value) => (input.options ? input.options.indexOf(value) : value)
  const argumentsOf = (values) => inputs.map((input) => numberOf(input, values[input.name]))
  return { name: `run_${name}`, title, about, ask, sources, inputs, argumentsOf, facts, draw, compute: (values) => run(name, argumentsOf(values)) }
}

export const KERNELS = [
  widget({
    name: 'vector_add',
    title: 'Run it: vector addition',
    about: 'The kernels of chapter 01. A block that is no multiple of 32 has a warp with idle lanes; arrays that begin beside a sector cost one more a request.',
    ask: 'Which numbers of threads in a block leave lanes idle? And how far must an array begin behind a boundary to cost no more than at 0?',
    sources: ['01_vector_add/03_cuda.cuh', '01_vector_add/08_grid_stride.cuh', '01_vector_add/09_vectorized.cuh'],
    inputs: [
      kernelOf(['cuda', 'grid_stride', 'vectorized'], 'cuda'),
      slider('n', 'Elements', 1, 4096, 1000),
      slider('block', 'Threads of a block', 1, 1024, 256),
      slider('blocks', 'Blocks, for grid_stride and vectorized', 1, 16, 2),
      slider('offset', 'Floats before each array', 0, 32, 0),
    ],
  }),
  widget({
    name: 'branch',
    title: 'Run it: a branch on data',
    about: 'The kernels of chapter 02, problem B. Where lanes of one warp take both ways, divergent walks both, with few active lanes, and stores twice.',
    ask: 'How many elements in a row must take the same path before divergent wastes no lane?',
    sources: ['03_divergent', '04_select', '05_vote', '06_aligned'].map((rung) => `02_warp_divergence/branch/${rung}.cuh`),
    inputs: [
      kernelOf(['divergent', 'select', 'vote', 'aligned'], 'divergent'),
      slider('n', 'Elements', 1, 2048, 1024),
      slider('percent', 'Percent on the expensive path', 0, 100, 2),
      slider('run', 'Elements in a row on the same path', 1, 64, 1),
    ],
  }),
  widget({
    name: 'copy',
    title: 'Run it: copy',
    about: 'The kernels of chapter 03, problem A, and the one of its sweeps, which reads a stride apart. Give one its own input to write to, and threads read what others overwrite: a race, in global memory.',
    ask: 'From which stride on does every lane of gather pay for a sector of its own? And what does one float before the input cost coalesced?',
    sources: ['03_coalescing/copy/03_chunked.cuh', '03_coalescing/copy/04_coalesced.cuh', '03_coalescing/copy/06_vectorized.cuh', '03_coalescing/study/copy_gather.cuh'],
    inputs: [
      kernelOf(['chunked', 'coalesced', 'vectorized', 'gather'], 'chunked'),
      slider('n', 'Elements', 1, 8192, 2048),
      slider('stride', 'Stride, for gather', 1, 33, 1),
      slider('offset', 'Floats before the input', 0, 32, 0),
      { name: 'output', label: 'Writes to', options: ['an array of its own', 'its input, 4 floats on'], value: 'an array of its own' },
    ],
  }),
  widget({
    name: 'transpose',
    title: 'Run it: transpose',
    about: 'The kernels of chapter 03. Padding is tiled beside padded; the pitch is the number of columns: rows of a multiple of 8 begin on sectors. Without its barrier a tile is read before it is written.',
    ask: 'The columns of tiled lie in one bank, a conflict of 32 ways. Why does it need 16.5 times the wavefronts, and not 32 times?',
    sources: ['03_read_coalesced', '04_write_coalesced', '05_tiled', '06_padded', '07_swizzled'].map((rung) => `03_coalescing/transpose/${rung}.cuh`),
    inputs: [
      kernelOf(['read_coalesced', 'write_coalesced', 'tiled', 'padded', 'swizzled'], 'tiled'),
      slider('rows', 'Rows', 1, 128, 64),
      slider('cols', 'Columns: the pitch', 1, 128, 64),
      BARRIERS,
    ],
  }),
  widget({
    name: 'product',
    title: 'Run it: a product of matrices',
    about: 'The first kernels of chapter 04. Compare the sectors of a load in naive and coalesced, then how many loads tiled still makes. Leave its barriers out, and threads multiply what others have yet to bring.',
    ask: 'How many loads does coalesced make for one of tiled? And what sets that number?',
    sources: ['03_naive', '04_coalesced', '05_tiled'].map((rung) => `04_matmul/sgemm/${rung}.cuh`),
    inputs: [
      kernelOf(['naive', 'coalesced', 'tiled'], 'tiled'),
      slider('m', 'Rows of A and C', 1, 48, 32),
      slider('n', 'Columns of B and C', 1, 48, 32),
      slider('k', 'Columns of A, rows of B', 1, 48, 32),
      BARRIERS,
    ],
  }),
  widget({
    name: 'sum',
    title: 'Run it: trees of a sum',
    about: 'One pass of the trees of chapter 05: every block leaves one partial sum. Leave the barriers out, and threads read sums that others have yet to write.',
    ask: 'Which tree has bank conflicts? And which one needs the fewest barriers?',
    sources: ['04_divergent_tree', '05_conflicting_tree', '06_sequential_tree', '07_first_add', '08_shuffle_down'].map((rung) => `05_reduction/sum/${rung}.cuh`),
    inputs: [
      kernelOf(['divergent_tree', 'conflicting_tree', 'sequential_tree', 'first_add', 'shuffle_down'], 'conflicting_tree'),
      slider('n', 'Elements', 1, 4096, 2048),
      BARRIERS,
    ],
  }),
]

// The one of the front page: a kernel of the lesson on coalescing, and one slider.
export const STRIDE = {
  name: 'stride',
  title: 'A kernel that runs',
  about: 'Each thread copies one number and its neighbours a block further on. Slide: how far apart are the numbers that 32 neighbouring threads read?',
  inputs: [slider('stride', 'Stride: floats from one thread to the next', 1, 32, 1)],
  compute: ({ stride }) => ({ ...coalescing({ stride, offset: 0, bytes: 4 }), ...run('copy', [3, 1024, stride, 0, 0]) }),
  facts: (r) => [
    ['Result', r.answer],
    ['Sectors a load, counted', mean(r.loadSectors, r.loads)],
    ['Of the bytes moved, used', used(r.loadBytes, r.loadSectors)],
  ],
  draw: lanesOverSectors,
}
