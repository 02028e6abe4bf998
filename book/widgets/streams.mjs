import { escape } from '../lib/format.mjs'
import { range } from './draw.mjs'

const STAGES = ['copy in', 'kernel', 'copy out']

// A batch in `chunks` parts, dealt out to `streams` in turn. A part's stages run in order, as all of one stream does;
// each stage has one engine, which serves one part at a time. Times in tenths of a millisecond.
export function streams({ chunks, streams, copyIn, kernel, copyOut, host }) {
  const whole = [copyIn, kernel, copyOut]
  const engineFree = [0, 0, 0]
  const streamFree = new Array(streams).fill(0)
  let hostFree = 0
  const bars = []
  for (const part of range(chunks)) {
    const stream = part % streams
    whole.forEach((time, stage) => {
      // Pageable memory: the call that copies comes back when the copy is done, and only then are the next ones made.
      const begin = Math.max(engineFree[stage], streamFree[stream], hostFree)
      const end = begin + time / chunks
      if (host === 'pageable' && stage !== 1) hostFree = end
      engineFree[stage] = streamFree[stream] = end
      bars.push({ part, stream, stage, begin, end })
    })
  }
  const total = Math.max(...bars.map(({ end }) => end))
  return { bars, total, alone: whole.reduce((a, b) => a + b), least: Math.max(...whole), streams }
}

const ms = (tenths) => `${(tenths / 10).toFixed(2)} ms`

export default {
  name: 'streams',
  title: 'A pipeline of streams',
  about: 'Two engines copy, the SMs compute. Work in one stream runs in order; work in different streams overlaps where it needs different engines. A model of engines, no measurement.',
  ask: 'How many streams does it take until the kernels follow each other without a gap? What is left of that with pageable memory?',
  inputs: [
    { name: 'chunks', label: 'Parts of the batch', min: 1, max: 16, value: 4 },
    { name: 'streams', label: 'Streams', min: 1, max: 4, value: 2 },
    { name: 'copyIn', label: 'Copy in, tenths of a ms', min: 1, max: 60, value: 25 },
    { name: 'kernel', label: 'Kernel, tenths of a ms', min: 1, max: 60, value: 36 },
    { name: 'copyOut', label: 'Copy out, tenths of a ms', min: 1, max: 60, value: 25 },
    { name: 'host', label: 'Host memory', options: ['pinned', 'pageable'], value: 'pinned' },
  ],
  compute: streams,
  facts: (r) => [['One stream, one part', ms(r.alone)], ['Now', ms(r.total)], ['The longest stage alone', ms(r.least)]],
  draw: (r) => {
    const [left, width, row] = [80, 620, 26]
    const x = (time) => left + (time / r.alone) * width
    const bar = ({ part, stage, begin, end }) => {
      const wide = x(end) - x(begin)
      return `<g class="cell ${['', 'on', 'warm'][stage]}"><rect x="${x(begin).toFixed(1)}" y="${stage * row + 2}" width="${Math.max(1, wide - 1).toFixed(1)}" height="${row - 4}"/>${wide > 14 ? `<text x="${(x(begin) + wide / 2).toFixed(1)}" y="${stage * row + 17}" text-anchor="middle">${part + 1}</text>` : ''}</g>`
    }
    const names = STAGES.map((name, i) => `<text x="${left - 8}" y="${i * row + 17}" text-anchor="end">${name}</text>`)
    const label = `${r.bars.length} pieces of work take ${ms(r.total)}`
    return `<p>Time goes to the right; the number is the part:</p><div class="wide" tabindex="0" role="region" aria-label="Drawing"><svg viewBox="0 0 ${left + width + 10} ${3 * row}" width="${left + width + 10}" role="img" aria-label="${escape(label)}">${names.join('')}${r.bars.map(bar).join('')}</svg></div>`
  },
}
