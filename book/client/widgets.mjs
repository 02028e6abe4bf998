// Runs the widgets of a page.

import { load } from '../kernels/run.mjs'
import { WIDGETS } from '../widgets/all.mjs'
import { outcome, valuesFrom } from '../widgets/frame.mjs'
import { KERNELS, STRIDE, racingWith } from '../widgets/kernels.mjs'

// The kernels, compiled, lie in a script of their own, which comes when the first one is to run.
let kernels = null
function kernelsLoaded() {
  kernels ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = `${document.documentElement.dataset.root}kernels.js`
    script.onload = () => resolve(load(Uint8Array.from(atob(window.bookKernels), (letter) => letter.charCodeAt(0))))
    script.onerror = reject
    document.head.append(script)
  })
  return kernels
}

// The racing lines of a kernel that is shown: `rivals` by line.
function mark(panel, rivals) {
  for (const line of panel.querySelectorAll('[data-line]')) {
    const others = rivals.get(Number(line.dataset.line))
    line.classList.toggle('racing', Boolean(others))
    if (others) line.dataset.with = ` races with ${others.join(', ')}`
  }
}

export function runWidgets() {
  for (const place of document.querySelectorAll('[data-widget]')) {
    const widget = [...WIDGETS, ...KERNELS, STRIDE].find(({ name }) => name === place.dataset.widget)
    const form = place.querySelector('form')
    // Of the kernels below the widget the chosen one is shown.
    const panels = place.parentElement.querySelectorAll('[data-kernel]')
    const choose = () =>
      panels.forEach((panel) => {
        panel.hidden = panel.dataset.kernel !== form.elements.kernel.value
        panel.classList.toggle('left-out', form.elements.barriers?.value === 'left out')
      })
    const show = async () => {
      for (const output of form.querySelectorAll('output')) output.value = output.previousElementSibling.value
      if (!WIDGETS.includes(widget)) await kernelsLoaded()
      choose()
      const result = widget.compute(valuesFrom(widget, (name) => form.elements[name].value))
      place.querySelector('.outcome').innerHTML = outcome(widget, result)
      for (const panel of panels) mark(panel, racingWith(result.pairs, panel.dataset.file))
    }
    const drags = [...form.querySelectorAll('.drag')]
    form.addEventListener('input', (event) => {
      const { of, decades } = event.target.dataset
      const value = Number(event.target.value)
      if (of) form.elements[of].value = decades ? Math.min(form.elements[of].max, 2 ** value) : value
      else {
        const drag = drags.find((one) => one.dataset.of === event.target.name)
        if (drag) drag.value = drag.dataset.decades ? Math.round(Math.log2(Math.max(1, value))) : value
      }
      show()
    })
    choose()
    // ?kernel=tiled chooses one; its address is what a lesson links to.
    const asked = new URLSearchParams(location.search).get('kernel')
    if (widget.inputs.some(({ name, options }) => name === 'kernel' && options?.includes(asked))) {
      form.elements.kernel.value = asked
      show()
    }
    form.addEventListener('submit', (event) => event.preventDefault())
    form.addEventListener('click', (event) => {
      const by = event.target.dataset.by
      if (!by) return
      const { step } = form.elements
      step.value = Math.min(step.max, Math.max(step.min, Number(step.value) + Number(by)))
      show()
    })
  }
}
