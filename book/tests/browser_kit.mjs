// What the browser tests share: the built book behind a server, Chromium, and what a page must keep.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { serve } from '../serve.mjs'

export const OUT = path.resolve(process.env.BOOK_OUT ?? path.join(import.meta.dirname, '../../build/book'))
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
// As setup.sh looks for it; where there is none, setup.sh has had playwright bring one.
const FOLDERS = process.env.PATH.split(path.delimiter).filter((folder) => !folder.includes('/snap/'))
const CHROMIUM = ['chromium', 'google-chrome'].flatMap((name) => FOLDERS.map((folder) => path.join(folder, name))).find((file) => fs.existsSync(file))

// A subfolder, as a project's page on a shared host has: every link must be relative.
export const { server, url: BASE } = await serve(OUT, 0, '/some/folder/')
export const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'] })

export async function close() {
  await browser.close()
  server.close()
}

export const WIDE = { width: 1380, height: 900 }
export const PHONE = { width: 390, height: 844 }
const WIDTHS = [1400, 1000, PHONE.width]

// A tab that remembers what went wrong, a request to elsewhere among it. The browser resolves no
// name, so that none gets out.
export async function openTab(options = {}) {
  const context = await browser.newContext({ viewport: WIDE, colorScheme: 'light', reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const wrong = []
  page.on('request', (request) => {
    if (![BASE, 'data:', 'file:'].some((start) => request.url().startsWith(start))) wrong.push(`request to ${request.url()} from ${request.frame().url()}`)
  })
  page.on('console', (message) => message.type() === 'error' && wrong.push(`${message.text()} at ${message.location().url}`))
  page.on('pageerror', (error) => wrong.push(String(error)))
  return { page, wrong, close: () => context.close() }
}

// By the Tab key alone to the element that says `wanted`, or has that name or label.
export async function tabTo(page, wanted) {
  for (let i = 0; i < 60; ++i) {
    await page.keyboard.press('Tab')
    if (await page.evaluate((text) => [document.activeElement.textContent.trim(), document.activeElement.name, document.activeElement.ariaLabel].includes(text), wanted)) return
  }
  assert.fail(`Tab never comes to "${wanted}" on ${page.url()}`)
}

// Takes the code side by side out of a page, and returns a row of it for each kind of word there
// is: its colour, on its ground, on its side.
function takeLines(document) {
  const lines = {}
  for (const row of document.querySelectorAll('.diff tr')) {
    for (const cell of row.querySelectorAll('td.line')) {
      for (const word of [cell, ...cell.querySelectorAll('span, ins, del')]) {
        const mark = word.closest('ins, del')
        const key = [row.className, cell.cellIndex, mark?.tagName, word === cell ? '' : word.className].join()
        if (key in lines) continue
        const copy = row.cloneNode(true)
        for (const line of copy.querySelectorAll('td.line')) line.replaceChildren('x')
        const shown = word === cell ? 'x' : (mark ?? word).cloneNode(false)
        if (word !== cell) (mark && mark !== word ? shown.appendChild(word.cloneNode(false)) : shown).textContent = 'word'
        copy.cells[cell.cellIndex].replaceChildren(shown)
        lines[key] = copy.outerHTML
      }
    }
    row.remove()
  }
  return lines
}

// Leaves one of all neighbours that look alike to axe (lines of code, rows, entries of a list), takes
// the pieces of the text out of the page, and returns them and how what is left looks, without its
// words. The page cannot be used afterwards.
function takePieces(document, from) {
  const VALUES = ['class', 'role', 'style', 'type']
  // An editor that lives would miss what is taken from it: a copy is left in its place.
  for (const editor of document.querySelectorAll('.cm-editor')) editor.replaceWith(editor.cloneNode(true))
  // A note is text of a lesson, which is checked on its own page.
  for (const text of document.querySelectorAll('.note > :not(:last-child)')) text.remove()
  const words = new Set()
  for (const word of document.querySelectorAll('pre span, pre a, :is(p, li, td, th) > :is(code, strong, em, a, span)')) {
    const parent = word.parentElement
    const key = [word.closest('div')?.className, parent.tagName, parent.className, word.tagName, word.className].join()
    if (words.has(key)) word.remove()
    words.add(key)
  }
  const look = (element) => {
    const seen = new Set()
    for (const child of [...element.children]) {
      const its = look(child)
      if (seen.has(its)) child.remove()
      seen.add(its)
    }
    const attributes = [...element.attributes].map(({ name, value }) => (VALUES.includes(name) ? `${name}=${value}` : `${name}${value ? '=…' : ''}`))
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim())
    return `<${element.tagName} ${attributes.join(' ')}>${hasText ? '…' : ''}${[...seen].join('')}`
  }
  const pieces = [...document.querySelector('main').children].map((piece) => {
    const key = `${document.body.className} ${look(piece)}`
    piece.remove()
    piece.dataset.from = from
    // A figure lies beside its own page: it could not be loaded where the piece is shown.
    for (const image of piece.querySelectorAll('img')) image.removeAttribute('src')
    return { key, kind: document.body.className, html: piece.outerHTML }
  })
  return { pieces, frame: look(document.body) }
}

const STANDARD = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
// What a theme changes.
const COLOURS = ['color-contrast', 'link-in-text-block']

const violations = (page, theme, runOnly) =>
  page.evaluate(
    async ([theme, runOnly]) => {
      document.documentElement.dataset.theme = theme
      const found = await axe.run(document, { runOnly, resultTypes: ['violations'], preload: false, elementRef: true })
      return found.violations.map(({ id, nodes: [first, ...more] }) => {
        const from = first.element.closest('[data-from]')?.dataset.from ?? ''
        return `${theme}: ${from} ${id} (${1 + more.length}): ${first.html.slice(0, 120)} ${first.any[0]?.message ?? ''}`
      })
    },
    [theme, runOnly],
  )

async function inBothThemes(page) {
  await page.evaluate(AXE)
  return [...(await violations(page, 'light', STANDARD)), ...(await violations(page, 'dark', { type: 'rule', values: COLOURS }))]
}

const frames = new Map() // by how they look, a page that has it
const pieces = new Map() // by how they look
const lines = {}

// What is wrong with the width of a page in a frame: it is wider than its window, or what scrolls sideways inside it
// does not show that or cannot be reached by keys.
function widthFaults({ contentDocument: page, contentWindow: { getComputedStyle } }, width) {
  const faults = []
  const content = page.documentElement.scrollWidth
  if (content > width) faults.push(`${content} pixels wide`)
  for (const region of page.querySelectorAll('.wide, pre')) {
    if (region.scrollWidth <= region.clientWidth + 1) continue
    const isHinted = getComputedStyle(region).backgroundImage.includes('gradient')
    if (!isHinted || region.tabIndex !== 0) faults.push(`${isHinted ? 'no keys scroll' : 'nothing shows that it scrolls:'} ${region.outerHTML.slice(0, 80)}`)
  }
  return faults.map((fault) => `${fault} in a window of ${width}`)
}

// Opens some pages at once, each in a frame: half of what a tab of its own costs. Says which of them are too wide in
// which window, the last of them a phone's, and keeps what looks new there for the functions below: axe takes as
// long for a page of fifty pieces as for one of five.
export async function lookAt(page, names) {
  await page.goto(`${BASE}index.html`)
  await page.addScriptTag({ content: `${takeLines}\n${takePieces}\n${widthFaults}` })
  const looked = await page.evaluate(async ([base, names, widths, height]) => {
    const shown = names.map((name) => {
      const frame = Object.assign(document.createElement('iframe'), { width: widths[0], height, src: base + name })
      frame.style = 'position: absolute; top: 0; left: 0; border: 0'
      return { name, frame, loaded: new Promise((done) => (frame.onload = done)) }
    })
    document.body.replaceChildren(...shown.map(({ frame }) => frame))
    await Promise.all(shown.map(({ loaded }) => loaded))
    const faults = shown.map(({ frame }) => widths.flatMap((width) => widthFaults(Object.assign(frame, { width }), width)))
    return shown.map(({ name, frame: { contentDocument: page } }, i) => ({
      name,
      faults: faults[i],
      lines: takeLines(page),
      ...takePieces(page, name),
    }))
  }, [BASE, names, WIDTHS, PHONE.height])
  for (const one of looked) {
    Object.assign(lines, one.lines)
    for (const piece of one.pieces) if (!pieces.has(piece.key)) pieces.set(piece.key, piece)
    if (!frames.has(one.frame)) frames.set(one.frame, one.name)
  }
  return looked.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`))
}

// What axe finds in the frames of all pages that lookAt() has seen.
export async function axeFindingsInFrames(page) {
  const found = []
  for (const name of frames.values()) {
    await page.goto(BASE + name)
    await page.evaluate(`(${takeLines})(document); (${takePieces})(document, '')`)
    found.push(...(await inBothThemes(page)).map((line) => `${name}: ${line}`))
  }
  return found
}

// What axe finds in the pieces of all these pages.
export async function axeFindingsInPieces(page) {
  const found = []
  const kinds = new Set([...pieces.values()].map(({ kind }) => kind))
  for (const kind of kinds) {
    const html = [...pieces.values()].filter((piece) => piece.kind === kind).map((piece) => piece.html)
    while (html.length) {
      await page.goto(`${BASE}index.html`)
      const some = html.splice(0, PIECES_A_PAGE).join('\n')
      await page.evaluate(([kind, some]) => {
        document.body.className = kind
        document.querySelector('main').innerHTML = some
      }, [kind, some])
      found.push(...(await inBothThemes(page)))
    }
  }
  return found
}
const PIECES_A_PAGE = 60

// What axe finds in the code side by side of all these pages.
export async function axeFindingsInLines(page) {
  await page.goto(`${BASE}compare/03_coalescing/transpose/tiled..padded.html`)
  await page.evaluate((rows) => (document.querySelector('.diff tbody').innerHTML = rows), Object.values(lines).join(''))
  return inBothThemes(page)
}

export const looksChecked = () => `${frames.size} frames, ${pieces.size} looks of pieces, ${Object.keys(lines).length} of lines`

export function allPages() {
  const names = fs.readdirSync(OUT, { recursive: true }).filter((name) => name.endsWith('.html'))
  assert.ok(names.length > 100, `only ${names.length} pages in ${OUT}: run make book`)
  return names.sort()
}
