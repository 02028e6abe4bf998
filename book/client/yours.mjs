// The page where a reader drops a JSON file; it is read here and goes nowhere.

import { bars } from '../lib/figures.mjs'
import { NOTHING, escape, significant, words } from '../lib/format.mjs'
import { sizesOf } from '../lib/measured.mjs'
import { beside, runsOf } from '../lib/yours.mjs'

const cells = ({ row, ours }) => [
  significant(row.median_ms),
  ours ? significant(ours.median_ms) : NOTHING,
  ours ? significant(ours.median_ms / row.median_ms) : NOTHING,
  row.percent_of_roof?.toFixed(1) ?? NOTHING,
  ours?.percent_of_roof?.toFixed(1) ?? NOTHING,
]

// The lines of each problem at each of its sizes.
function grouped(lines) {
  const groups = new Map()
  for (const line of lines) {
    const key = line.row.problem + sizesOf(line.row)
    groups.set(key, [...(groups.get(key) ?? []), line])
  }
  return groups
}

function problemHtml(lines) {
  const { row } = lines[0]
  const title = `${words(row.problem)}, ${sizesOf(row)}`
  const body = lines.map((line) => `<tr><th scope="row">${escape(line.row.name)}</th>${cells(line).map((c) => `<td>${c}</td>`).join('')}</tr>`)
  const both = lines.filter(({ row, ours }) => row.percent_of_roof && ours?.percent_of_roof)
  const shares = both.flatMap(({ row, ours }) => [[`${row.name}, yours`, row, ''], [`${row.name}, ours`, ours, 'peer']])
  const drawn = shares.map(([name, r, kind]) => ({ name, kind, value: Math.min(100, r.percent_of_roof), shown: `${r.percent_of_roof.toFixed(1)} %` }))
  return `<h2>${escape(title)}</h2><div class="wide" tabindex="0" role="region" aria-label="${escape(title)}"><table class="numbers">
<thead><tr><th scope="col">Variant</th>${['Yours, ms', 'Ours, ms', 'Yours is faster by', 'Your % of peak', 'Our % of peak'].map((t) => `<th scope="col">${t}</th>`).join('')}</tr></thead>
<tbody>${body.join('')}</tbody></table></div>${drawn.length ? bars({ title: `Share of what each machine allows: ${title}`, rows: drawn, most: 100, unit: '% of peak' }) : ''}`
}

function shown(text) {
  const { lines, alone } = beside(runsOf(text), window.bookResults)
  const groups = grouped(lines)
  const none = alone ? `<p>${alone} of ${lines.length} rows have no row of ours with these sizes beside them; the sizes of ours are those of <code>results/</code>.</p>` : ''
  return none + [...groups.values()].map(problemHtml).join('')
}

export function yoursBesideOurs() {
  const place = document.getElementById('yours')
  if (!place) return
  const [input, output] = [place.querySelector('input'), place.querySelector('.outcome')]
  const show = async (file) => {
    try {
      output.innerHTML = shown(await file.text())
    } catch (error) {
      output.innerHTML = `<p class="alert" role="alert">${escape(file.name)}: ${escape(error.message)}</p>`
    }
  }
  input.addEventListener('change', () => input.files[0] && show(input.files[0]))
  place.addEventListener('dragover', (event) => event.preventDefault())
  place.addEventListener('drop', (event) => {
    event.preventDefault()
    if (event.dataTransfer.files[0]) show(event.dataTransfer.files[0])
  })
}
