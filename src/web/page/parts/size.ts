/** The width of the content: drawings are as wide, so that their text has the size of all text. */
export const contentWidth = (): number => {
  const main = document.querySelector('main')
  if (main === null) return Math.min(1_344, innerWidth - 48)
  const { paddingLeft, paddingRight } = getComputedStyle(main)
  return Math.max(280, Math.floor(main.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)))
}
