// The frame of every page: header, contents, the page itself. All links are relative, so the site
// works in any folder of any host, and from a disk.

import { escape, relative, sentence } from './format.mjs'

// Before the first paint, so that a dark page does not flash.
const THEME = `try { document.documentElement.dataset.theme = localStorage.theme ?? '' } catch {}
document.documentElement.classList.add('js')`

const ABOUT = 'CUDA in small steps: every kernel beside the one before it, checked, counted and measured.'
// Four bars, each higher than the one before.
const ICON = encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#1f7a6f" d="M1 12h3v3H1zM5 9h3v6H5zM9 5h3v10H9zM13 1h3v14h-3z"/></svg>')

// A page's title below that of its chapter: '04 Matrix multiplication: odd shapes' -> 'Odd shapes'.
export function shortTitle(title, chapter) {
  if (title === chapter) return 'The lesson'
  const [number] = chapter.match(/^\d\d /) ?? ['']
  const rest = title.startsWith(chapter) ? title.slice(chapter.length).replace(/^[:,] /, '') : title.startsWith(number) ? title.slice(number.length) : title
  return sentence(rest)
}

const item = (page, out, chapter) => {
  const here = page.out === out ? ' aria-current="page"' : ''
  return `<li><a href="${relative(out, page.out)}"${here}>${escape(shortTitle(page.title, chapter))}</a></li>`
}

const list = (pages, out, chapter = '') => `<ul>${pages.map((page) => item(page, out, chapter)).join('')}</ul>`

// `groups`: [{ title, road, more, exercises, ladders, folder }], lists of pages; the one that holds this page is open.
export const pagesOf = ({ road, more = [], exercises = [], ladders = [] }) => [...road, ...more, ...exercises, ...ladders]

function exercisesOf({ exercises = [] }, out) {
  if (!exercises.length) return ''
  const isHere = exercises.some((page) => page.out === out)
  return `<details${isHere ? ' open' : ''}><summary>${exercises.length} exercises</summary>${list(exercises, out)}</details>`
}

function contents(groups, out) {
  const isHere = (group) => pagesOf(group).some((page) => page.out === out) || (group.folder && out.includes(group.folder))
  const inside = (group) => list([...group.road, ...(group.more ?? []), ...(group.ladders ?? [])], out, group.title) + exercisesOf(group, out)
  return groups
    .map((group) => `<details${isHere(group) ? ' open' : ''}><summary>${escape(group.title)}</summary>${inside(group)}</details>`)
    .join('\n')
}

// The headings of the shallowest level below the title, each with those one level down.
function outline(sections) {
  const below = sections.filter(({ level }) => level > 1)
  const top = Math.min(...below.map(({ level }) => level))
  const link = (s) => `<a href="#${s.id}">${escape(s.title)}</a>`
  const items = []
  for (const s of below) {
    if (s.level === top) items.push({ link: link(s), inner: [] })
    else if (s.level === top + 1) items.at(-1)?.inner.push(`<li>${link(s)}</li>`)
  }
  if (items.length < 2) return ''
  const shown = items.map(({ link, inner }) => `<li>${link}${inner.length ? `<ul>${inner.join('')}</ul>` : ''}</li>`)
  return `<nav class="outline" aria-label="On this page"><p>On this page</p><ul>${shown.join('')}</ul></nav>`
}

// Where a page stands: the pages above it, and in words what it is among them.
function trailHtml({ trail = [], place, out }) {
  const links = trail.map((page) => `<a href="${relative(out, page.out)}">${escape(page.title)}</a>`)
  const all = [...links, ...(place ? [escape(place)] : [])]
  return all.length ? `<nav class="trail" aria-label="Where this page stands">${all.join(' <span aria-hidden="true">›</span> ')}</nav>` : ''
}

const turn = (page, out, rel, mark) => {
  const arrow = `<span aria-hidden="true">${mark}</span>`
  // The arrow stays on the line of the word beside it.
  const words = page && (rel === 'prev' ? `${arrow}&nbsp;${escape(page.title)}` : `${escape(page.title)}&nbsp;${arrow}`)
  return page ? `<a rel="${rel}" href="${relative(out, page.out)}">${words}</a>` : ''
}

// The page before and after; above them the side roads of a chapter, and the chapter that comes next.
function turns({ before, after, beside, chapterAfter, out }) {
  const links = turn(before, out, 'prev', '←') + turn(after, out, 'next', '→')
  const to = ({ out: target, title }) => `<a href="${relative(out, target)}">${escape(title)}</a>`
  const stay = beside?.length ? `<p class="stay"><strong>Stay in this chapter:</strong> ${beside.map(to).join(' · ')}</p>` : ''
  const skip = chapterAfter && chapterAfter.out !== after?.out ? `<p class="stay"><strong>Next chapter:</strong> ${to(chapterAfter)}</p>` : ''
  return stay + skip + (links && `<p class="turn">${links}</p>`)
}

// What a page is about, in its own words: the beginning of its first paragraph of some length.
const [SHORTEST, LONGEST] = [40, 200]
function aboutOf(body) {
  for (const [, html] of body.matchAll(/<p>([^]*?)<\/p>/g)) {
    if (html.includes('katex')) continue
    const text = html.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ').trim()
    if (text.length < SHORTEST) continue
    return text.length <= LONGEST ? text : `${text.slice(0, LONGEST).replace(/\S*$/, '')}…`
  }
  return escape(ABOUT)
}

// `page`: { title, out, body, sections?, wide?, kind?, trail?, place?, before?, after?, beside?, chapterAfter?, scripts?, about? }
export function layout(page, groups) {
  const to = (path) => relative(page.out, path)
  const scripts = (page.scripts ?? []).map((path) => `<script defer src="${to(path)}"></script>`).join('')
  return `<!doctype html>
<html lang="en" data-root="${to('index.html').replace(/index\.html$/, '')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(page.title)} · CUDA, step by step</title>
<meta name="description" content="${page.about ? escape(page.about) : aboutOf(page.body).replaceAll('"', '&quot;')}">
<link rel="icon" href="data:image/svg+xml,${ICON}">
<link rel="stylesheet" href="${to('book.css')}">
<script>${THEME}</script>
${scripts}<script defer src="${to('book.js')}"></script>
</head>
<body${page.wide ? ` class="wide-page${page.kind ? ` ${page.kind}` : ''}"` : ''}>
<a class="skip" href="#main">Skip to the text</a>
<a class="skip" href="#contents">Skip to the contents</a>
<header>
<a class="home" href="${to('index.html')}">CUDA, step by step</a>
<a class="to-contents" href="#contents">Contents</a>
<button type="button" id="search-open" class="needs-js">Search <kbd>/</kbd></button>
<button type="button" id="theme" class="needs-js" aria-label="Dark or light">◐</button>
</header>
<div class="frame">
<main id="main" tabindex="-1">
${trailHtml(page)}
${page.body}
${turns(page)}
</main>
<nav id="contents" aria-label="Contents" tabindex="-1">
${page.sections ? outline(page.sections) : ''}
${contents(groups, page.out)}
</nav>
</div>
</body>
</html>
`
}
