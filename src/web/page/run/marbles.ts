import { html, type SVGTemplateResult, svg, type TemplateResult } from 'lit-html'
import type { Marble, MarbleKind } from '../../api/live.js'

const WORDS: Readonly<Record<MarbleKind, string>> = {
  success: 'stored',
  empty: 'nothing there',
  skipped: 'up to date',
  retried: 'stored after a retry',
  partial: 'may lack rows',
  failed: 'failed',
  resumed: 'from the run before',
}

const STEP = 11
const RADIUS = 4

/** The newest items of a stream as marbles, the newest on the right; those that fit. */
export const renderMarbles = (
  marbles: readonly Marble[],
  { x, y, width, isStock }: { readonly x: number; readonly y: number; readonly width: number; readonly isStock: boolean },
): readonly SVGTemplateResult[] =>
  marbles.slice(-Math.max(1, Math.floor(width / STEP))).map(([item, kind], index) => {
    const marble = svg`<g transform=${`translate(${x + RADIUS + index * STEP} ${y})`}><title>${item}: ${WORDS[kind]}</title>${drawMarble(kind)}</g>`
    return isStock ? svg`<a href=${`/stock/${encodeURIComponent(item)}`} tabindex="-1">${marble}</a>` : marble
  })

/** Each kind has a shape of its own, not only a colour. */
const drawMarble = (kind: MarbleKind): SVGTemplateResult => {
  switch (kind) {
    case 'failed':
      return svg`<path class="marble failed" d="M-3.5 -3.5L3.5 3.5M3.5 -3.5L-3.5 3.5" />`
    case 'retried':
    case 'partial':
      return svg`<circle class=${`marble ring ${kind}`} r="3.5" /><path class=${`marble half ${kind}`} d=${kind === 'retried' ? 'M0 -3.5A3.5 3.5 0 0 0 0 3.5Z' : 'M0 -3.5A3.5 3.5 0 0 1 0 3.5Z'} />`
    case 'success':
      return svg`<circle class="marble full" r=${RADIUS} />`
    case 'resumed':
      return svg`<path class="marble ring" d="M0 -4L4 0L0 4L-4 0Z" />`
    default:
      return svg`<circle class="marble ring" r=${kind === 'empty' ? 3.5 : 1.5} />`
  }
}

/** What the shapes mean. */
export const marbleLegend = (): TemplateResult => html`
  <p class="legend soft">
    ${(Object.keys(WORDS) as MarbleKind[]).map(
      (kind) =>
        html`<span><svg width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true">${drawMarble(kind)}</svg> ${WORDS[kind]}</span>`,
    )}
  </p>
`
