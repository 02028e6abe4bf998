// Four answers to an exercise: the reader picks one, and sees what the judge says of it. What was picked is kept.

import { keep, kept } from './kept.mjs'

const UNKNOWN = '?'

// Hides what the table says of each answer; returns what shows it again.
function hidden(form) {
  const letters = [...form.querySelectorAll('.all-four thead th')].map((cell) => cell.textContent)
  const rows = [...form.querySelectorAll('.all-four tbody tr')]
  const said = new Map(letters.map((letter, i) => [letter, rows.map((row) => row.cells[i + 1]).map((cell) => ({ cell, text: cell.textContent, kind: cell.className }))]))
  const show = (letter, isKnown) => {
    for (const { cell, text, kind } of said.get(letter)) Object.assign(cell, isKnown ? { textContent: text, className: kind } : { textContent: UNKNOWN, className: '' })
  }
  for (const letter of letters) show(letter, false)
  return (letter) => show(letter, true)
}

function playOne(form) {
  const key = `pick ${form.dataset.exercise}`
  const status = form.querySelector('[role=status]')
  const show = hidden(form)
  const picked = new Set()
  const judge = (letter) => {
    picked.add(letter)
    show(letter)
    const card = form.querySelector(`[data-letter="${letter}"]`)
    const judged = card.querySelector('.judged')
    card.classList.add('known')
    judged.open = true
    form.querySelector('.all-four').open = true
    const isFound = judged.querySelector('.verdict').classList.contains('good')
    const says = `${letter}: ${judged.querySelector('.verdict strong').textContent}`
    status.textContent = isFound ? `${says}, found as number ${picked.size}` : `${says}. Try another.`
  }
  for (const letter of (kept(key) ?? '').split('')) if (form.querySelector(`[data-letter="${letter}"]`)) judge(letter)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const letter = form.elements.pick.value
    if (!letter) return form.querySelector('input').focus()
    judge(letter)
    keep(key, [...picked].join(''))
  })
}

export function pickAnswers() {
  document.querySelectorAll('.pick').forEach(playOne)
}
