// The search over terms, sections and code. Its data is loaded when it is first opened, as scripts, since a page from
// a disk may not fetch; the sources, four times as long as all else, come behind the rest.

import MiniSearch from 'minisearch'

const MOST = 30
// Of two that fit as well: what explains goes before what uses.
const WEIGHT = { glossary: 3, lesson: 2, widget: 1.6, ladder: 1.4, exercise: 1, source: 0.4 }
const STOP = new Set('a an and are as at be by do does for from how in is it of on or that the this to what when where which who why with'.split(' '))

const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []

function loaded(root, file) {
  return new Promise((resolve, reject) => {
    window.bookSearch = {
      found(entries) {
        const index = new MiniSearch({
          idField: 'number',
          fields: ['title', 'page', 'text'],
          storeFields: ['kind', 'href', 'title', 'page', 'text'],
          searchOptions: {
            prefix: true,
            fuzzy: (term) => (term.length > 4 ? 0.15 : false),
            boost: { title: 6, page: 2 },
            boostDocument: (number, term, { kind }) => WEIGHT[kind],
          },
          tokenize: words,
          processTerm: (term) => (STOP.has(term) ? null : term),
        })
        index.addAll(entries.map((entry, number) => ({ ...entry, number })))
        resolve(index)
      },
    }
    const script = document.createElement('script')
    script.src = `${root}${file}`
    script.onerror = reject
    document.head.append(script)
  })
}

// All words where some entry has them all, else any.
function hits(indexes, text) {
  const all = (combineWith) => indexes.flatMap((index) => index.search(text, { combineWith })).sort((a, b) => b.score - a.score)
  const both = all('AND')
  return both.length ? both : all('OR')
}

// The words around the first hit.
function excerpt(text, terms) {
  const low = text.toLowerCase()
  const at = Math.min(...terms.map((term) => low.indexOf(term)).filter((place) => place >= 0), text.length)
  const first = at === text.length ? 0 : at
  const from = first > 40 ? text.indexOf(' ', first - 40) + 1 : 0
  const to = text.length > first + 120 ? text.lastIndexOf(' ', first + 120) : text.length
  return `${from ? '… ' : ''}${text.slice(from, to)}${to < text.length ? ' …' : ''}`
}

// The text with what was found in it marked.
function marked(text, terms) {
  const shown = document.createElement('span')
  const pattern = new RegExp(`(${terms.map((term) => term.replace(/[^\p{L}\p{N}_]/gu, '\\$&')).join('|')})`, 'gi')
  text.split(pattern).forEach((part, i) => shown.append(i % 2 ? Object.assign(document.createElement('mark'), { textContent: part }) : part))
  return shown
}

function entryOf(result, root) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = root + result.href
  link.append(Object.assign(document.createElement('strong'), { textContent: result.title }))
  const page = result.page === result.title ? '' : ` ${result.page}`
  link.append(page)
  if (!['lesson', 'glossary'].includes(result.kind)) link.append(` (${result.kind})`)
  item.append(link, marked(excerpt(result.text, result.terms), result.terms))
  return item
}

function makeDialog() {
  const dialog = document.createElement('dialog')
  dialog.id = 'search'
  dialog.setAttribute('aria-label', 'Search')
  dialog.innerHTML = `<form method="dialog"><label>Search terms and code <input type="search" autocomplete="off"></label>
<button>Close</button></form><p role="status"></p><ol></ol>`
  document.body.append(dialog)
  return dialog
}

export function search() {
  const root = document.documentElement.dataset.root
  let dialog
  let index
  let sources
  const asked = {} // each file once, however often the search is opened meanwhile
  const load = (file) => (asked[file] ??= loaded(root, file))
  async function open() {
    dialog ??= makeDialog()
    dialog.showModal()
    const [input, status, list] = ['input', '[role=status]', 'ol'].map((name) => dialog.querySelector(name))
    if (!index) status.textContent = 'Loading …'
    index ??= await load('search-data.js')
    const show = () => {
      const text = input.value.trim()
      const found = text ? hits(sources ? [index, sources] : [index], text) : []
      status.textContent = text ? `${found.length} found${sources ? '' : ', the sources are still to come'}` : ''
      list.replaceChildren(...found.slice(0, MOST).map((result) => entryOf(result, root)))
    }
    input.oninput = input.onfocus = show
    // The down arrow goes into the list, and on in it; Escape closes, where it would only empty the field at first.
    dialog.onkeydown = (event) => {
      if (event.key === 'Escape') dialog.close()
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (!step) return
      const stops = [input, ...list.querySelectorAll('a')]
      event.preventDefault()
      stops[Math.min(stops.length - 1, Math.max(0, stops.indexOf(document.activeElement) + step))].focus()
    }
    list.onclick = () => dialog.close()
    dialog.querySelector('form').onsubmit = (event) => {
      // Enter in the field goes to the first entry.
      if (event.submitter?.matches(':focus')) return
      const best = list.querySelector('a')
      if (best) {
        event.preventDefault()
        dialog.close()
        best.click()
      }
    }
    show()
    input.focus()
    if (sources) return
    await new Promise((soon) => setTimeout(soon, 300))
    sources = await load('search-sources.js')
    // Who has gone into the list keeps it as it is, and finds the sources when back at the words.
    if (!list.contains(document.activeElement)) show()
  }
  document.getElementById('search-open').addEventListener('click', open)
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest('input, select, textarea, dialog, [contenteditable]')
    const isAsked = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey))
    if (!isTyping && isAsked) {
      event.preventDefault()
      open()
    }
  })
}
