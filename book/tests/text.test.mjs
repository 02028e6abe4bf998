import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { lines } from '../lib/figures.mjs'
import { relative, significant, slug } from '../lib/format.mjs'
import { shortTitle } from '../lib/layout.mjs'
import { makeMarkdown } from '../lib/markdown.mjs'
import { change, chooseRows, commonKey, countsOf, gainOf, howCounted, measuredLines, sizesOf, whyNoGain } from '../lib/measured.mjs'
import { Memory } from '../lib/memory.mjs'
import { noteOf, opening } from '../lib/notes.mjs'
import { pairHtml } from '../lib/pair.mjs'
import { choicesOf, withAnswers } from '../lib/predict.mjs'
import { pagesIn, sections } from '../lib/sections.mjs'
import { Site, deadLinks } from '../lib/site.mjs'
import { lineHtml, markedHtml } from '../lib/tokens.mjs'
import { beside, runsOf } from '../lib/yours.mjs'
import { figuresOf } from '../pages/drawn.mjs'
import { Glossary } from '../pages/glossary.mjs'

test('a lesson of several problems with code becomes a page for each; what stands behind them is a page, too', () => {
  const md = makeMarkdown({ link: (href) => href })
  const code = '\n### rung\n\n```cpp\nx();\n```\n'
  const of = (text) => pagesIn(md.parse(text, {})).map(({ id, tokens }) => [id, sections(tokens).map(({ level, title }) => `${level} ${title}`)])
  assert.deepEqual(of(`# L\n## Numbers\n## Problem A: copy${code}## Problem B: sum${code}## Answers\n`), [
    [undefined, ['1 L', '2 Numbers']],
    ['problem-a-copy', ['1 Problem A: copy', '2 rung']],
    ['problem-b-sum', ['1 Problem B: sum', '2 rung']],
    ['after', ['2 Answers']],
  ])
  assert.equal(of(`# L\n## Problem A: copy${code}## Problem B: no code\n`).length, 1)
})

test('numbers, anchors and relative links', () => {
  assert.equal(significant(0.02567), '0.0257')
  assert.equal(significant(1234.5), '1235')
  assert.equal(slug('5 `tiled`, and [more](x.md)'), '5-tiled-and-more')
  assert.equal(relative('a/b/c.html', 'a/d.html'), '../d.html')
  assert.equal(relative('index.html', 'a/index.html'), 'a/index.html')
})

test('marks cut through tokens', () => {
  const tokens = [['int', 'k'], [' abc', '']]
  assert.equal(lineHtml(tokens), '<span class="k">int</span> abc')
  assert.equal(markedHtml(tokens, [[2, 6]], 'ins'), '<span class="k">in</span><ins><span class="k">t</span> ab</ins>c')
})

const asWritten = { link: (href) => href, quoted: () => '', mark: () => '' }

test('formulas are set, in a line, in dollars and in a fence; other fences are code', () => {
  const html = makeMarkdown(asWritten).render('a $x^2$\n\n$$y$$\n\n```math\n\\sqrt{d}\n```\n\n```cpp\nint a;\n```\n')
  assert.equal(html.match(/class="katex"/g).length, 3)
  assert.equal(html.match(/class="katex-display"/g).length, 2)
  assert.equal(html.match(/<pre/g).length, 1)
})

test('a figure alone is a region that scrolls, as a table is; a picture among words, in a link or with a caption stays in its paragraph', () => {
  const html = (text) => makeMarkdown(asWritten).render(text).trim()
  assert.match(html('![a](a.svg)'), /^<div class="wide" tabindex="0" role="region" aria-label="Figure"><img src="a.svg" alt="a"[^>]*><\/div>$/)
  for (const text of ['see ![a](a.svg)', '[![a](a.svg)](b.html)', '![a](a.svg)\n*its caption*', 'words']) assert.match(html(text), /^<p>(?!.*<div)[^]*<\/p>$/)
  assert.match(html('> words\n\n![a](a.svg)\n\nwords'), /<p>words<\/p>[^]*<div.*<\/div>\n<p>words<\/p>$/)
})

