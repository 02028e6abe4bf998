import assert from 'node:assert/strict'
import fs from 'node:fs'
import { test } from 'node:test'
import { WIDGETS } from '../widgets/all.mjs'
import { attention } from '../widgets/attention.mjs'
import { banks } from '../widgets/banks.mjs'
import { coalescing } from '../widgets/coalescing.mjs'
import { contention } from '../widgets/contention.mjs'
import { divergence } from '../widgets/divergence.mjs'
import { firstValues, outcome, valuesFrom, widgetHtml } from '../widgets/frame.mjs'
import { KERNELS } from '../widgets/kernels.mjs'
import { lookBack } from '../widgets/look_back.mjs'
import { mbarrier } from '../widgets/mbarrier.mjs'
import { occupancy } from '../widgets/occupancy.mjs'
import { quantization } from '../widgets/quantization.mjs'
import { reduction } from '../widgets/reduction.mjs'
import { ring } from '../widgets/ring.mjs'
import { roofline } from '../widgets/roofline.mjs'
import { softmax } from '../widgets/softmax.mjs'
import { streams } from '../widgets/streams.mjs'
import { swizzle } from '../widgets/swizzle.mjs'
import { fragment } from '../widgets/wgmma.mjs'

const H200 = 'H200 SXM'

test('every widget asks a question', () => {
  const silent = [...WIDGETS, ...KERNELS].filter(({ ask }) => !/\?$/.test(ask ?? ''))
  assert.deepEqual(silent.map(({ name }) => name), [])
})

test('intensity of a product', () => {
  const of = (m, n, k) => roofline({ m, n, k, bytes: 2, chip: H200 })
  assert.equal(of(8192, 8192, 128).intensity.toFixed(1), '124.1')
  assert.equal(of(8192, 8192, 8192).intensity.toFixed(0), '2731')
  assert.equal(of(8192, 8192, 128).bound, 'memory')
  assert.equal(of(8192, 8192, 8192).bound, 'arithmetic')
  assert.equal(of(8192, 8192, 8192).ridge.toFixed(0), '223') // the lesson: 222, of 4.814 TB/s
})

test('occupancy counts whole blocks, and names the scarcest', () => {
  const of = (more) => occupancy({ threads: 256, registers: 32, shared: 0, chip: H200, ...more })
  assert.equal(of({ threads: 700 }).percent, 68.359375)
  assert.equal(of({}).percent, 100)
  assert.deepEqual([of({ registers: 128 }).blocks, of({ registers: 128 }).scarcest], [2, ['registers']])
  assert.deepEqual([of({ shared: 100 }).blocks, of({ shared: 100 }).scarcest], [2, ['shared memory']])
  assert.deepEqual(of({ threads: 32 }).scarcest, ['blocks'])
})

test('tiles and waves are whole', () => {
  const of = (n) => quantization({ m: 2048, n, tileM: 128, tileN: 128, resident: 1, chip: H200 })
  assert.deepEqual([of(2048).tiles, of(2048).waves], [256, 2])
  assert.deepEqual([of(2049).tiles, of(2049).waves, of(2049).last], [272, 3, 8])
})

test('sectors of a request', () => {
  const of = (stride, offset, bytes) => coalescing({ stride, offset, bytes }).sectors.length
  assert.deepEqual([of(1, 0, 4), of(1, 1, 4), of(2, 0, 4), of(8, 0, 4), of(32, 0, 4), of(0, 0, 4)], [4, 5, 8, 32, 32, 1])
  assert.deepEqual([of(1, 0, 16), of(1, 0, 1)], [16, 1])
})

test('bank conflicts: a column, padded, swizzled', () => {
  const of = (more) => banks({ pitch: 32, padding: 0, column: 5, swizzle: 'none', ...more }).wavefronts
  assert.deepEqual([of({}), of({ padding: 1 }), of({ padding: 2 }), of({ pitch: 16 }), of({ swizzle: 'xor' })], [32, 1, 2, 16, 1])
})

test('three trees: one sum, different warps', () => {
  for (const tree of ['divergent', 'conflicting', 'sequential']) assert.equal(reduction({ tree, step: 4 }).values[0], 136)
  const warps = (tree) => [1, 2, 3].map((step) => reduction({ tree, step }).warps)
  assert.deepEqual(warps('divergent'), [8, 8, 8])
  assert.deepEqual(warps('sequential'), [4, 2, 1])
})

test('online softmax keeps what two passes find', () => {
  for (let step = 1; step <= 8; ++step) {
    const { s, exact } = softmax({ step })
    assert.ok(Math.abs(s - exact) < 1e-12)
  }
  assert.equal(softmax({ step: 4 }).factor, Math.exp(3 - 5))
})

test('look-back ends, and sooner than a chain', () => {
  const end = lookBack({ tiles: 16, step: 16 })
  assert.equal(end.done, 16)
  assert.ok(end.steps < 15, `${end.steps} steps`)
  assert.deepEqual(lookBack({ tiles: 4, step: 1 }).state, ['P', 'P', 'A', 'A'])
})

