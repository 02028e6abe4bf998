// The page where a reader's numbers stand beside those of results/.

const KEPT = ['problem', 'name', 'sizes', 'median_ms', 'percent_of_roof']

export const YOURS = { out: 'yours.html', title: 'Yours beside ours' }

function ours(model) {
  const rows = model.problems.flatMap(({ rungs }) => rungs.flatMap((rung) => Object.values(rung.rows)))
  const others = Object.values(model.runs).flatMap((run) => run.others)
  const kept = (row) => Object.fromEntries(KEPT.map((key) => [key, row[key]]))
  return [...rows, ...others].filter((row) => row.median_ms).map(kept)
}

export function yoursPage(book) {
  const body = `<h1>${YOURS.title}</h1>
<p>A program writes what it measured with <code>--json</code>, <code>make bench</code> a file under <code>results/</code>. Drop one here: each of your
rows stands beside ours at the same sizes. The file is read by this page alone and goes nowhere.</p>
<pre tabindex="0"><code>build/01_vector_add/ladders --n 268435456 --json mine.json</code></pre>
<div id="yours"><p class="needs-js drop"><label>A JSON file, chosen or dropped here <input type="file" accept=".json,application/json"></label></p>
<noscript><p>Reading your file needs JavaScript.</p></noscript>
<div class="outcome" aria-live="polite"></div></div>`
  book.add({ ...YOURS, body, scripts: ['results-data.js'] })
  book.files.set('results-data.js', `window.bookResults = ${JSON.stringify(ours(book.model))}`)
}