test('a note is the opening of a section; what its colon leads to is left out, and dots say so', () => {
  const md = makeMarkdown(asWritten)
  const note = (text) => md.renderer.render(opening(md.parse(text, {})), md.options, {}).replaceAll('\n', '')
  assert.equal(note('One:\n\ntwo.\n\nIt is so:\n\n- a\n'), '<p>One:</p><p>two.</p><p>It is so …</p>')
  assert.equal(note('It lies so:\n\n![a](a.svg)\n\nMore.\n'), '<p>It lies so …</p><p>More.</p>')
})

test('no line ends inside the sides of a tile or a percentage', () => {
  const html = makeMarkdown(asWritten).render('A tile of 32 × 32: 80 % of it, `a × b`, 3 x 3 and 5 steps.\n')
  assert.equal(html, '<p>A tile of 32\u00a0×\u00a032: 80\u00a0% of it, <code>a × b</code>, 3 x 3 and 5 steps.</p>\n')
})

test('two rungs: what a step gained, or lost', () => {
  const key = 'chip|01_x/default|sum'
  const rung = (name, median_ms) => ({ name, own: [], lines: [], kernels: [], kit: [], path: name, source: name, rows: median_ms ? { [key]: { median_ms } } : {} })
  const runs = { 'chip|01_x/default': { device: { name: 'chip' }, date: '2026-11-22' } }
  const said = (b, beyond = false) => pairHtml({ a: rung('one', 2), b: { ...rung('two', b), beyond }, runs }).match(/<p class="balance"><strong>(.*?)\.\n/)[1]
  assert.equal(said(1, true), 'Beside one:</strong> 2.00× faster')
  assert.deepEqual([1, 4, 2, 0].map((b) => said(b)), ['Gained:</strong> 2.00× faster', 'Lost:</strong> 2.00× slower', 'Gained:</strong> no time', 'Not compared:</strong> two is not measured in results/'])
})

function smallSite(files) {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'book-'))
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.join(root, path.dirname(name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), text)
  }
  return new Site(root, { pages: Object.keys(files).filter((name) => name.endsWith('.md')), sources: [] })
}

test('links lead to pages of the book; a dead one is an error', () => {
  const site = smallSite({ 'README.md': '', '01_a/README.md': '', '01_a/x.cuh': 'int x;\n' })
  const env = { source: '01_a/README.md', out: '01_a/index.html' }
  assert.equal(site.link('../README.md#top', env), '../readme.html#top')
  assert.equal(site.link('x.cuh', env), '../files/01_a/x.cuh.html')
  assert.equal(site.link('/01_a/x.cuh', env), '../files/01_a/x.cuh.html')
  assert.deepEqual([...site.sources], ['01_a/x.cuh'])
  assert.equal(site.link('https://example.org/', env), 'https://example.org/')
  assert.throws(() => site.link('gone.cuh', env), /01_a\/README.md: dead link gone.cuh/)
})

