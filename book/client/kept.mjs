// What the browser keeps from page to page. It may keep nothing for pages from a disk: then a choice holds for
// its page.

export function kept(name) {
  try {
    return localStorage[name]
  } catch {
    return undefined
  }
}

export function keep(name, value) {
  try {
    localStorage[name] = value
  } catch {
    // as said above
  }
}
