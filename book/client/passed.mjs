// The exercises that a reader has passed: what `./exercise progress` knows lies in work/progress.json, which is chosen
// on the page of all exercises, read in the browser and kept there.

import { keep, kept } from './kept.mjs'

// { '03/coalesced': { points, most, passed } }, or an error that says what is wrong.
export function progressFrom(text) {
  let found
  try {
    found = JSON.parse(text)
  } catch {
    throw new Error('this is no JSON')
  }
  const isEntry = ([id, entry]) => /^\d\d\/\w+$/.test(id) && Number.isInteger(entry?.points) && Number.isInteger(entry?.most) && typeof entry?.passed === 'boolean'
  const entries = found && typeof found === 'object' && !Array.isArray(found) ? Object.entries(found) : [['']]
  if (!entries.every(isEntry)) throw new Error('this JSON is no work/progress.json')
  return Object.fromEntries(entries.map(([id, { points, most, passed }]) => [id, { points, most, passed }]))
}

function progress() {
  try {
    return progressFrom(kept('progress') ?? '{}')
  } catch {
    return {}
  }
}

// The exercise that a link leads to.
const idOf = (link) => decodeURI(link.pathname).replace(/^.*\/(\d\d)_\w+\/exercises\/\d\d_(\w+)\/task\.html$/, '$1/$2')

const said = ({ points, most, passed }) => `${passed ? '✓ ' : ''}${points} of ${most}`

function show() {
  const known = progress()
  for (const old of document.querySelectorAll('.done')) old.remove()
  for (const link of document.querySelectorAll('main td a[href$="/task.html"], #contents a[href$="/task.html"], .badges [data-exercise]')) {
    const entry = known[link.dataset.exercise ?? idOf(link)]
    const isShort = link.closest('#contents')
    if (!entry || (isShort && !entry.passed)) continue
    const mark = Object.assign(document.createElement('span'), { className: 'done', textContent: isShort ? ' ✓' : ` ${said(entry)}` })
    if (isShort) mark.append(Object.assign(document.createElement('span'), { className: 'sr', textContent: ' passed' }))
    if (link.matches('li')) link.append(mark)
    else link.after(mark)
  }
  for (const place of document.querySelectorAll('.passed')) {
    const ids = place.dataset.exercises.split(' ')
    const count = ids.filter((id) => known[id]?.passed).length
    place.textContent = count ? `; you have passed ${count} of ${ids.length} exercises` : ''
  }
}

export function showPassed() {
  show()
  const place = document.getElementById('progress')
  if (!place) return
  const [input, status] = [place.querySelector('input'), place.querySelector('[role=status]')]
  input.addEventListener('change', async () => {
    const [file] = input.files
    if (!file) return
    try {
      const found = progressFrom(await file.text())
      keep('progress', JSON.stringify(found))
      const entries = Object.values(found)
      status.textContent = `${entries.filter(({ passed }) => passed).length} passed, ${entries.length} begun`
      show()
    } catch (error) {
      status.textContent = `${file.name}: ${error.message}`
    }
  })
}
