// Dark or light: as the system has it, until the reader chooses.

import { keep } from './kept.mjs'

export function keepTheme() {
  const root = document.documentElement
  const isDark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark'
    keep('theme', root.dataset.theme)
  })
}
