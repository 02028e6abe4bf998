// The page of any two rungs: ?a=naive&b=tiled in its address says which.

import { pairHtml } from '../lib/pair.mjs'
import { escape } from '../lib/format.mjs'

const options = (rungs, chosen) =>
  rungs.map((rung) => `<option value="${rung.label}"${rung.label === chosen.label ? ' selected' : ''}>${escape(rung.title)}</option>`).join('')

export function showPair() {
  const place = document.getElementById('pair')
  if (!place) return
  const { rungs, runs, links } = window.bookLadder
  const asked = new URLSearchParams(location.search)
  const find = (name, otherwise) => rungs.find((rung) => rung.label === asked.get(name)) ?? otherwise
  const [a, b] = [find('a', rungs[0]), find('b', rungs[1] ?? rungs[0])]
  const isKernels = asked.get('show') === 'kernels'
  place.innerHTML = `<form class="choose"><label>Left <select name="a">${options(rungs, a)}</select></label>
<label>Right <select name="b">${options(rungs, b)}</select></label></form>
${pairHtml({ a, b, runs, linkTo: (path) => links[path], note: b.note })}`
  const kernels = document.getElementById('kernels')
  kernels.checked = isKernels
  const form = place.querySelector('form')
  const go = () => {
    const query = new URLSearchParams({ a: form.a.value, b: form.b.value, ...(kernels.checked ? { show: 'kernels' } : {}) })
    history.replaceState(null, '', `?${query}`)
  }
  kernels.onchange = go
  form.onchange = (event) => {
    go()
    showPair()
    place.querySelector(`select[name=${event.target.name}]`).focus()
  }
}
