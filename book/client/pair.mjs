// The page of any two rungs: ?a=naive&b=tiled in its address says which.

import { pairHtml } from '../lib/pair.mjs'
import { escape } from '../lib/format.mjs'
import { kept, keep } from './kept.mjs'

// What a reader has chosen of the switches above the code holds for the pages that follow.
function keepSwitches() {
  for (const name of ['kernels', 'unified']) {
    const input = document.getElementById(name)
    if (!input) continue
    const isAsked = name === 'kernels' && new URLSearchParams(location.search).has('show')
    const before = kept(name)
    // "Kernels only" is not forced where the change is outside of the kernels.
    if (before !== undefined && !isAsked) input.checked = before === 'yes' && (name === 'unified' || input.checked)
    input.addEventListener('change', () => keep(name, input.checked ? 'yes' : 'no'))
  }
}

const options = (rungs, chosen) =>
  rungs.map((rung) => `<option value="${rung.label}"${rung.label === chosen.label ? ' selected' : ''}>${escape(rung.title)}</option>`).join('')

export function showPair() {
  const place = document.getElementById('pair')
  if (!place) return keepSwitches()
  const { rungs, runs, links, common } = window.bookLadder
  const asked = new URLSearchParams(location.search)
  const find = (name, otherwise) => rungs.find((rung) => rung.label === asked.get(name)) ?? otherwise
  const [a, b] = [find('a', rungs[0]), find('b', rungs[1] ?? rungs[0])]
  place.innerHTML = `<form class="choose"><label>Left <select name="a">${options(rungs, a)}</select></label>
<label>Right <select name="b">${options(rungs, b)}</select></label></form>
${pairHtml({ a, b, runs, linkTo: (path) => links[path], note: b.note, common })}`
  const kernels = document.getElementById('kernels')
  if (asked.has('show')) kernels.checked = asked.get('show') === 'kernels'
  keepSwitches()
  const form = place.querySelector('form')
  const go = (more) => {
    const query = new URLSearchParams({ a: form.a.value, b: form.b.value, ...more })
    history.replaceState(null, '', `?${query}`)
  }
  kernels.addEventListener('change', () => go({ show: kernels.checked ? 'kernels' : 'all' }))
  form.onchange = (event) => {
    go()
    showPair()
    place.querySelector(`select[name=${event.target.name}]`).focus()
  }
}
