/** The theme that is shown now. */
export const currentTheme = (): 'light' | 'dark' => {
  const { theme } = document.documentElement.dataset
  if (theme === 'light' || theme === 'dark') return theme
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

/**
 * Changes to the other theme and remembers it. Charts listen to `themechange` on the window, because they
 * draw with colours of their own.
 */
export const toggleTheme = (): void => {
  const next = currentTheme() === 'dark' ? 'light' : 'dark'
  document.documentElement.dataset.theme = next
  localStorage.setItem('theme', next)
  window.dispatchEvent(new Event('themechange'))
}

/** A colour of the page, such as `--up`, as the present theme has it. */
export const readColour = (name: string): string => {
  const probe = document.createElement('i')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