test('quoted code names its true lines; what stands nowhere is an error', () => {
  const site = smallSite({ 'README.md': '', 'x.cuh': '// one\n  // region a\n  int a;\n  int b;\n' })
  const env = { source: 'README.md', out: 'index.html' }
  assert.match(site.quoted('x.cuh', 'int a;\nint b;\n', env), /#L3"><code>x.cuh<\/code>, lines 3 to 4/)
  const deep = smallSite({ 'README.md': '', 'a/x.cuh': 'int a;\n' })
  assert.match(deep.quoted('a/x.cuh', 'int a;\n', env), /<code>a\/<wbr>x.cuh</)
  assert.throws(() => site.quoted('x.cuh', 'int c;\n', env), /does not stand there/)
})

test('dead links of the built site are found', () => {
  const pages = new Map([
    ['index.html', '<a href="a/b.html#here"></a><a href="a/c.html"></a><a href="#gone"></a>'],
    ['a/b.html', '<p id="here"></p><img src="../x.svg">'],
  ])
  assert.deepEqual(deadLinks(pages, new Set(['x.svg'])), ['index.html: dead link a/c.html', 'index.html: no place #gone'])
})

test('a rung finds the section of the lesson that quotes it', () => {
  const md = makeMarkdown({ link: (href) => href })
  const text = '# T\n\n## Problem A\n\n### 3 tiled\n\n```cpp file=a/03_tiled.cuh\n```\n\n## B\n\n### 3 tiled\n\nb: [code](b/03_tiled.cuh)\n'
  const lessons = [{ source: '01_x/README.md', sections: sections(md.parse(text, {})) }]
  const id = (folder) => noteOf({ name: 'tiled', path: `01_x/${folder}/03_tiled.cuh` }, `01_x/${folder}`, lessons)?.id
  assert.equal(id('a'), '3-tiled')
  assert.equal(id('b'), '3-tiled-1')
  assert.equal(noteOf({ name: 'other', path: '01_x/a/04_other.cuh' }, '01_x/a', lessons), null)
  assert.equal(id('c'), undefined) // what is said of a rung of the same name on another ladder
})

test('a name may break in the head of a column and at the beginning of a row, an option and a date nowhere', () => {
  const html = makeMarkdown(asWritten).render('| last_one | `by_two` | c |\n| --- | --- | --- |\n| [`a_b`](x) `c/d_e` | `--only x` | f_g |\n\non 2026-11-28\n')
  assert.match(html, /<th>last_<wbr>one<\/th>\n<th><code>by_<wbr>two<\/code>/)
  assert.match(html, /on <span class="whole">2026-11-28<\/span>/)
  assert.match(html, /<td><a href="x"><code>a_<wbr>b<\/code><\/a> <code>c\/<wbr>d_<wbr>e<\/code><\/td>\n<td><code><span class="whole">--only<\/span> x<\/code><\/td>\n<td>f_g</)
})

test('a heading has its address beside it; the line below a table that says where it comes from is marked, and is no part of a note', () => {
  const md = makeMarkdown(asWritten)
  const text = '# T\n\n## Two *parts*\n\nText.\n\n| a |\n| --- |\n| 1 |\n\n*H200: `x --n 3`*\n\n![f](a.svg)\n\n*H200*\n\n| b |\n| --- |\n| 1 |\n\n*One* word and *another*\n\n*Alone.*\n'
  const html = md.render(text)
  assert.match(html, /Two <em>parts<\/em><a class="address" href="#two-parts" tabindex="-1" aria-hidden="true"><\/a><\/h2>/)
  assert.doesNotMatch(html, /href="#t"/)
  assert.deepEqual([...html.matchAll(/<p class="from">(.*?)<\/p>/g)].map((match) => match[1]), ['<em>H200: <code>x <span class="whole">--n</span> 3</code></em>', '<em>H200</em>'])
  const note = opening(md.parse(text, {})).filter(({ type }) => type === 'inline').map(({ content }) => content)
  assert.deepEqual(note, ['Text.', '*One* word and *another*', '*Alone.*'])
})

test('below its chapter a page has a short title', () => {
  const chapter = '04 Matrix multiplication'
  const titles = [chapter, `${chapter}: odd shapes`, `${chapter}, with tensor cores`, `${chapter}: fp8`, '04 A product over devices', 'Ladder: sgemm']
  assert.deepEqual(titles.map((title) => shortTitle(title, chapter)), ['The lesson', 'Odd shapes', 'With tensor cores', 'fp8', 'A product over devices', 'Ladder: sgemm'])
  assert.equal(shortTitle('The first page', ''), 'The first page')
})

test('a long line of code that wraps goes on further in than it begins', () => {
  const version = (name, text) => ({ name, number: 1, idea: 'x', path: `${name}.cuh`, source: '', own: [], kit: [], numbers: [1, 2], kernels: [], rows: {}, lines: [[[text, '']], [['  short', '']]] })
  const html = pairHtml({ a: version('one', `    ${'a '.repeat(30)}`), b: version('two', `    ${'b '.repeat(30)}`), runs: {} })
  assert.equal(html.match(/style="--in:8"/g).length, 2)
  assert.equal(html.match(/style=/g).length, 2)
})

test('the names beside the lines of a figure stand in the order in which the lines end', () => {
  const html = lines({ title: 't', xLabel: 'n', yLabel: 'y', series: [['low', 1], ['high', 9], ['none', 0], ['mid', 5]].map(([name, y]) => ({ name, points: [[1, y], [2, y]] })) })
  const heights = [...html.matchAll(/<text x="602.0" y="([\d.]+)" >(\w+)</g)].map(([, y, name]) => [Number(y), name]).sort(([a], [b]) => a - b)
  assert.deepEqual(heights.map(([, name]) => name), ['high', 'mid', 'low', 'none'])
})

test('a sweep over shapes has a name for each, and stands on the page of the ladder that has most of its rungs', () => {
  const point = (n, causal) => ({ n, causal, batch: 4096 / n, d: 64, chosen: n / 2, chosen_error: 1, over_cudnn: 1, cudnn: 9, rows: {} })
  const points = [512, 1024].flatMap((n) => [point(n, 0), point(n, 1)])
  const run = { others: [], date: '2026-11-22', program: 'compare.py', arguments: '', sweeps: [{ problem: 'attention_bf16', sweep: 'shape', points }] }
  const ladder = (name, count) => ({ id: `07/${name}`, chapter: '07', rungs: Array.from({ length: count }, () => ({ rows: { 'h|07/default|attention_bf16': { median_ms: null } } })) })
  const all = [ladder('attention', 1), ladder('attention_16bit', 3)]
  const [other, html] = all.map((problem) => figuresOf(problem, { 'h|07/shapes': run }, all))
  assert.equal(other, '')
  assert.deepEqual([...html.matchAll(/rotate\(-40 [^>]*>([^<]*)</g)].map(([, name]) => name), ['n 512', 'n 512, causal', 'n 1024', 'n 1024, causal'])
  assert.deepEqual([...html.matchAll(/<text x="602.0"[^>]*>([^<]*)</g)].map(([, name]) => name), ['chosen', 'cudnn'])
  const many = lines({ title: 't', xLabel: 'x', yLabel: 'y', categories: Array.from({ length: 13 }, (_, i) => `shape ${i}`), series: [{ name: 'one', points: Array.from({ length: 13 }, (_, i) => [i, i + 1]) }] })
  assert.equal(many.match(/rotate\(-90 /g).length, 13)
})

test('the table of a figure with more lines than points has a row for each line', () => {
  const series = ['one', 'two', 'three'].map((name, i) => ({ name, points: [[1, i + 1], [2, i + 4]] }))
  const rowsOf = (count) => [...lines({ title: 't', xLabel: 'n', yLabel: 'y', series: series.slice(0, count) }).matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) => row.replace(/<[^>]*>/g, ' ').trim().split(/ +/))
  assert.deepEqual(rowsOf(3), [['n', '1', '2'], ['one', '1.00', '4.00'], ['two', '2.00', '5.00'], ['three', '3.00', '6.00']])
  assert.deepEqual(rowsOf(2), [['n', 'one', 'two'], ['1', '1.00', '2.00'], ['2', '4.00', '5.00']])
})

test('two rungs are compared in one run where there is one, the default first', () => {
  const row = { median_ms: 1 }
  const a = { 'h|01/large|x': row, 'h|01/default|x': row }
  assert.deepEqual(chooseRows(a, a), ['h|01/default|x', 'h|01/default|x'])
  assert.deepEqual(chooseRows(a, { 'h|01/large|x': row }), ['h|01/large|x', 'h|01/large|x'])
  assert.deepEqual(chooseRows(a, {}), ['h|01/default|x', undefined])
  assert.equal(commonKey([{ rows: a }, { rows: { 'h|01/large|x': row } }]), 'h|01/large|x')
  assert.equal(change(2, 1), '2.00× faster')
  assert.equal(change(1, 2), '2.00× slower')
})

test('a step is what one run timed of both: that of the table, else the largest; no gap is bridged', () => {
  const rows = (times) => ({ rows: Object.fromEntries(Object.entries(times).map(([run, [n, median_ms]]) => [`h|01/${run}|x`, { sizes: { n }, median_ms }])) })
  const common = 'h|01/default|x'
  const a = rows({ default: [8, null], small: [2, 6], middle: [4, 9] })
  const b = rows({ default: [8, 5], small: [2, 3], middle: [4, 3], large: [16, 1] })
  assert.deepEqual(gainOf(a, b, common), { key: 'h|01/middle|x', factor: 3, said: '3.00× faster', elsewhere: 'at n = 4' })
  assert.equal(gainOf(b, rows({ default: [8, 1] }), common).elsewhere, '')
  assert.equal(gainOf(a, rows({ large: [16, 1] }), common), null)
  assert.equal(whyNoGain({ name: 'a', ...a }, { name: 'b', ...rows({ large: [16, 1] }) }), 'not measured in one run')
  assert.equal(whyNoGain({ name: 'a', ...a }, { name: 'b', rows: {} }), 'b is not measured in results/')
  const late = { name: 'b', rows: { 'h|01/small|x': { sizes: { n: 2 }, median_ms: null, reason: 'needs more lanes' } } }
  assert.equal(whyNoGain({ name: 'a', ...a }, late), 'no time of b, needs more lanes')
  assert.equal(sizesOf({ sizes: { k: 1024, m: 1024, n: 1024 } }), 'k = m = n = 1,024')
  assert.equal(sizesOf({ sizes: { batch: 4, m: 4, n: 4 } }), 'm = n = 4, batch = 4')
})

test('two problems of one run are compared where their sizes are the same, and are named', () => {
  const row = (sizes, median_ms) => ({ sizes, median_ms })
  const a = { rows: { 'h|04/fp8|fp8_rows': row({ m: 4, n: 4 }, 6), 'h|04/deep|fp8_rows': row({ m: 4, n: 4 }, 6) } }
  const b = { rows: { 'h|04/fp8|fp8_blocks': row({ m: 4, n: 4, block: 2 }, 3), 'h|04/deep|fp8_blocks': row({ m: 4, n: 8 }, 3) } }
  assert.deepEqual(gainOf(a, b, 'h|04/fp8|fp8_rows'), { key: 'h|04/fp8|fp8_rows', factor: 2, said: '2.00× faster', elsewhere: 'fp8 blocks beside fp8 rows, at m = n = 4, block = 2', isOtherWork: true })
  delete b.rows['h|04/fp8|fp8_blocks']
  assert.equal(gainOf(a, b), null) // other sizes
})

test('what changed is called better or worse, and a count that may be either more or fewer', () => {
  const row = (median_ms, gbps, sectors) => ({ median_ms, gbps, counters: { load_sectors_per_request: sectors, shared_load_conflict: sectors, active_lanes: 4 } })
  const said = measuredLines(row(2, 10, 4), row(1, 5, 8), true).map(({ title, what }) => `${title}: ${what}`)
  assert.deepEqual(said, ['Time, ms: 2.00× faster', 'GB/s: ▼ 0.500×, worse', 'Sectors per load: ▲ 2.00×, more', 'Shared load conflict: ▲ 2.00×, worse', 'Active lanes: the same'])
})

test('two rungs have the GPU\'s counts, or simt\'s where one of them lacks those; how they were counted is said', () => {
  const gpu = { counters: { active_lanes: 6.5, barriers: 8 }, simt: { active_lanes: 3.5 } }
  const simt = { counters: { barriers: null }, simt: { active_lanes: 2, moved_bytes: 1.5e6 } }
  const none = { counters: {}, simt: null }
  const runs = { 'h|01/default': { counted_with: '--n 5', simt_counted_at: { x: { rows: 2048, cols: 7 } } } }
  const of = (...rows) => [...countsOf(...rows).map(({ title, values }) => [title, ...values]), howCounted(['h|01/default|x', undefined], runs, ...rows)]
  assert.deepEqual(of(gpu, gpu), [['Active lanes', 6.5, 6.5], ['Barriers', 8, 8], ' Counted with --n 5.'])
  assert.deepEqual(of(gpu, simt), [['Moved, MB', undefined, 1.5], ['Active lanes', 3.5, 2], ' Counted by simt, at rows = 2,048, cols = 7.'])
  assert.deepEqual(of(gpu, none), [['Active lanes', 6.5, undefined], ['Barriers', 8, undefined], ' Counted with --n 5.'])
  assert.deepEqual(of(none, undefined), [''])
})

test('a reader\'s rows stand beside ours at the same sizes', () => {
  const row = (n, median_ms) => ({ problem: 'sum', name: 'tuned', sizes: { n }, median_ms })
  const { lines, alone } = beside(runsOf(JSON.stringify({ rows: [row(8, 2), row(9, 2), row(8, null)] })), [row(8, 1)])
  assert.deepEqual(lines.map(({ ours }) => ours?.median_ms ?? null), [1, null])
  assert.equal(alone, 1)
  assert.equal(runsOf(JSON.stringify({ runs: { a: { rows: [] }, b: { rows: [] } } })).length, 2)
  assert.throws(() => runsOf('{'), /this is no JSON/)
  for (const wrong of ['null', '[]', '{"rows": [1]}', '{"runs": {"a": 1}}']) assert.throws(() => runsOf(wrong), /no rows with a problem/)
})

test('what one build made the next one takes, until the code or the words change; what is not asked for is forgotten', () => {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'book-')), 'memory')
  const build = (code, words) => {
    const memory = new Memory(file, code)
    const made = words.filter((word) => {
      let isNew = false
      assert.equal(memory.once('x', word, () => ((isNew = true), word.length)), word.length)
      return isNew
    })
    memory.keep(`state of ${words}`, words.length)
    return made
  }
  assert.deepEqual(build('one', ['a', 'bb']), ['a', 'bb'])
  assert.equal(new Memory(file, 'one').state, 'state of a,bb')
  assert.deepEqual(build('one', ['bb', 'c']), ['c'])
  assert.deepEqual(build('one', ['a']), ['a'])
  assert.deepEqual(build('two', ['a']), ['a'])
  assert.equal(new Memory(file, 'one').state, undefined)
})

