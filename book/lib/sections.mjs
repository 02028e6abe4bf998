// A lesson's parts: its sections, and where it holds several problems the pages that it becomes.

// The page cut at its headings: [{ level, id, title, tokens }], for search, notes and the outline.
export function sections(tokens) {
  const out = []
  tokens.forEach((token, i) => {
    if (token.type === 'heading_open') {
      const title = tokens[i + 1].children.filter((c) => c.type === 'text' || c.type === 'code_inline')
      out.push({
        level: Number(token.tag[1]),
        id: token.attrGet('id'),
        title: title.map((c) => c.content).join(''),
        tokens: [],
      })
    } else if (out.length) out.at(-1).tokens.push(token)
  })
  return out
}

const PROBLEM = /^(?:Problem )?[A-Z]: |^Part \w+: /
const isHeading = ({ type }) => type === 'heading_open' || type === 'heading_close'

// Where a lesson holds several problems, a page for each of them: [{ id, tokens }]. The first page, without an id, has what
// stands before them; the last, 'after', what stands behind. A problem's headings are moved up by one level.
export function pagesIn(tokens) {
  const heads = tokens.flatMap(({ type, tag }, i) => (type === 'heading_open' && tag === 'h2' ? [i] : []))
  const within = (k) => tokens.slice(heads[k], heads[k + 1])
  const isProblem = (k) => PROBLEM.test(tokens[heads[k] + 1].content) && within(k).some(({ type }) => type === 'fence')
  const problems = heads.map((_, k) => k).filter(isProblem)
  if (problems.length < 2) return [{ tokens }]
  const [first, last] = [problems[0], problems.at(-1)]
  const pages = []
  for (let k = first; k <= last; ++k) {
    if (isProblem(k)) pages.push({ id: tokens[heads[k]].attrGet('id'), tokens: within(k) })
    else pages.at(-1).tokens.push(...within(k))
  }
  for (const token of pages.flatMap((page) => page.tokens).filter(isHeading)) token.tag = `h${token.tag[1] - 1}`
  const after = tokens.slice(heads[last + 1] ?? tokens.length)
  return [{ tokens: tokens.slice(0, heads[first]) }, ...pages, ...(after.length ? [{ id: 'after', tokens: after }] : [])]
}
