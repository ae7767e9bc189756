import { html, svg, type TemplateResult } from 'lit-html'

const roundPixel = (value: number): number => Math.round(value * 10) / 10

interface Size {
  readonly width: number
  readonly height: number
}

/** A line without axes. The text beside it says the values; readers of the screen skip the line. */
export const sparkLine = (values: readonly number[], { width, height }: Size): TemplateResult => {
  if (values.length < 2) return html`<svg width=${width} height=${height} aria-hidden="true"></svg>`
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const toY = (value: number): number =>
    high === low ? height / 2 : height - 1 - ((value - low) / (high - low)) * (height - 2)
  const points = values
    .map((value, index) => `${roundPixel((index / (values.length - 1)) * width)},${roundPixel(toY(value))}`)
    .join(' ')
  const tone = (values.at(-1) as number) >= (values[0] as number) ? 'up' : 'down'
  return html`<svg class=${`spark ${tone}`} width=${width} height=${height} aria-hidden="true"><polyline points=${points} /></svg>`
}

/** Advances above the line and declines below it, session by session. */
export const balanceChart = (
  sessions: readonly (readonly [day: string, up: number, down: number])[],
  { width, height }: Size,
): TemplateResult => {
  const most = Math.max(1, ...sessions.flatMap(([, up, down]) => [up, down]))
  const step = width / Math.max(1, sessions.length)
  const half = height / 2
  const columns = sessions.map(([day, up, down], index) => {
    const [x, wide] = [roundPixel(index * step), roundPixel(Math.max(1, step - 1))]
    const [above, below] = [roundPixel((up / most) * half), roundPixel((down / most) * half)]
    return svg`<g><title>${day}: ${up} up, ${down} down</title>
      <rect class="up" x=${x} width=${wide} y=${half - above} height=${above} /><rect class="down" x=${x} width=${wide} y=${half} height=${below} /></g>`
  })
  return html`<svg class="balance" viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label="Advances and declines of the last sessions">${columns}</svg>`
}

/** Where a value is between two ends, percent. */
export const rangeBar = (place: number): TemplateResult =>
  html`<span class="range" aria-hidden="true"><i .style=${`left:${roundPixel(Math.min(100, Math.max(0, place)))}%`}></i></span>`

/** Shares of a whole side by side. */
export const shareBar = (shares: readonly (readonly [name: string, share: number])[]): TemplateResult => html`
  <span class="shares" aria-hidden="true">${shares.map(([name, share]) => html`<i class=${name} .style=${`flex-grow:${Math.max(0, share)}`}></i>`)}</span>
`

/** The width of the content: drawings are as wide, so that their text has the size of all text. */
export const contentWidth = (): number => {
  const main = document.querySelector('main')
  if (main === null) return Math.min(1_344, innerWidth - 48)
  const { paddingLeft, paddingRight } = getComputedStyle(main)
  return Math.max(
    280,
    Math.floor(main.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)),
  )
}
