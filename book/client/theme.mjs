// Dark or light: as the system has it, until the reader chooses.

export function keepTheme() {
  const root = document.documentElement
  const isDark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark'
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark'
    try {
      localStorage.theme = root.dataset.theme
    } catch {
      // A browser may keep nothing for pages from a disk: then the choice holds for this page.
    }
  })
}
