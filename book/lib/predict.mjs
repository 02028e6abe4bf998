// "Predict": each question of a lesson gets a field for the reader's answer, and opens the lesson's own, which stands
// under "Answers" at its end. Without JavaScript that opens by itself.

import { escape } from './format.mjs'
import { sections } from './sections.mjs'

// What a question lets one choose from: '...: four times, one and a half times, a little?'
export function choicesOf(question) {
  const [, list] = question.replace(/<!--.*?-->/gs, '').replace(/\s+/g, ' ').match(/: ([^:?]+)\?$/) ?? []
  const choices = list?.split(/,\s*(?:or\s+)?|\s+or\s+/).map((choice) => choice.trim()) ?? []
  return choices.length > 2 ? choices : []
}

// The items of the first ordered list of a section: [{ first, end }], places in its tokens.
function itemsOf({ tokens }) {
  const list = tokens.findIndex(({ type }) => type === 'ordered_list_open')
  const items = []
  for (let i = list; list >= 0 && i < tokens.length && !(tokens[i].type === 'ordered_list_close' && tokens[i].level === tokens[list].level); ++i) {
    if (tokens[i].level !== tokens[list].level + 1) continue
    if (tokens[i].type === 'list_item_open') items.push({ first: i + 1 })
    if (tokens[i].type === 'list_item_close') items.at(-1).end = i
  }
  return items
}

// The tokens of a page, with one more at the end of each question whose answer the page has.
export function withAnswers(tokens) {
  const found = sections(tokens)
  const [asked, answered] = ['Predict', 'Answers'].map((title) => found.find((section) => section.title === title))
  if (!asked || !answered) return tokens
  const [questions, answers] = [itemsOf(asked), itemsOf(answered)]
  if (questions.length !== answers.length) return tokens
  const out = [...tokens]
  questions.forEach(({ first, end }, i) => {
    const mark = new tokens[0].constructor('predict', '', 0)
    const question = asked.tokens.slice(first, end).filter(({ type }) => type === 'inline').at(-1).content
    mark.meta = { number: i + 1, choices: choicesOf(question), answer: answered.tokens.slice(answers[i].first, answers[i].end) }
    out.splice(out.indexOf(asked.tokens[end]), 0, mark)
  })
  return out
}

// `answer` is HTML.
export function predictHtml({ number, choices, answer }) {
  const name = `predict-${number}`
  const radio = (choice) => `<label><input type="radio" name="${name}" value="${escape(choice)}"> ${escape(choice)}</label>`
  const field = choices.length
    ? `<fieldset><legend class="sr">Your answer to question ${number}</legend>${choices.map(radio).join(' ')}</fieldset>`
    : `<label>Your answer <input type="text" name="${name}" autocomplete="off"></label>`
  return `<form class="predict needs-js">${field}<button>Compare</button></form>
<details class="answer"><summary>What was measured</summary><p class="said" hidden></p>${answer}</details>`
}
