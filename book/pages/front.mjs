// The front page: what this is, a kernel that runs, how far a ladder leads, and the chapters as cards.

import { bars } from '../lib/figures.mjs'
import { escape, pathHtml, relative, sentence, significant } from '../lib/format.mjs'
import { commonKey, whereFrom } from '../lib/measured.mjs'
import { lineHtml } from '../lib/tokens.mjs'
import { widgetHtml } from '../widgets/frame.mjs'
import { STRIDE } from '../widgets/kernels.mjs'
import { nameOf } from './rungs.mjs'

const GATHER = '03_coalescing/study/copy_gather.cuh'
const HERO = '04_matmul/sgemm'
const WORDS_A_MINUTE = 150 // of a text like this, in a reader's second language

const to = (book, file) => relative('index.html', book.site.outOf(file))

// The kernel of a file as it stands there: from its template line to the brace that ends it.
function kernelHtml(book, file) {
  const text = book.site.read(file).split('\n')
  const first = text.findIndex((line) => line.startsWith('template'))
  const last = text.findIndex((line, i) => i > first && line === '}')
  const lines = book.lines(file).slice(first, last + 1)
  const link = `<a href="${to(book, file)}#L${first + 1}"><code>${pathHtml(file)}</code></a>`
  return `<figure class="code"><figcaption>${link}</figcaption><pre tabindex="0"><code>${lines.map(lineHtml).join('\n')}</code></pre></figure>`
}

// The rungs of a ladder's main road that ran on the device in the run of its table.
function timed(problem) {
  const key = commonKey(problem.rungs)
  return problem.rungs.filter((rung) => !rung.beyond && rung.rows[key]?.median_ms && rung.rows[key].place === 'device').map((rung) => ({ name: rung.name, key, row: rung.rows[key] }))
}

function ladderBars(book) {
  const problem = book.model.problems.find(({ id }) => id === HERO)
  const rungs = timed(problem)
  const rows = rungs.map(({ name, row }) => ({ name, value: row.gflops / 1000, shown: significant(row.gflops / 1000) }))
  return bars({ title: `Matrix multiplication, rung by rung, in TFLOP/s. ${whereFrom(rungs[0].key, rungs[0].row, book.model.runs)}`, unit: 'TFLOP/s', rows })
}

// Every rung as a bar, the faster the higher, on a logarithmic scale.
function spark(rungs) {
  const speeds = rungs.map(({ row }) => 1 / row.median_ms)
  const [low, high] = [Math.min(...speeds), Math.max(...speeds)]
  const height = (speed) => 8 + (high > low ? (48 * Math.log(speed / low)) / Math.log(high / low) : 0)
  const wide = 240 / rungs.length
  const bar = (speed, i) => `<rect class="bar" x="${(i * wide).toFixed(1)}" y="${(60 - height(speed)).toFixed(1)}" width="${(wide - 4).toFixed(1)}" height="${height(speed).toFixed(1)}"/>`
  return `<svg viewBox="0 0 240 60" height="60" preserveAspectRatio="none" aria-hidden="true">${speeds.map(bar).join('')}</svg>`
}

// From the first rung that was timed to the fastest.
function climb({ problem, rungs }) {
  if (!rungs.length) return ''
  const fastest = rungs.reduce((a, b) => (a.row.median_ms < b.row.median_ms ? a : b))
  const factor = significant(rungs[0].row.median_ms / fastest.row.median_ms)
  return `<figure>${spark(rungs)}<figcaption>${nameOf(problem)}: <code>${fastest.name}</code> is ${factor} times as fast as <code>${rungs[0].name}</code></figcaption></figure>`
}

// The paragraph of a lesson that asks its question: from "The question" on the first one with a question mark.
function questionOf({ tokens }) {
  const texts = tokens.filter(({ type }) => type === 'inline').map(({ content }) => content)
  const first = texts.findIndex((text) => text.startsWith('**The question.**'))
  return (first < 0 ? '' : texts.slice(first).find((text) => text.includes('?')) ?? '').replace('**The question.** ', '')
}

