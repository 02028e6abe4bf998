// A prediction: what the reader says is kept and shown above what was measured.

import { keep, kept } from './kept.mjs'

export function predict() {
  for (const form of document.querySelectorAll('.predict')) {
    const answer = form.nextElementSibling
    const { name } = form.querySelector('input')
    const key = `${name} ${document.title}`
    const show = (said) => {
      const line = answer.querySelector('.said')
      line.textContent = `You said: ${said}.`
      line.hidden = false
    }
    const before = kept(key)
    if (before) {
      form.elements[name].value = before
      show(before)
    }
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      const said = form.elements[name].value.trim()
      if (!said) return form.querySelector('input').focus()
      keep(key, said)
      show(said)
      answer.open = true
      answer.querySelector('summary').focus()
    })
  }
}
