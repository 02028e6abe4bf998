// Where the contents do not stand beside the page, they come as a drawer over it.

export function openContents() {
  const link = document.querySelector('.to-contents')
  const drawer = document.getElementById('contents')
  const rest = [...document.querySelectorAll('header, main, .skip')]
  const close = Object.assign(document.createElement('button'), { type: 'button', className: 'close', textContent: 'Close' })
  const show = (isOpen) => {
    drawer.classList.toggle('drawer', isOpen)
    document.documentElement.classList.toggle('under-drawer', isOpen)
    for (const element of rest) element.inert = isOpen
    if (isOpen) {
      drawer.prepend(close)
      close.focus()
    } else {
      close.remove()
      link.focus()
    }
  }
  link.addEventListener('click', (event) => {
    event.preventDefault()
    show(true)
  })
  close.addEventListener('click', () => show(false))
  drawer.addEventListener('click', (event) => event.target.closest('a') && drawer.classList.contains('drawer') && show(false))
  document.addEventListener('keydown', (event) => event.key === 'Escape' && drawer.classList.contains('drawer') && show(false))
  document.addEventListener('click', (event) => drawer.classList.contains('drawer') && event.target === document.documentElement && show(false))
}