function card(book, group) {
  const lesson = book.lessons.find(({ out }) => out === group.road[0].out)
  const problems = book.model.problems.filter((problem) => `${problem.chapter}/` === group.folder)
  const best = problems
    .map((problem) => ({ problem, rungs: timed(problem) }))
    .sort((a, b) => b.rungs.length - a.rungs.length)[0]
  const [, about] = book.site.read('README.md').match(new RegExp(`^\\| ${lesson.title.slice(0, 2)} \\|[^|]*\\| (.*?) \\|$`, 'm')) ?? [null, '']
  const question = book.md.renderInline(questionOf(lesson), { source: lesson.source, out: 'index.html' })
  const pages = book.lessons.filter(({ out }) => group.road.some((page) => page.out === out))
  const words = pages.flatMap(({ tokens }) => tokens).filter(({ type }) => type === 'inline').reduce((sum, { content }) => sum + content.split(/\s+/).length, 0)
  const practice = group.exercises.reduce((sum, { source }) => sum + book.model.exercises[source].minutes, 0)
  const hours = (minutes) => (minutes < 100 ? `${Math.round(minutes / 5) * 5} minutes` : `${(minutes / 60).toFixed(1)} hours`)
  const sections = pages.flatMap(({ sections }) => sections).filter(({ level }) => level > 1).length
  const ids = group.exercises.map(({ source }) => book.model.exercises[source].id).join(' ')
  const outs = pages.map(({ out }) => out).join(' ')
  return `<li class="card"><h3><a href="${relative('index.html', lesson.out)}">${escape(lesson.title)}</a></h3>
<p>${question}</p>
${climb(best)}
<p class="quiet">${book.md.renderInline(sentence(about))}</p>
<p class="quiet">About ${hours(words / WORDS_A_MINUTE)} to read, ${hours(practice)} for ${group.exercises.length} exercises<span class="read needs-js" data-pages="${outs}" data-sections="${sections}"></span><span class="passed needs-js" data-exercises="${ids}"></span></p></li>`
}

export function frontPage(book) {
  const readme = book.lessons.find(({ source }) => source === 'README.md')
  const first = readme.tokens.findIndex((token) => token.type === 'paragraph_close') + 1
  const paragraph = book.md.renderer.render(readme.tokens.slice(3, first), book.md.options, { ...readme.env, out: 'index.html' })
  const chapters = book.contents.filter(({ folder }) => /^\d\d_/.test(folder ?? ''))
  const runs = book.kernels
    ? `<section class="try" aria-labelledby="try"><div><h2 id="try">A kernel that runs, here</h2>
<p>It is one of the lesson's, compiled for this page. Slide, and watch what the same copy costs.</p>${kernelHtml(book, GATHER)}</div>
<div>${widgetHtml(STRIDE)}<p class="quiet">Why: <a href="${to(book, '03_coalescing/README.md')}">03 Coalescing</a>. More of them: <a href="widgets/run_transpose.html">a transpose</a>, <a href="widgets/run_sum.html">a sum</a>.</p></div></section>`
    : ''
  const body = `<div class="front">
<h1>CUDA, step by step</h1>
${paragraph}
<p class="doors">
<a class="main" href="${to(book, '01_vector_add/README.md')}">Begin with the first kernel</a>
<a class="go-on" hidden href="${to(book, '01_vector_add/README.md')}">Go on where you were</a>
<a href="compare/03_coalescing/transpose/index.html">Walk up a ladder</a>
<a href="${to(book, 'exercises.md')}">Solve an exercise</a>
<a href="${to(book, 'GLOSSARY.md')}">Look up a word</a>
</p>
</div>
${runs}
<section class="climb" aria-labelledby="climb"><div><h2 id="climb">One problem, from the first kernel to the limit of the chip</h2>
<p>Every bar is a kernel with one idea more than the one before; <a href="compare/${HERO}/index.html">walk from each to the next</a> and see which lines make the difference.</p></div>
${ladderBars(book)}</section>
<h2>Seven chapters</h2>
<ol class="cards">${chapters.map((group) => card(book, group)).join('\n')}</ol>
<div class="front"><h2>For whom, and what it costs</h2>
<p>You read C or C++ and want to know what makes a GPU fast: as a student from the first kernel on, or as an engineer who wants to see
the step from one known version to the next, with its price.</p>
<p>To read: nothing, this book needs no network and no account. To run and to solve exercises: any laptop with Linux and g++, two commands, no GPU.
To measure: an NVIDIA GPU and the CUDA Toolkit. <a href="${to(book, 'README.md')}">How to install it, all results, how they were measured</a>.</p>
</div>`
  return { title: 'Begin', out: 'index.html', body, wide: true, kind: 'front-page' }
}
