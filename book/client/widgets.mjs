// Runs the widgets of a page.

import { WIDGETS } from '../widgets/all.mjs'
import { outcome, valuesFrom } from '../widgets/frame.mjs'

export function runWidgets() {
  for (const place of document.querySelectorAll('[data-widget]')) {
    const widget = WIDGETS.find(({ name }) => name === place.dataset.widget)
    const form = place.querySelector('form')
    const show = () => {
      const values = valuesFrom(widget, (name) => form.elements[name].value)
      place.querySelector('.outcome').innerHTML = outcome(widget, values)
    }
    form.addEventListener('input', show)
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
