import assert from 'node:assert/strict'
import fs from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8')

// What README.md says under "Two commands".
const [, setUp, run] = read('README.md').match(/^(\.\/setup\.sh) && (make run) /m)

test('the notebook has three cells and calls the two commands of the README', () => {
  const { cells, nbformat } = JSON.parse(read('book/colab.ipynb'))
  assert.equal(nbformat, 4)
  assert.deepEqual(cells.map((cell) => cell.cell_type), ['code', 'code', 'code'])
  const commands = cells.flatMap((cell) => cell.source.split('\n')).filter((line) => line.startsWith('!'))
  assert.deepEqual(commands.slice(1), [`!${setUp}`, `!${run}`])
})

test('the dev container calls the same', () => {
  const container = JSON.parse(read('.devcontainer/devcontainer.json'))
  assert.equal(container.postCreateCommand, setUp)
  assert.match(container.postAttachCommand, new RegExp(run))
})

test('what is published is what the tests have passed', () => {
  const steps = read('.github/workflows/book.yml')
  const at = ['./setup.sh --book', 'make book-test', 'path: build/book', 'deploy-pages@'].map((words) => steps.indexOf(words))
  assert.ok(at.every((place, i) => place > (at[i - 1] ?? 0)), `in this order: ${at}`)
})
