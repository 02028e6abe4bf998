// The recipes of other machines, as far as they can be followed on this one: the notebook's cells
// run, the workflow and the dev container call what is there.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (name) => fs.readFileSync(path.join(ROOT, name), 'utf8')

// What README.md says under "First commands".
const [, setUp, run] = read('README.md').match(/^(\.\/setup\.sh) && (make run) /m)
const cells = JSON.parse(read('book/colab.ipynb')).cells.map((cell) => cell.source.split('\n'))

test('the notebook has three cells and calls the two commands of the README', () => {
  const { cells: whole, nbformat } = JSON.parse(read('book/colab.ipynb'))
  assert.equal(nbformat, 4)
  assert.deepEqual(whole.map((cell) => cell.cell_type), ['code', 'code', 'code'])
  const commands = cells.flat().filter((line) => line.startsWith('!'))
  assert.deepEqual(commands.slice(1), [`!${setUp}`, `!${run}`])
})

test('the notebook asks for an address, and takes one', () => {
  const asked = cells[0].filter((line) => !/^[!%]/.test(line)).join('\n')
  const python = (text) => spawnSync('python3', ['-c', text], { encoding: 'utf8' })
  assert.match(python(asked).stderr, /AssertionError: cell 1: REPOSITORY wants/)
  const given = python(asked.replace('REPOSITORY = ""', 'REPOSITORY = "https://example.org/x"'))
  assert.equal(given.status, 0, given.stderr)
})

const isClone = spawnSync('git', ['-C', ROOT, 'rev-parse', '--verify', 'HEAD']).status === 0

test("the notebook's commands run, one after the other, in a clone", { skip: isClone ? false : 'git finds no commit here' }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'book-'))
  const lines = cells.flat().flatMap((line) => (line.startsWith('!') ? line.slice(1) : line.startsWith('%cd') ? line.slice(1) : []))
  const script = ['set -e', ...lines].join('\n').replaceAll('/content/', `${folder}/`)
  assert.ok(script.endsWith(`\n${run}`), script)
  // The last one takes minutes: here make says only what it would do.
  const env = { ...process.env, REPOSITORY: `file://${ROOT}`, MAKEFLAGS: '', MAKELEVEL: '' }
  const said = execFileSync('bash', ['-c', `${script} -n`], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  fs.rmSync(folder, { recursive: true })
  assert.match(said, /Next: make run/)
  for (const chapter of fs.readdirSync(ROOT).filter((name) => /^\d\d_/.test(name))) assert.ok(said.includes(`/${chapter}/`), `make run runs ${chapter}`)
})

test('the dev containers call the same, and recommend the same editor extension', () => {
  const images = {
    '.devcontainer/devcontainer.json': /^mcr\.microsoft\.com\/devcontainers\/base:bookworm$/, // Debian 12, as setup.sh wants it
    '.devcontainer/gpu/devcontainer.json': /^nvidia\/cuda:13\.[\d.]+-devel-ubuntu24\.04$/,
  }
  const { recommendations } = JSON.parse(read('.vscode/extensions.json'))
  for (const [file, image] of Object.entries(images)) {
    const container = JSON.parse(read(file))
    assert.match(container.image, image)
    assert.equal(container.postCreateCommand, setUp)
    assert.match(container.postAttachCommand, new RegExp(run))
    assert.deepEqual(container.customizations.vscode.extensions, recommendations)
  }
})

test('the workflow installs, tests, and publishes what the tests have passed', () => {
  const { on, permissions, jobs } = parse(read('.github/workflows/book.yml'))
  assert.deepEqual(on.push.branches, ['main'])
  assert.deepEqual(permissions, { contents: 'read', pages: 'write', 'id-token': 'write' })
  const { publish } = jobs
  assert.equal(publish['runs-on'], 'ubuntu-24.04')
  const steps = publish.steps.map((step) => step.run ?? step.uses.replace(/@v\d+$/, ''))
  assert.deepEqual(steps, ['actions/checkout', './setup.sh --book', 'make book-test', 'actions/upload-pages-artifact', 'actions/deploy-pages'])
  assert.equal(publish.steps[3].with.path, 'build/book')
  assert.match(publish.environment.url, new RegExp(`steps\\.${publish.steps[4].id}\\.outputs\\.page_url`))
})
