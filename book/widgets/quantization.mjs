import { chipInput, CHIPS } from './chips.mjs'
import { grid, range } from './draw.mjs'

// An m x n matrix cut into tiles, one tile a block, `resident` blocks an SM at a time.
export function quantization({ m, n, tileM, tileN, resident, chip }) {
  const tiles = Math.ceil(m / tileM) * Math.ceil(n / tileN)
  const slots = CHIPS[chip].sms * resident
  const waves = Math.ceil(tiles / slots)
  const inTiles = (m * n) / (tiles * tileM * tileN)
  const inWaves = tiles / (waves * slots)
  return { tiles, slots, waves, last: tiles - (waves - 1) * slots, inTiles, inWaves, used: inTiles * inWaves }
}

const percent = (value) => `${(100 * value).toFixed(1)} %`

export default {
  name: 'quantization',
  title: 'Whole tiles, whole waves',
  about: 'A matrix is cut into whole tiles, and tiles run in whole waves. What sticks out of the last tile or is missing in the last wave is time without work.',
  ask: 'One column more than 2048: what does it cost, and which tile makes it cheap again?',
  inputs: [
    { name: 'm', label: 'm', min: 1, max: 32768, value: 2048 },
    { name: 'n', label: 'n', min: 1, max: 32768, value: 2049 },
    { name: 'tileM', label: 'Rows of a tile', min: 8, max: 256, value: 128 },
    { name: 'tileN', label: 'Columns of a tile', min: 8, max: 256, value: 128 },
    { name: 'resident', label: 'Blocks on an SM', min: 1, max: 32, value: 1 },
    chipInput,
  ],
  compute: quantization,
  facts: (r) => [
    ['Tiles', r.tiles],
    ['Waves', r.waves],
    ['Tiles in the last wave', `${r.last} of ${r.slots}`],
    ['Used of the tiles', percent(r.inTiles)],
    ['Used of the waves', percent(r.inWaves)],
    ['Used of the chip', percent(r.used)],
  ],
  draw: (r) => {
    const [columns, shown] = [40, Math.min(r.slots, 400)]
    const cells = range(shown).map((i) => ({ at: [i % columns, Math.floor(i / columns)], text: i < r.last ? '■' : '·', kind: i < r.last ? 'on' : 'off' }))
    return `<p>The last wave, a cell for each place:</p>${grid({ cells, cell: [17, 17], label: `${r.last} of ${r.slots} places have a tile in the last wave` })}`
  },
}
