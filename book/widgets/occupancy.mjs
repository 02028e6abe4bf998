import { CHIPS, chipInput } from './chips.mjs'

const RESERVED = 1 // KB of shared memory that the system takes for each block
const down = (value, step) => Math.floor(value / step) * step

// How many blocks fit on an SM, and which of four things is the scarcest.
export function occupancy({ threads, registers, shared, chip }) {
  const sm = CHIPS[chip]
  const warps = Math.ceil(threads / 32)
  const perWarp = Math.ceil((registers * 32) / 256) * 256
  const limits = {
    threads: Math.floor(sm.warps / warps),
    blocks: sm.blocks,
    registers: Math.floor(down(sm.registers / perWarp, 4) / warps),
    'shared memory': Math.floor(sm.shared / (shared + RESERVED)),
  }
  const blocks = Math.min(...Object.values(limits))
  const scarcest = Object.keys(limits).filter((name) => limits[name] === blocks)
  return { limits, blocks, scarcest, percent: (100 * blocks * threads) / (sm.warps * 32) }
}

export default {
  name: 'occupancy',
  title: 'Occupancy',
  about: 'How much of an SM the resident threads fill. The scarcest of threads, blocks, registers and shared memory decides.',
  ask: 'With 700 threads a block, the SM is not full. Which sizes fill it, and how many registers may a thread then have?',
  inputs: [
    { name: 'threads', label: 'Threads of a block', min: 1, max: 1024, value: 700 },
    { name: 'registers', label: 'Registers of a thread', min: 16, max: 255, value: 32 },
    { name: 'shared', label: 'Shared memory of a block, KB', min: 0, max: 227, value: 0 },
    chipInput,
  ],
  compute: occupancy,
  facts: (r) => [
    ['Occupancy', `${r.percent.toFixed(1)} %`],
    ['Blocks on an SM', r.blocks],
    ['Limited by', r.scarcest.join(' and ')],
    ...Object.entries(r.limits).map(([name, blocks]) => [`Blocks that ${name} allow${name === 'shared memory' ? 's' : ''}`, blocks]),
  ],
}