test('a bold word of the glossary leads to its entry and says how that begins; other words and links stay as they are', () => {
  const glossary = new Glossary()
  const md = makeMarkdown({ ...asWritten, term: (text, env, isFirst) => glossary.link(text, env, isFirst) })
  const env = { source: 'GLOSSARY.md', out: 'glossary.html' }
  const tokens = md.parse('**Bank, bank conflict** (03). Shared memory has 32 banks. Two **lanes** wait.\n\n**Lane** (01). One of 32.\n', env)
  glossary.read({ tokens, out: env.out })
  const html = md.renderer.render(tokens, md.options, env)
  assert.match(html, /<p id="term-bank-bank-conflict"><strong>Bank/)
  assert.match(html, /<a class="term" href="#term-lane" data-tip="One of 32\."><strong>lanes<\/strong><\/a>/)
  const lesson = md.render('A **bank conflict**, **The question.**, [a **lane**](x.html)', { source: '03_a/README.md', out: '03_a/index.html' })
  assert.equal(lesson.match(/<a class="term" href="\.\.\/glossary\.html#term-bank-bank-conflict" data-tip="Shared memory has 32 banks\. Two lanes wait\.">/g).length, 1)
  assert.equal(lesson.match(/<a /g).length, 2)
})

test('a question has its choices and the answer that the page gives at its end; others stay as they are', () => {
  assert.deepEqual(choicesOf('By how\nmuch: four times, one and a half times, a little?'), ['four times', 'one and a half times', 'a little'])
  assert.deepEqual(choicesOf('Which is fastest: 64, 256,\n or 1024 threads?'), ['64', '256', '1024 threads'])
  assert.deepEqual([choicesOf('How large is the factor?'), choicesOf('Two ways: this or that?')], [[], []])
  const md = makeMarkdown(asWritten)
  const html = (text) => md.renderer.render(withAnswers(md.parse(text, {})), md.options, {})
  const asked = '# T\n\n## Predict\n\n1. How much?\n2. Which: a, b, c?\n\n## Answers\n\n'
  const both = html(`${asked}1. **Much.** Very.\n2. c\n`)
  assert.match(both, /How much\?<form[^]*type="text" name="predict-1"[^]*<details[^]*<strong>Much\.<\/strong> Very\.<\/details>/)
  assert.match(both, /name="predict-2" value="b"/)
  assert.doesNotMatch(html(`${asked}1. Only one.\n`), /class="predict/)
})
