import { grid, range } from './draw.mjs'

// Blocks of queries, each walking over the blocks of keys that it may see.
export function attention({ queries, keys, mask, step }) {
  const sees = (q, k) => mask === 'none' || k <= q + keys - queries // the last query sees the last key
  const walk = range(queries).flatMap((q) => range(keys).filter((k) => sees(q, k)).map((k) => [q, k]))
  const now = walk[step - 1]
  return { walk, now, queries, keys, done: Math.min(step, walk.length), skipped: queries * keys - walk.length, rescales: now ? now[1] : 0 }
}

export default {
  name: 'attention',
  title: 'Flash attention: the walk over tiles',
  about: 'A block keeps its queries and walks over tiles of keys. After each tile it has the largest score, the sum and the output so far; no score is ever stored.',
  ask: 'How many tiles does a causal mask spare with as many keys as queries? And with twice as many keys?',
  inputs: [
    { name: 'queries', label: 'Blocks of queries', min: 1, max: 8, value: 4 },
    { name: 'keys', label: 'Tiles of keys', min: 1, max: 12, value: 8 },
    { name: 'mask', label: 'Mask', options: ['none', 'causal'], value: 'causal' },
    { name: 'step', label: 'Tiles walked', min: 0, max: 96, value: 3, step: true },
  ],
  compute: attention,
  facts: (r) => [
    ['Tiles to walk', r.walk.length],
    ['Tiles that the mask spares', r.skipped],
    ['Now', r.now ? `queries ${r.now[0]}, keys ${r.now[1]}` : 'nothing'],
    ['Times that this block has rescaled its output', r.rescales],
  ],
  draw: (r) => {
    const order = new Map(r.walk.map(([q, k], i) => [`${q},${k}`, i]))
    const cells = range(r.queries).flatMap((q) => range(r.keys).map((k) => {
      const at = order.get(`${q},${k}`)
      const isNow = at === r.done - 1
      return { at: [k, q], text: at === undefined ? '–' : isNow ? '●' : at < r.done ? '✓' : '·', kind: isNow ? 'warm' : at < r.done ? 'on' : 'off' }
    }))
    return grid({ cells, cell: [30, 30], left: 82, font: 14, labels: range(r.queries).map((q) => `queries ${q}`), label: `${r.done} of ${r.walk.length} tiles are walked` })
  },
}
