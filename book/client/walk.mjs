// "Walk the ladder": one rung at a time; the arrow keys go on, and the lines that stay move to
// where they stand in the next rung.

import { escape, significant, withOptions } from '../lib/format.mjs'
import { count, countsOf, gainOf, howCounted, whereFrom } from '../lib/measured.mjs'
import { changesOf, isMostlyKept } from '../lib/pair.mjs'
import { lineHtml, markedHtml, textOf } from '../lib/tokens.mjs'

const MILLISECONDS = 450
const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches

// Each line of the next rung gets the number that the same line had in this one.
function follow(ids, from, to, fresh) {
  const next = new Array(to.lines.length)
  for (const { left, right } of changesOf(from, to)) if (right !== null) next[right] = left === null ? fresh() : ids[left]
  return next
}

// What became of each line, against the rung that this one stands beside: { kind, marks }.
function fatesOf(base, rung) {
  const fates = new Array(rung.lines.length).fill({ kind: 'same', marks: [] })
  if (!base) return fates
  for (const { kind, right, marks } of changesOf(base, rung)) if (right !== null) fates[right] = { kind, marks: marks?.added ?? [] }
  return fates
}

const MARKS = { same: ' ', wrapped: ' ', changed: '~', added: '+' }

function lineOf(tokens, id, { kind, marks }) {
  const text = textOf(tokens)
  const html = marks.length && isMostlyKept(marks, text) ? markedHtml(tokens, marks, 'ins') : lineHtml(tokens)
  return `<div data-id="${id}" data-mark="${MARKS[kind]}" class="${kind}">${html || ' '}</div>`
}

function factsOf(rung, before, common, runs) {
  const row = rung.rows[common]
  const items = [['Time', row?.median_ms ? `${significant(row.median_ms)} ms` : 'not measured']]
  if (row?.percent_of_roof) items.push(['% of peak', row.percent_of_roof.toFixed(1)])
  const gain = before && gainOf(before, rung, common)
  if (gain) items.push([`Against ${before.name}`, `${gain.said} ${gain.elsewhere}`.trim()])
  for (const { title, values } of countsOf(row)) items.push([title, count(values[0])])
  return `<dl>${items.map(([title, value]) => `<div><dt>${title}</dt><dd>${escape(value)}</dd></div>`).join('')}</dl>
<p class="quiet">${row ? `${escape(whereFrom(common, row, runs))}.${withOptions(howCounted([common], runs, row))}` : ''}</p>`
}

class Walk {
  constructor(place, { rungs, runs, common }) {
    const asked = () => rungs.findIndex(({ label }) => label === decodeURIComponent(location.hash.slice(1)))
    Object.assign(this, { place, rungs, runs, common, at: Math.max(0, asked()), number: 0 })
    this.ids = rungs[this.at].lines.map(() => this.number++)
    place.innerHTML = `<h2 id="walk-title">Walk the ladder</h2>
<p class="quiet">Lines that stay move to their new place; new lines have a + before them, changed ones a ~, and their changed words are marked.</p>
<p class="steer"><button type="button" data-step="-1">← before</button> <output aria-live="polite"></output>
<button type="button" data-step="1">next →</button></p>
<p class="idea"></p><div class="facts"></div>
<div class="beside"><pre class="stage" tabindex="0" aria-labelledby="walk-title"></pre><div class="told"></div></div>`
    this.stage = place.querySelector('.stage')
    place.addEventListener('click', (event) => {
      const step = event.target.closest('[data-step]')?.dataset.step
      if (step) this.go(this.at + Number(step))
    })
    document.addEventListener('keydown', (event) => {
      // What scrolls sideways keeps its arrow keys.
      const wanted = event.target.closest('input, select, textarea, dialog, [tabindex="0"]')
      if (wanted || event.altKey || event.ctrlKey || event.metaKey) return
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (!step) return
      event.preventDefault()
      this.go(this.at + step)
    })
    this.show()
    const obey = () => {
      if (asked() < 0) return
      if (asked() !== this.at) this.go(asked())
      place.scrollIntoView({ behavior: 'instant' })
    }
    // The row of that name in the table below is for a page without a script.
    for (const when of ['hashchange', 'load']) window.addEventListener(when, obey)
  }

  // A rung beyond the main road stands beside the last one on it.
  baseOf(i) {
    return this.rungs[i].beyond ? this.rungs.findLast(({ beyond }) => !beyond) : this.rungs[i - 1]
  }

  go(to) {
    if (to < 0 || to >= this.rungs.length) return
    const before = this.positions()
    this.ids = follow(this.ids, this.rungs[this.at], this.rungs[to], () => this.number++)
    this.at = to
    this.show()
    history.replaceState(null, '', `#${this.rungs[to].label}`)
    if (!isStill()) this.animate(before)
  }

  positions() {
    const top = this.stage.getBoundingClientRect().top
    return new Map([...this.stage.children].map((line) => [line.dataset.id, line.getBoundingClientRect().top - top]))
  }

  show() {
    const rung = this.rungs[this.at]
    const base = this.baseOf(this.at)
    const fates = fatesOf(base, rung)
    this.stage.innerHTML = rung.lines.map((tokens, i) => lineOf(tokens, this.ids[i], fates[i])).join('')
    const first = fates.findIndex(({ kind }, i) => ['changed', 'added'].includes(kind) && rung.kernels.some(([from, to]) => from <= i + 1 && i + 1 <= to))
    const line = this.stage.children[first]
    this.stage.scrollTop = line ? line.offsetTop - this.stage.clientHeight / 3 : 0
    this.place.querySelector('.idea').textContent = `${rung.idea}.`
    this.place.querySelector('.told').innerHTML = rung.note
    this.place.querySelector('output').textContent = `${rung.title} (${this.at + 1}\u00a0of\u00a0${this.rungs.length})`
    this.place.querySelector('.facts').innerHTML = factsOf(rung, base, this.common, this.runs)
    for (const button of this.place.querySelectorAll('[data-step]')) {
      const to = this.at + Number(button.dataset.step)
      button.disabled = to < 0 || to >= this.rungs.length
    }
  }

  animate(before) {
    const timing = { duration: MILLISECONDS, easing: 'ease-in-out' }
    const after = this.positions()
    for (const line of this.stage.children) {
      const from = before.get(line.dataset.id)
      if (from === undefined) line.animate([{ opacity: 0 }, { opacity: 1 }], timing)
      else if (from !== after.get(line.dataset.id)) {
        line.animate([{ transform: `translateY(${from - after.get(line.dataset.id)}px)` }, { transform: 'none' }], timing)
      }
    }
  }
}

export function walk() {
  const place = document.getElementById('walk')
  if (!place) return
  if (!window.bookLadder) return place.remove() // what stands below is there without it
  place.dataset.walking = 'yes'
  new Walk(place, window.bookLadder)
}
