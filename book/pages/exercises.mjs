// The page of an exercise: what it costs and gives, the task, the file to begin with, hints that open one by one.

import { escape, relative } from '../lib/format.mjs'
import { highlight, languageOf } from '../lib/highlight.mjs'
import { lineHtml } from '../lib/tokens.mjs'

// The section of a lesson that sends the reader to this exercise; else that chapter's table of exercises.
function sectionOf(book, { id }, chapter) {
  const isSent = ({ tokens }) => tokens.some((token) => token.type === 'html_block' && token.content.startsWith(`<!-- exercise ${id} `))
  const lessons = book.lessons.filter(({ source }) => source.startsWith(`${chapter}/`))
  for (const lesson of lessons) {
    const section = lesson.sections.find(isSent)
    if (section) return { ...lesson, section }
  }
  const lesson = lessons.find(({ source }) => source === `${chapter}/README.md`)
  return { ...lesson, section: lesson.sections.find((section) => section.title === 'Exercises') }
}

function hints(tasks) {
  const list = tasks.flatMap(({ text, hints }, i) =>
    hints.length ? [`<p>Task ${i + 1}: ${escape(text)}</p>${hints.map((hint, k) => `<details class="hint"><summary>Hint ${k + 1}</summary><p>${escape(hint)}</p></details>`).join('')}`] : [],
  )
  return list.length ? `<h2 id="hints">Hints</h2><div class="hints">${list.join('')}</div>` : ''
}

export function exerciseBody(book, exercise, lesson, text) {
  const { source, out } = lesson
  const { section, out: from, title } = sectionOf(book, exercise, source.split('/')[0])
  const badges = [exercise.kind, `about ${exercise.minutes} minutes`, `${exercise.points} points`, exercise.gpu === 'any' ? 'any GPU, or none' : `written for ${exercise.gpu}, runs without a GPU`]
  const link = `<a href="${relative(out, from)}#${section.id}">${escape(title)}: ${escape(section.title)}</a>`
  const code = highlight(exercise.skeleton, languageOf(exercise.file)).map(lineHtml).join('\n')
  const commands = ['start', 'check', 'hint'].map((verb) => `./exercise ${verb} ${exercise.id}`)
  const [heading, rest] = [text.slice(0, text.indexOf('</h1>') + 5), text.slice(text.indexOf('</h1>') + 5)]
  return `${heading}
<ul class="badges">${badges.map((badge) => `<li>${escape(badge)}</li>`).join('')}</ul>
<p class="quiet">Read first: ${link}</p>
${rest}
<h2 id="begin">Begin</h2>
<figure class="code"><pre tabindex="0"><code>${commands.join('\n')}</code></pre></figure>
<p>This is the file that <code>start</code> writes for you:</p>
<figure class="code"><figcaption><code>${escape(exercise.file)}</code></figcaption><pre tabindex="0"><code>${code}</code></pre></figure>
${hints(exercise.tasks)}`
}
