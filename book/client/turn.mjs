// The arrow keys go to the page before and after, unless something on the page wants them.

export function turnPages() {
  const keys = { ArrowLeft: 'prev', ArrowRight: 'next' }
  document.addEventListener('keydown', (event) => {
    const wanted = event.target.closest('input, select, textarea, pre, dialog, [contenteditable], [tabindex="0"], [data-keys]')
    if (wanted || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return
    if (document.getElementById('walk')?.dataset.walking) return
    document.querySelector(`.turn a[rel="${keys[event.key]}"]`)?.click()
  })
}
