// The front page: one screen that says what this is, for whom, and what it costs to try; below it
// the repository's README.

import { relative } from '../lib/format.mjs'

export function frontPage(book) {
  const readme = book.lessons.find(({ source }) => source === 'README.md')
  const render = (tokens) => book.md.renderer.render(tokens, book.md.options, readme.env)
  const to = (file) => relative('index.html', book.site.outOf(file))
  // The title and the first paragraph stand on the screen, the rest below.
  const first = readme.tokens.findIndex((token) => token.type === 'paragraph_close') + 1
  const paragraph = render(readme.tokens.slice(3, first))
  const body = `<div class="front">
<h1>CUDA, step by step</h1>
${paragraph}
<p class="doors">
<a class="main" href="${to('01_vector_add/README.md')}">Begin with the first kernel</a>
<a href="compare/04_matmul/sgemm/index.html">Walk a ladder</a>
<a href="widgets/roofline.html">Try a calculator</a>
<a href="${to('GLOSSARY.md')}">Look up a word</a>
</p>
<dl>
<dt>For whom</dt>
<dd>You read C or C++ and want to know what makes a GPU fast: as a student from the first kernel on, or as an engineer who wants to see
the step from one known version to the next, with its price.</dd>
<dt>What it costs</dt>
<dd>To read: nothing, this book needs no network and no account. To run and to solve exercises: any laptop with Linux and g++, two commands, no GPU.
To measure: an NVIDIA GPU and the CUDA Toolkit.</dd>
</dl>
</div>
<hr>
${render(readme.tokens.slice(first))}`
  return { title: 'What this is', out: 'index.html', body, sections: readme.sections }
}
