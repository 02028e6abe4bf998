import { significant } from '../lib/format.mjs'
import { grid } from './draw.mjs'

const VALUES = [1, 3, 2, 5, 4, 5, 0, 6]

// The maximum and the sum after `step` elements, in one pass.
export function softmax({ step }) {
  let [m, s, factor] = [-Infinity, 0, 1]
  for (const x of VALUES.slice(0, step)) {
    const larger = Math.max(m, x)
    factor = Math.exp(m - larger) // 1 where the maximum stays, 0 at the first element
    s = s * factor + Math.exp(x - larger)
    m = larger
  }
  return { step, m, s, factor, exact: VALUES.slice(0, step).reduce((sum, x) => sum + Math.exp(x - m), 0) }
}

export default {
  name: 'softmax',
  title: 'Online softmax',
  about: 'The largest element and the sum of exponentials in one pass. When a larger element comes, the old sum shrinks by exp(old - new).',
  ask: 'At which element does the old sum shrink, and by which factor?',
  inputs: [{ name: 'step', label: 'Elements read', min: 0, max: VALUES.length, value: 4, step: true }],
  compute: softmax,
  facts: (r) => [
    ['Largest so far, m', r.step ? r.m : '–'],
    ['Old sum times', r.step ? significant(r.factor, 4) : '–'],
    ['Sum so far, s', r.s.toFixed(4)],
    ['The same in two passes', r.exact.toFixed(4)],
  ],
  draw: (r) => grid({ cells: VALUES.map((x, i) => ({ at: [i, 0], text: x, kind: i === r.step - 1 ? 'warm' : i < r.step ? 'on' : 'off' })), cell: [40, 30], label: `${r.step} of ${VALUES.length} elements read` }),
}
