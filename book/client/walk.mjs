// "Walk the ladder": one rung at a time; the arrow keys go on, and the lines that stay move to
// where they stand in the next rung.

import { rows } from '../lib/diff.mjs'
import { escape, significant } from '../lib/format.mjs'
import { change, count, countsOf, howCounted, whereFrom } from '../lib/measured.mjs'
import { lineHtml } from '../lib/tokens.mjs'

const MILLISECONDS = 450
const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches

const textOf = (tokens) => tokens.map(([text]) => text).join('')
const asVersion = (rung) => ({ name: rung.name, own: rung.own, lines: rung.lines.map(textOf) })

// Each line of the next rung gets the number that the same line had in this one.
function follow(ids, from, to, fresh) {
  const next = new Array(to.lines.length)
  for (const { kind, left, right } of rows(asVersion(from), asVersion(to))) {
    if (right !== null) next[right] = kind === 'same' || kind === 'changed' ? ids[left] : fresh()
  }
  return next
}

function factsOf(rung, before, common, runs) {
  const row = rung.rows[common]
  const items = [['Time', row?.median_ms ? `${significant(row.median_ms)} ms` : 'not measured']]
  if (row?.percent_of_roof) items.push(['% of peak', row.percent_of_roof.toFixed(1)])
  const step = change(before?.rows[common]?.median_ms, row?.median_ms)
  if (before) items.push(['Against the rung before', step])
  for (const { title, values } of countsOf(row)) items.push([title, count(values[0])])
  return `<dl>${items.map(([title, value]) => `<div><dt>${title}</dt><dd>${escape(value)}</dd></div>`).join('')}</dl>
<p class="quiet">${escape(row ? `${whereFrom(common, row, runs)}.${howCounted([common], runs, row)}` : '')}</p>`
}

class Walk {
  constructor(place, { rungs, runs, common }) {
    Object.assign(this, { place, rungs, runs, common, at: 0, number: 0 })
    this.ids = rungs[0].lines.map(() => this.number++)
    place.innerHTML = `<h2 id="walk-title">Walk the ladder</h2>
<p class="quiet">Lines that stay move to their new place; new lines have a + before them.</p>
<p class="steer"><button type="button" data-step="-1">← before</button> <output aria-live="polite"></output>
<button type="button" data-step="1">next →</button></p>
<div class="facts"></div><pre class="stage" tabindex="0" aria-labelledby="walk-title"></pre>`
    this.stage = place.querySelector('.stage')
    place.addEventListener('click', (event) => {
      const step = event.target.closest('[data-step]')?.dataset.step
      if (step) this.go(this.at + Number(step))
    })
    document.addEventListener('keydown', (event) => {
      if (event.target.closest('input, select, textarea, dialog') || event.altKey || event.ctrlKey || event.metaKey) return
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (!step) return
      event.preventDefault()
      this.go(this.at + step)
    })
    this.show(new Set())
  }

  go(to) {
    if (to < 0 || to >= this.rungs.length) return
    const before = this.positions()
    const known = new Set(this.ids)
    this.ids = follow(this.ids, this.rungs[this.at], this.rungs[to], () => this.number++)
    this.at = to
    this.show(known)
    if (!isStill()) this.animate(before)
  }

  positions() {
    const top = this.stage.getBoundingClientRect().top
    return new Map([...this.stage.children].map((line) => [line.dataset.id, line.getBoundingClientRect().top - top]))
  }

  show(known) {
    const rung = this.rungs[this.at]
    const isNew = (id) => known.size > 0 && !known.has(id)
    this.stage.innerHTML = rung.lines
      .map((tokens, i) => `<div data-id="${this.ids[i]}"${isNew(this.ids[i]) ? ' class="new"' : ''}>${lineHtml(tokens) || ' '}</div>`)
      .join('')
    this.place.querySelector('output').textContent = `${rung.title} (${this.at + 1} of ${this.rungs.length})`
    this.place.querySelector('.facts').innerHTML = factsOf(rung, this.rungs[this.at - 1], this.common, this.runs)
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
  if (!place || !window.bookLadder) return
  place.dataset.walking = 'yes'
  new Walk(place, window.bookLadder)
}
