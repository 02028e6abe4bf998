// What the browser tests share: the built book behind a server, Chromium, and what a page must keep.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { serve } from '../serve.mjs'

export const OUT = path.resolve(process.env.BOOK_OUT ?? path.join(import.meta.dirname, '../../build/book'))
const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) => fs.existsSync(file))

// A subfolder, as a project's page on a shared host has: every link must be relative.
export const { server, url: BASE } = await serve(OUT, 0, '/some/folder/')
export const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'] })

export async function close() {
  await browser.close()
  server.close()
}

// A tab that remembers what went wrong, a request to elsewhere among it. The browser resolves no
// name, so that none gets out.
export async function openTab(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1380, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce', ...options })
  const page = await context.newPage()
  const wrong = []
  page.on('request', (request) => {
    if (![BASE, 'data:', 'file:'].some((start) => request.url().startsWith(start))) wrong.push(`request to ${request.url()}`)
  })
  page.on('console', (message) => message.type() === 'error' && wrong.push(message.text()))
  page.on('pageerror', (error) => wrong.push(String(error)))
  return { page, wrong, close: () => context.close() }
}

// Takes the code side by side out of the page, and returns a row of it for each kind of word there
// is: its colour, on its ground, on its side.
function takeLines() {
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

// Leaves one of all neighbours that look alike to axe (lines of code, rows, entries of a list), and
// returns what is left without its words. The page cannot be used afterwards. Without this the
// check takes thirty times as long, and finds the same.
function prune() {
  const VALUES = ['class', 'role', 'style', 'type']
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
  return look(document.body)
}

const STANDARD = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
// What a theme changes.
const COLOURS = ['color-contrast', 'link-in-text-block']

async function violations(page, runOnly) {
  const found = await page.evaluate((only) => axe.run(document, { runOnly: only, resultTypes: ['violations'], preload: false, elementRef: false }), runOnly)
  return found.violations.map((v) => `${v.id} (${v.nodes.length}): ${v.nodes[0].html.slice(0, 120)} ${v.nodes[0].any[0]?.message ?? ''}`)
}

const checked = new Set()
const lines = {}

async function inBothThemes(page) {
  await page.evaluate(AXE)
  const light = await violations(page, STANDARD)
  await page.evaluate(() => (document.documentElement.dataset.theme = 'dark'))
  const dark = await violations(page, { type: 'rule', values: COLOURS })
  return [...light.map((line) => `light: ${line}`), ...dark.map((line) => `dark: ${line}`)]
}

// What axe finds on this page in both themes, unless it has seen a page that looks the same.
export async function axeFindings(page) {
  Object.assign(lines, await page.evaluate(takeLines))
  const look = await page.evaluate(prune)
  if (checked.has(look)) return []
  checked.add(look)
  return inBothThemes(page)
}

// What axe finds in the code side by side of all pages that axeFindings() has seen, on a page of
// that kind.
export async function axeFindingsInLines(page) {
  await page.evaluate((rows) => (document.querySelector('.diff tbody').innerHTML = rows), Object.values(lines).join(''))
  return inBothThemes(page)
}

export const looksChecked = () => `${checked.size} looks of pages, ${Object.keys(lines).length} of lines`

export function allPages() {
  const names = fs.readdirSync(OUT, { recursive: true }).filter((name) => name.endsWith('.html'))
  assert.ok(names.length > 100, `only ${names.length} pages in ${OUT}: run make book`)
  return names.sort()
}
