import { grid, range } from './draw.mjs'

const SIZE = 16
const LEVELS = Math.log2(SIZE)

// Which threads add what in round `level` of a tree over `size` elements: [thread, to, from].
function additions(tree, level, size) {
  const stride = tree === 'sequential' ? size >> (level + 1) : 1 << level
  if (tree === 'sequential') return range(stride).map((t) => [t, t, t + stride])
  const count = size / (2 * stride)
  return range(count).map((i) => [tree === 'divergent' ? 2 * stride * i : i, 2 * stride * i, 2 * stride * i + stride])
}

// The values after `step` rounds, and what the next round would cost a block of 256 threads.
export function reduction({ tree, step }) {
  const values = range(SIZE).map((i) => i + 1)
  let last = []
  for (let level = 0; level < step; ++level) {
    last = additions(tree, level, SIZE)
    for (const [, to, from] of last) values[to] += values[from]
  }
  const threads = additions(tree, Math.max(0, step - 1), 256).map(([thread]) => thread)
  const warps = new Set(threads.map((thread) => thread >> 5)).size
  return { values, last, warps: step ? warps : 0, threads: step ? threads.length : 0 }
}

export default {
  name: 'reduction',
  title: 'Three trees of a sum',
  about: 'The same additions, by different threads. Where the threads that add stand side by side, few warps run; where their words stand side by side, no bank is asked twice.',
  ask: 'All three trees add the same numbers. In which are fewest warps at work in the second step?',
  inputs: [
    { name: 'tree', label: 'Tree', options: ['divergent', 'conflicting', 'sequential'], value: 'divergent' },
    { name: 'step', label: 'Round', min: 0, max: LEVELS, value: 1, step: true },
  ],
  compute: reduction,
  facts: (r) => [
    ['Sum so far in element 0', r.values[0]],
    ['Threads of 256 that add', r.threads],
    ['Warps of 8 that run', r.warps],
  ],
  draw: (r) => {
    const by = new Map(r.last.map(([thread, to]) => [to, thread]))
    const cells = r.values.flatMap((value, i) => [
      { at: [i, 0], text: value, kind: by.has(i) ? 'on' : 'off' },
      { at: [i, 1], text: by.has(i) ? `t${by.get(i)}` : '', kind: 'off' },
    ])
    return grid({ cells, cell: [38, 26], left: 60, labels: ['values', 'thread'], label: `values after this round: ${r.values.join(', ')}` })
  },
}
