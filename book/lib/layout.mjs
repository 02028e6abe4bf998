// The frame of every page: header, contents, the page itself. All links are relative, so the site
// works in any folder of any host, and from a disk.

import { escape, relative } from './format.mjs'

// Before the first paint, so that a dark page does not flash.
const THEME = `try { document.documentElement.dataset.theme = localStorage.theme ?? '' } catch {}
document.documentElement.classList.add('js')`

const item = (page, out) => {
  const here = page.out === out ? ' aria-current="page"' : ''
  return `<li><a href="${relative(out, page.out)}"${here}>${escape(page.title)}</a></li>`
}

const list = (pages, out) => `<ul>${pages.map((page) => item(page, out)).join('')}</ul>`

// `groups`: [{ title, pages, folder }]; the one that holds this page is open.
function contents(groups, out) {
  const isHere = (group) => group.pages.some((page) => page.out === out) || (group.folder && out.includes(group.folder))
  return groups
    .map((group) => `<details${isHere(group) ? ' open' : ''}><summary>${escape(group.title)}</summary>${list(group.pages, out)}</details>`)
    .join('\n')
}

const outline = (sections) => {
  const items = sections.filter((s) => s.level === 2).map((s) => `<li><a href="#${s.id}">${escape(s.title)}</a></li>`)
  return items.length > 1 ? `<nav class="outline" aria-label="On this page"><p>On this page</p><ul>${items.join('')}</ul></nav>` : ''
}

const turn = (page, out, rel, mark) => {
  const arrow = `<span aria-hidden="true">${mark}</span>`
  const words = page && (rel === 'prev' ? `${arrow} ${escape(page.title)}` : `${escape(page.title)} ${arrow}`)
  return page ? `<a rel="${rel}" href="${relative(out, page.out)}">${words}</a>` : ''
}

const turns = ({ before, after, out }) => {
  const links = turn(before, out, 'prev', '←') + turn(after, out, 'next', '→')
  return links && `<p class="turn">${links}</p>`
}

// `page`: { title, out, body, sections?, wide?, before?, after?, scripts? }
export function layout(page, groups) {
  const to = (path) => relative(page.out, path)
  const scripts = (page.scripts ?? []).map((path) => `<script defer src="${to(path)}"></script>`).join('')
  return `<!doctype html>
<html lang="en" data-root="${to('index.html').replace(/index\.html$/, '')}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(page.title)} · CUDA, step by step</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${to('book.css')}">
<script>${THEME}</script>
${scripts}<script defer src="${to('book.js')}"></script>
</head>
<body${page.wide ? ' class="wide-page"' : ''}>
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
