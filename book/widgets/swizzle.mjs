import { grid, range } from './draw.mjs'

// TMA's swizzles: of a row's chunks of 16 bytes, which are exchanged by which bits of the row.
const MODES = { none: [8, () => 0], '32 bytes': [2, (row) => (row >> 2) & 1], '64 bytes': [4, (row) => (row >> 1) & 3], '128 bytes': [8, (row) => row & 7] }

// The chunk in which logical chunk `chunk` of a row lies, and how many wavefronts it takes to read
// that chunk of eight rows, as ldmatrix does. Rows are as long as the swizzle (128 bytes without).
export function swizzle({ mode, row, chunk }) {
  const [chunks, bits] = MODES[mode]
  const place = (r, c) => (c % chunks) ^ bits(r)
  const banks = range(8).map((r) => (r * chunks + place(r, chunk)) % 8) // a group of four banks
  return { chunks, place, row, chunk: chunk % chunks, lies: place(row, chunk), wavefronts: Math.max(...range(8).map((b) => banks.filter((x) => x === b).length)) }
}

export default {
  name: 'swizzle',
  title: 'The swizzles of TMA and wgmma',
  about: 'The 16-byte chunks of a row change places by bits of the row, so that one chunk of eight rows lies in eight different groups of banks.',
  ask: 'Eight rows, the same chunk of each: which swizzles bring them into eight different groups of banks?',
  inputs: [
    { name: 'mode', label: 'Swizzle', options: Object.keys(MODES), value: '128 bytes' },
    { name: 'row', label: 'Row', min: 0, max: 7, value: 3 },
    { name: 'chunk', label: 'Chunk of the row', min: 0, max: 7, value: 1 },
  ],
  compute: swizzle,
  facts: (r) => [['Lies in chunk', r.lies], ['Wavefronts to read this chunk of eight rows', r.wavefronts]],
  draw: (r) => {
    const cells = range(8).flatMap((y) => range(r.chunks).map((x) => ({ at: [r.place(y, x), y], text: x, kind: x === r.chunk ? (y === r.row ? 'warm' : 'on') : 'off' })))
    return `<p>Rows as they lie in shared memory; the number is the chunk's place in the matrix:</p>${grid({ cells, cell: [40, 26], left: 56, labels: range(8).map((y) => `row ${y}`), label: `chunk ${r.chunk} of row ${r.row} lies in place ${r.lies}` })}`
  },
}