test('the walk over tiles: a causal mask spares those behind the diagonal', () => {
  const of = (mask) => attention({ queries: 4, keys: 4, mask, step: 3 })
  assert.deepEqual([of('none').walk.length, of('causal').walk.length], [16, 10])
  assert.deepEqual(of('causal').now, [1, 1])
  assert.equal(attention({ queries: 4, keys: 8, mask: 'causal', step: 0 }).walk.length, 5 + 6 + 7 + 8)
})

test('a branch takes both ways, unless all lanes agree', () => {
  const of = (taken) => divergence({ taken, first: 10, second: 5, order: 'spread' })
  assert.deepEqual([of(0).time, of(8).time, of(32).time], [5, 15, 10])
  assert.equal(of(8).way.filter(Boolean).length, 8)
  assert.equal(of(32).active, 32)
})

test('a phase ends with the last byte', () => {
  const of = (step) => mbarrier({ bytes: 4096, step })
  assert.deepEqual([of(0).phase, of(1).expected, of(3).phase, of(4).phase, of(12).phase], [0, 12288, 0, 1, 3])
  assert.deepEqual([of(3).passes[0], of(4).passes[0]], [false, true])
})

test('lanes that want one counter wait for each other; private copies share them out', () => {
  const of = (more) => contention({ bins: 256, same: 0, copies: 1, ...more })
  assert.deepEqual([of({ same: 100 }).rounds, of({ same: 100, copies: 8 }).rounds, of({ same: 100, copies: 32 }).rounds, of({ bins: 1 }).rounds], [32, 4, 1, 32])
  assert.ok(of({}).rounds < 5)
  assert.equal([...of({ same: 50 }).queues.values()].flat().length, 32)
})

test('streams: engines overlap, no engine does two things at once, pageable memory undoes it', () => {
  const of = (more) => streams({ chunks: 4, streams: 2, copyIn: 25, kernel: 36, copyOut: 25, host: 'pinned', ...more })
  assert.deepEqual([of({ chunks: 1 }).total, of({ streams: 1 }).total], [86, 86])
  // Two streams leave the kernels' engine gaps: the third part waits for the first one's copy out.
  assert.equal(of({}).total, 52)
  assert.equal(of({ streams: 3 }).total, 25 / 4 + 36 + 25 / 4)
  assert.ok(of({ chunks: 16 }).total < of({}).total && of({ chunks: 16 }).total > 36)
  assert.ok(of({ host: 'pageable' }).total > of({}).total)
  for (const stage of [0, 1, 2]) {
    const bars = of({ chunks: 7, streams: 3 }).bars.filter((bar) => bar.stage === stage)
    bars.slice(1).forEach((bar, i) => assert.ok(bar.begin >= bars[i].end - 1e-9))
  }
})

test('the ring: every rank gets every sum, all links carry a slice in every step, and the bytes are those that the lesson says', () => {
  const lesson = fs.readFileSync(new URL('../../05_reduction/all_reduce.md', import.meta.url), 'utf8')
  const [, two, eight] = lesson.match(/^\| ring \| [^|]* \| (\S+) \| (\S+) \|/m).map(Number)
  const of = (ranks, step) => ring({ ranks, megabytes: 64, step })
  assert.deepEqual([of(2, 14).sent, of(8, 14).sent], [two, eight])
  assert.deepEqual([of(4, 2).whole, of(4, 3).whole, of(4, 6).whole], [0, 1, 4])
  assert.deepEqual(of(4, 2).parts[2], [[0, 1, 2], [1, 2], [2], [2]])
  for (const ranks of [2, 3, 5, 8]) {
    for (const row of of(ranks, 14).parts) for (const sum of row) assert.deepEqual([...sum].sort(), [...Array(ranks).keys()])
    for (let step = 1; step <= 2 * (ranks - 1); ++step) assert.equal(new Set(of(ranks, step).moves.map(({ to }) => to)).size, ranks)
  }
})

test('fragments of wgmma cover the tile once', () => {
  const places = new Set()
  for (let thread = 0; thread < 128; ++thread) {
    for (let register = 0; register < 8; ++register) {
      const { row, column } = fragment({ thread, register })
      assert.ok(row < 64 && column < 16)
      places.add(`${row},${column}`)
    }
  }
  assert.equal(places.size, 64 * 16)
  assert.deepEqual([fragment({ thread: 37, register: 2 }).row, fragment({ thread: 37, register: 2 }).column], [25, 2])
})

test('swizzles: one chunk of eight rows in eight groups of banks', () => {
  const of = (mode) => swizzle({ mode, row: 3, chunk: 1 })
  assert.deepEqual(['none', '32 bytes', '64 bytes', '128 bytes'].map((mode) => of(mode).wavefronts), [8, 1, 1, 1])
  assert.equal(of('128 bytes').lies, 2)
})

test('every widget says something at its first values, and takes any text for a value', () => {
  for (const widget of WIDGETS) {
    assert.match(widgetHtml(widget), /<dd>[^<]+<\/dd>/, widget.name)
    for (const wild of ['', 'x', '-5', '1e9', '<b>']) {
      assert.doesNotMatch(outcome(widget, widget.compute(valuesFrom(widget, () => wild))), /NaN|undefined|Infinity/, `${widget.name} ${wild}`)
    }
    assert.deepEqual(valuesFrom(widget, (name) => String(firstValues(widget)[name])), firstValues(widget))
  }
})
