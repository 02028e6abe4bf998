// The search over terms, sections and code. Its data is loaded when it is first opened, as a
// script, since a page from a disk may not fetch.

import MiniSearch from 'minisearch'

const MOST = 30

function loaded(root) {
  return new Promise((resolve, reject) => {
    window.bookSearch = (entries) => {
      const index = new MiniSearch({
        idField: 'number',
        fields: ['title', 'page', 'text'],
        storeFields: ['href', 'title', 'page', 'text'],
        searchOptions: { prefix: true, fuzzy: (term) => (term.length > 4 ? 0.15 : false), combineWith: 'AND', boost: { title: 6, page: 2 } },
        tokenize: (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [],
      })
      index.addAll(entries.map((entry, number) => ({ ...entry, number })))
      resolve(index)
    }
    const script = document.createElement('script')
    script.src = `${root}search-data.js`
    script.onerror = reject
    document.head.append(script)
  })
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

function entryOf(result, root) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = root + result.href
  link.append(Object.assign(document.createElement('strong'), { textContent: result.title }))
  link.append(` ${result.page === result.title ? '' : result.page}`)
  const text = Object.assign(document.createElement('span'), { textContent: excerpt(result.text, result.terms) })
  item.append(link, text)
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
  async function open() {
    dialog ??= makeDialog()
    dialog.showModal()
    const [input, status, list] = ['input', '[role=status]', 'ol'].map((name) => dialog.querySelector(name))
    if (!index) status.textContent = 'Loading …'
    index ??= await loaded(root)
    const show = () => {
      const found = input.value.trim() ? index.search(input.value) : []
      status.textContent = input.value.trim() ? `${found.length} found` : ''
      list.replaceChildren(...found.slice(0, MOST).map((result) => entryOf(result, root)))
    }
    input.oninput = show
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
  }
  document.getElementById('search-open').addEventListener('click', open)
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest('input, select, textarea, dialog')
    const isAsked = event.key === '/' || (event.key === 'k' && (event.ctrlKey || event.metaKey))
    if (!isTyping && isAsked) {
      event.preventDefault()
      open()
    }
  })
}
