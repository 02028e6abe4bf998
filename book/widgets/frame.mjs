// A widget as HTML: its inputs, and what comes out. At build time with the first values, so that it
// says something without JavaScript; in the browser again at every change.

import { escape } from '../lib/format.mjs'

const optionHtml = (option, value) => `<option${option === value ? ' selected' : ''}>${escape(option)}</option>`

function field(widget, input) {
  const id = `${widget.name}-${input.name}`
  if (input.options) return `<label for="${id}">${escape(input.label)}</label><select id="${id}" name="${input.name}">${input.options.map((o) => optionHtml(o, input.value)).join('')}</select>`
  if (input.slider) {
    const slider = `<input id="${id}" name="${input.name}" type="range" min="${input.min}" max="${input.max}" value="${input.value}">`
    return `<label for="${id}">${escape(input.label)}</label><span class="slider">${slider}<output for="${id}">${input.value}</output></span>`
  }
  const number = `<input id="${id}" name="${input.name}" type="number" min="${input.min}" max="${input.max}" value="${input.value}">`
  // A slider beside the number, which it follows; where the numbers span decades, so does the slider.
  const isWide = input.max - input.min > 4096
  const [low, high, at] = [input.min, input.max, input.value].map((value) => (isWide ? Math.log2(Math.max(1, value)) : value))
  const drag = input.step ? '' : `<input type="range" class="drag" data-of="${input.name}"${isWide ? ' data-decades="yes" step="1"' : ''} min="${low}" max="${high}" value="${Math.round(at)}" aria-label="${escape(input.label)}, slider">`
  const steps = input.step ? `<button type="button" data-by="-1">← before</button><button type="button" data-by="1">next →</button>` : ''
  return `<label for="${id}">${escape(input.label)} <span class="quiet">${input.min} to ${input.max}</span></label><span class="step">${number}${steps}${drag}</span>`
}

export const firstValues = (widget) => Object.fromEntries(widget.inputs.map((input) => [input.name, input.value]))

// What a form holds, as numbers inside their bounds, or as one of the options.
export function valuesFrom(widget, read) {
  const value = (input) => {
    const text = read(input.name)
    if (input.options) return input.options.find((option) => String(option) === text) ?? input.value
    const number = Math.round(Number(text))
    return Number.isFinite(number) ? Math.min(input.max, Math.max(input.min, number)) : input.value
  }
  return Object.fromEntries(widget.inputs.map((input) => [input.name, value(input)]))
}

// `result`: what the widget has computed.
export function outcome(widget, result) {
  const facts = widget.facts(result).map(([name, value, kind]) => `<div${kind ? ` class="${kind}"` : ''}><dt>${escape(name)}</dt><dd>${escape(value)}</dd></div>`)
  return `<dl>${facts.join('')}</dl>${widget.draw?.(result) ?? ''}`
}

export function widgetHtml(widget) {
  return `<div class="widget" data-widget="${widget.name}"><p>${escape(widget.about)}</p>${widget.ask ? `
<p class="ask">${escape(widget.ask)}</p>` : ''}
<form class="needs-js">${widget.inputs.map((input) => `<div>${field(widget, input)}</div>`).join('')}</form>
<noscript><p class="quiet">Shown for ${escape(widget.inputs.map((i) => `${i.label} ${i.value}`).join(', '))}; other values need JavaScript.</p></noscript>
<div class="outcome facts" aria-live="polite">${outcome(widget, widget.compute(firstValues(widget)))}</div></div>`
}
