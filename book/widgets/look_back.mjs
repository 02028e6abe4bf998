import { grid, range } from './draw.mjs'

// Tiles of a scan in one pass. Each has announced its own sum (A). In every step a tile that does
// not know what stands before it looks at one tile more: at a whole prefix (P) it is done.
export function lookBack({ tiles, step }) {
  const state = range(tiles).map((i) => (i ? 'A' : 'P'))
  const looksAt = range(tiles).map((i) => i - 1)
  const reads = new Array(tiles).fill(0)
  let steps = 0
  for (; steps < step && state.includes('A'); ++steps) {
    const before = [...state] // all tiles look at the same instant
    for (const i of range(tiles)) {
      if (before[i] === 'P') continue
      ++reads[i]
      if (before[looksAt[i]] === 'P') state[i] = 'P'
      else --looksAt[i]
    }
  }
  return { state, looksAt, reads, steps, done: state.filter((s) => s === 'P').length }
}

export default {
  name: 'look_back',
  title: 'Decoupled look-back',
  about: 'A tile adds up the sums that the tiles before it have announced, until it meets one that knows its whole prefix. Nobody waits for the neighbour to be finished.',
  ask: 'Sixteen tiles: after how many steps do all know their prefix, and how many would a chain from one to the next take?',
  inputs: [
    { name: 'tiles', label: 'Tiles', min: 2, max: 16, value: 8 },
    { name: 'step', label: 'Steps', min: 0, max: 16, value: 2, step: true },
  ],
  compute: lookBack,
  facts: (r) => [
    ['Tiles that know their prefix', `${r.done} of ${r.state.length}`],
    ['Announcements read', r.reads.reduce((a, b) => a + b, 0)],
  ],
  draw: (r) => {
    const cells = r.state.flatMap((s, i) => [
      { at: [i, 0], text: s, kind: s === 'P' ? 'on' : 'warm' },
      { at: [i, 1], text: s === 'A' ? `↤${r.looksAt[i]}` : '', kind: 'off' },
    ])
    return `<p>P: knows its prefix. A: has announced its own sum, and looks next at the tile below the letter.</p>${grid({ cells, cell: [40, 28], label: `states: ${r.state.join(' ')}` })}`
  },
}
