import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, likeness, rows, stretches, wordMarks } from '../lib/diff.mjs'

const version = (name, lines, own = []) => ({ name, own, lines })
const kinds = (a, b) => rows(a, b).map(({ kind, left, right }) => `${kind} ${left} ${right}`)

test('a line that differs in gaps or in the own name alone is the same', () => {
  const a = version('naive', ['void naive_kernel(int n) {', '  x = naive;'], ['naive_kernel'])
  const b = version('tiled', ['void tiled_kernel(int n)  {', '  x = naive;'], ['tiled_kernel'])
  assert.equal(keys(a)[0], keys(b)[0])
  assert.deepEqual(kinds(a, b), ['same 0 0', 'same 1 1'])
})

test('lines stand beside what they became; others are removed or added', () => {
  const a = version('a', ['one', 'int i = 0;', 'gone entirely', 'last'])
  const b = version('b', ['one', 'int i = 1;', 'last', 'new'])
  assert.deepEqual(kinds(a, b), ['same 0 0', 'changed 1 1', 'removed 2 null', 'same 3 2', 'added null 3'])
})

test('every line of both sides appears once, in order', () => {
  const a = version('a', 'a b c d e f g'.split(' '))
  const b = version('b', 'x b y d d g z'.split(' '))
  const all = rows(a, b)
  for (const side of ['left', 'right']) {
    assert.deepEqual(all.map((row) => row[side]).filter((i) => i !== null), [0, 1, 2, 3, 4, 5, 6])
  }
})

test('likeness counts words that are the same', () => {
  assert.equal(likeness('a + b', 'a + b'), 1)
  assert.equal(likeness('a + b', 'x * y'), 0)
  assert.equal(likeness('// one', '// two'), 1)
})

test('changed words are marked by their characters', () => {
  const { removed, added } = wordMarks('x = y + 1', 'x = z + 12')
  assert.deepEqual(removed, [[4, 5], [8, 9]])
  assert.deepEqual(added, [[4, 5], [8, 10]])
})

test('far from a change, lines fold; a short stretch does not', () => {
  const row = (kind) => ({ kind })
  const all = [...Array(10).fill(row('same')), row('added'), ...Array(5).fill(row('same'))]
  assert.deepEqual(stretches(all).map((s) => [s.folded, s.rows.length]), [[true, 7], [false, 7], [false, 2]])
})

test('where only line breaks moved nothing changed; what did change is marked beside it', () => {
  const a = version('naive', ['void f(float* a, float* b, int n, int k) {', '  int row = 32 + threadIdx.x;', '  int col = 32 + threadIdx.y;', '}'])
  const b = version('other', ['void f(float* a, float* b, int n,', '       int k) {', '  int row = 32 + threadIdx.y;', '  int col = 32 + threadIdx.x;', '}'])
  const all = rows(a, b)
  assert.deepEqual(all.map(({ kind }) => kind), ['wrapped', 'wrapped', 'changed', 'changed', 'same'])
  const marked = all.filter(({ marks }) => marks).map(({ left, right, marks }) => [...marks.removed.map((m) => a.lines[left].slice(...m)), ...marks.added.map((m) => b.lines[right].slice(...m))])
  assert.deepEqual(marked, [['x', 'y'], ['y', 'x']])
  const comment = (lines) => version('c', lines.map((line) => `// ${line}`))
  assert.ok(rows(comment(['one two three four', 'five six seven']), comment(['one two three', 'four five six seven'])).every(({ kind }) => kind === 'wrapped'))
})

test('a brace or a name that stayed by chance makes no line an old one', () => {
  const kindsOf = (a, b) => rows(version('a', a), version('b', b)).map(({ kind }) => kind)
  assert.deepEqual(kindsOf(['int n;', 'return a;'], ['n', 'b();']).filter((kind) => kind === 'wrapped'), [])
  assert.ok(!kindsOf(['if (a) {', '  one(n);', '}'], ['for (;;) {', '  two();', '  three();', '}', 'n']).includes('wrapped'))
})
