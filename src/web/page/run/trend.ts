import { html, type SVGTemplateResult, svg, type TemplateResult } from 'lit-html'
import type { RunRow } from '../../api/runs.js'
import { formatDuration, formatInstant, formatNumber } from '../parts/format.js'
import { runPath } from '../parts/stock-link.js'

const HEIGHT = 96
const TOP = 16
const GAP = 24
const MAX_STEP = 24

interface Series {
  readonly title: string
  readonly read: (run: RunRow) => number
  readonly format: (value: number) => string
  readonly kind: string
}

const SERIES: readonly Series[] = [
  { title: 'duration', read: ({ durationMs }) => durationMs, format: formatDuration, kind: 'duration' },
  { title: 'items failed', read: ({ lost }) => lost, format: (value) => formatNumber(value), kind: 'lost' },
]

/** How long the runs took and what they lost, the newest on the right; as many as fit. */
export const renderTrend = (newestFirst: readonly RunRow[], width: number): TemplateResult => {
  const own = width < 760 ? width : (width - GAP) / 2
  return html`<div class="trends">${SERIES.map((series) => renderSeries(newestFirst, series, own))}</div>`
}

const renderSeries = (newestFirst: readonly RunRow[], { title, read, format, kind }: Series, width: number): TemplateResult => {
  const step = Math.max(6, Math.min(MAX_STEP, width / Math.max(1, newestFirst.length)))
  const runs = newestFirst.slice(0, Math.floor(width / step)).reverse()
  const most = Math.max(0, ...runs.map(read))
  const bar = (run: RunRow, index: number): SVGTemplateResult => {
    const value = read(run)
    const height = most === 0 ? 0 : Math.max(value > 0 ? 2 : 0, (value / most) * (HEIGHT - TOP))
    return svg`
      <a href=${runPath(run.run)} tabindex="-1" aria-label=${`${title}: ${format(value)}, ${run.outcome}`}><g transform=${`translate(${index * step} 0)`}>
        <title>${formatInstant(Date.parse(run.startedAt))}: ${run.outcome}, ${format(value)}</title>
        <rect class="hit" width=${step} height=${HEIGHT} />
        <rect class=${`bar ${kind} ${run.outcome}`} x="1" y=${HEIGHT - height} width=${step - 2} height=${height} />
      </g></a>
    `
  }
  return html`
    <figure>
      <figcaption>${title} <span class="soft">${most === 0 ? 'none in these runs' : `up to ${format(most)}`}, last ${formatNumber(runs.length)} runs</span></figcaption>
      <svg class="trend" width=${width} height=${HEIGHT + 1} role="group" aria-label=${`${title} of the last ${runs.length} runs, at most ${format(most)}`}>
        ${runs.map(bar)}
        <path class="axis" d=${`M0 ${HEIGHT + 0.5}H${width}`} />
      </svg>
    </figure>
  `
}
