// A button that copies a piece of code, without the numbers of its lines.

function textOf(code) {
  const copy = code.cloneNode(true)
  for (const number of copy.querySelectorAll('a[href*="#L"]')) number.remove()
  return copy.textContent.trimEnd() + '\n'
}

export function offerCopies() {
  if (!navigator.clipboard) return
  for (const code of document.querySelectorAll('figure.code pre > code')) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'copy', textContent: 'Copy' })
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(textOf(code))
      button.textContent = 'Copied'
      setTimeout(() => (button.textContent = 'Copy'), 1500)
    })
    code.parentElement.before(button)
  }
}
