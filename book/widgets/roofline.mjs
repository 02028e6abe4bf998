import { roofline as draw } from '../lib/figures.mjs'
import { significant } from '../lib/format.mjs'
import { CHIPS, chipInput } from './chips.mjs'

// C = A B of m x k and k x n elements of `bytes`: each matrix crosses the memory once.
export function roofline({ m, n, k, bytes, chip }) {
  const operations = 2 * m * n * k
  const moved = bytes * (m * k + k * n + m * n)
  const { bandwidth, fp32, tensor } = CHIPS[chip]
  const peak = bytes === 4 ? fp32 : tensor
  const intensity = operations / moved
  const seconds = Math.max(operations / peak, moved / bandwidth)
  return { intensity, peak, bandwidth, ridge: peak / bandwidth, bound: intensity < peak / bandwidth ? 'memory' : 'arithmetic', seconds, rate: operations / seconds }
}

export default {
  name: 'roofline',
  title: 'Intensity and roofline of a matrix product',
  about: 'Operations per byte decide whether memory or arithmetic is the limit. Left of the ridge it is memory.',
  ask: 'From which k on is this product limited by arithmetic, no longer by memory?',
  inputs: [
    ...['m', 'n', 'k'].map((name) => ({ name, label: name, min: 1, max: 65536, value: name === 'k' ? 128 : 8192 })),
    { name: 'bytes', label: 'Bytes of an element (2: tensor cores)', options: [2, 4], value: 2 },
    chipInput,
  ],
  compute: roofline,
  facts: (r) => [
    ['Operations per byte', r.intensity >= 1000 ? r.intensity.toFixed(0) : significant(r.intensity, 4)],
    ['Ridge of the chip', significant(r.ridge)],
    ['Limit', r.bound],
    ['At best', `${significant(r.rate / 1e12)} TFLOP/s, ${significant(r.seconds * 1e3)} ms`],
  ],
  draw: (r) => draw({ title: 'The product under the roofline', bandwidth: r.bandwidth / 1e12, peak: r.peak / 1e12, points: [{ name: 'this product', intensity: r.intensity, rate: r.rate / 1e12 }] }),
}
