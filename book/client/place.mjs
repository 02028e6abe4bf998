// Where the reader is: the section in view, marked under "On this page"; the sections that have been read, and the
// page to go on with, kept for the front page.

import { keep, kept } from './kept.mjs'

const MOST_KEPT = 4000 // sections

function memory() {
  try {
    return JSON.parse(kept('read') ?? '{}')
  } catch {
    return {}
  }
}

// A page's path as from the top of the site.
const here = () => {
  const root = new URL(document.documentElement.dataset.root || './', location.href).pathname
  return decodeURI(location.pathname.slice(root.length)) || 'index.html'
}

export function markPlace() {
  const links = [...document.querySelectorAll('.outline a')]
  if (!links.length) return
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))))
  const page = here()
  const title = document.title.split(' · ')[0]
  const read = new Set(memory()[page] ?? [])
  const outline = document.querySelector('.outline')
  let current = -1
  const mark = () => {
    const line = innerHeight / 3
    const isAtEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2
    const at = isAtEnd ? headings.length - 1 : headings.findLastIndex((heading) => heading.getBoundingClientRect().top < line)
    if (at === current) return
    current = at
    for (const [i, link] of links.entries()) {
      link.toggleAttribute('aria-current', false)
      if (i === at) link.setAttribute('aria-current', 'location')
    }
    for (const item of outline.querySelectorAll(':scope > ul > li')) item.classList.toggle('open', Boolean(item.querySelector('[aria-current]')))
    if (at < 0) return
    const nav = outline.parentElement
    if (nav.scrollHeight > nav.clientHeight) nav.scrollTop = links[at].getBoundingClientRect().top - outline.getBoundingClientRect().top - nav.clientHeight / 3
    if (!/^\d\d_/.test(page)) return
    read.add(headings[at].id)
    keep('read', JSON.stringify({ ...memory(), [page]: [...read].slice(0, MOST_KEPT) }))
    keep('last', JSON.stringify({ page, id: headings[at].id, title }))
  }
  outline.classList.add('follows')
  let isAsked = false
  addEventListener('scroll', () => {
    if (isAsked) return
    isAsked = true
    requestAnimationFrame(() => {
      isAsked = false
      mark()
    })
  }, { passive: true })
  mark()
}

// On the front page: how much of each chapter was read, and a link to the place where the reader was.
export function showProgress() {
  const places = document.querySelectorAll('.read')
  if (!places.length) return
  const read = memory()
  for (const place of places) {
    const count = place.dataset.pages.split(' ').reduce((sum, page) => sum + (read[page]?.length ?? 0), 0)
    if (count) place.textContent = `; you have seen ${Math.min(count, place.dataset.sections)} of ${place.dataset.sections} sections`
  }
  try {
    const { page, id, title } = JSON.parse(kept('last'))
    const link = document.querySelector('.go-on')
    link.href = `${page}#${id}`
    link.textContent = `Go on: ${title}`
    link.hidden = false
  } catch {
    // nothing was read yet
  }
}
