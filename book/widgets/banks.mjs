import { grid, range } from './draw.mjs'

// A warp reads a column of a tile in shared memory: lane l the word of row l. Words of padding make
// the rows further apart; with the swizzle, the column within a row is exchanged by an exclusive or
// with the row.
export function banks({ pitch, padding, column, swizzle }) {
  const words = range(32).map((row) => row * (pitch + padding) + (swizzle === 'xor' ? (column ^ row) % 32 : column))
  const lanes = range(32).map((bank) => new Set(words.filter((word) => word % 32 === bank)).size)
  return { words, lanes, wavefronts: Math.max(...lanes) }
}

export default {
  name: 'banks',
  title: 'Bank conflicts: a column of a tile',
  about: 'Shared memory has 32 banks. Lanes of a warp that want different words of one bank are served one after the other; each pass is a wavefront.',
  ask: 'A column of a tile of 32 words a row: which padding makes it one wavefront? Is there another one?',
  inputs: [
    { name: 'pitch', label: 'Words of a row', min: 1, max: 64, value: 32 },
    { name: 'padding', label: 'Words of padding behind it', min: 0, max: 8, value: 0 },
    { name: 'column', label: 'Column', min: 0, max: 31, value: 0 },
    { name: 'swizzle', label: 'Swizzle', options: ['none', 'xor'], value: 'none' },
  ],
  compute: banks,
  facts: (r) => [['Wavefronts', r.wavefronts], ['Banks used', r.lanes.filter(Boolean).length]],
  draw: (r) => {
    const cells = r.lanes.map((count, bank) => ({ at: [bank, 0], text: count || '·', kind: count > 1 ? 'warm' : count ? 'on' : 'off' }))
    return `<p>Words that lanes want of each bank, 0 to 31:</p>${grid({ cells, cell: [24, 26], label: `at most ${r.wavefronts} words of one bank` })}`
  },
}
