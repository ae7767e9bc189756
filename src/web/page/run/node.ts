import { nothing, type SVGTemplateResult, svg } from 'lit-html'
import type { LiveStream } from '../../api/live.js'
import { formatBytes, formatNumber } from '../parts/format.js'
import { INDENT, type PlacedStream } from './layout.js'
import { renderMarbles } from './marbles.js'
import { describeAloud, describeStream } from './words.js'

export interface NodeContext {
  readonly now: number
  readonly isNarrow: boolean
  readonly isChosen: boolean
  readonly hasMarbles: boolean
  /** Whether its items are stocks. */
  readonly isStock: boolean
  readonly onChoose: (name: string) => void
}

/** A stream of the graph: name, bar and figures. */
export const renderNode = (place: PlacedStream, stream: LiveStream, context: NodeContext): SVGTemplateResult => {
  const { isChosen, hasMarbles, isNarrow, isStock, now, onChoose } = context
  const isBox = isNarrow || place.width < 700
  const choose = (): void => onChoose(stream.name)
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    choose()
  }
  const marbleX = isBox ? 0 : chooseColumns(place.width).name
  return svg`
    <g class=${`node ${stream.state}${isChosen ? ' chosen' : ''}`} transform=${`translate(${place.x} ${place.y})`}>
      <g role="button" tabindex="0" aria-pressed=${isChosen} aria-label=${describeAloud(stream, now)} @click=${choose} @keydown=${onKey}>
        <rect class="hit" x="-8" y="0" width=${place.width + 8} height=${isBox ? 44 : 28} rx="3" />
        <text class="name" x="0" y=${isBox ? 16 : 19}>${stream.name}</text>
      </g>
      <g class="figures" aria-hidden="true">${isBox ? renderBox(place, stream, context) : renderRow(place, stream, context)}</g>
      ${hasMarbles ? renderMarbles(stream.marbles, { x: marbleX, y: place.height - 8, width: place.width - marbleX, isStock }) : nothing}
    </g>
  `
}

/** The columns of a row: the name on the left; the others count from the right edge. */
const WIDE_COLUMNS = { name: 200, count: 640, rate: 544, flight: 456, retries: 384, bytes: 296, note: 264 } as const
type Column = keyof typeof WIDE_COLUMNS
const CLOSE_COLUMNS: Readonly<Record<Column, number>> = {
  name: 184,
  count: 496,
  rate: 432,
  flight: 360,
  retries: 304,
  bytes: 228,
  note: 208,
}

const chooseColumns = (rowWidth: number): Readonly<Record<Column, number>> => (rowWidth < 1_150 ? CLOSE_COLUMNS : WIDE_COLUMNS)

const HEADINGS: readonly (readonly [Column, string])[] = [
  ['count', 'items'],
  ['rate', '/s'],
  ['flight', 'open'],
  ['retries', 'retries'],
  ['bytes', 'bytes'],
]

/** The titles of the columns of rows. */
export const renderHeadings = (rowWidth: number, y: number): SVGTemplateResult => {
  const columns = chooseColumns(rowWidth)
  return svg`<g transform=${`translate(${INDENT} 0)`}>${HEADINGS.map(([column, text]) => svg`<text class="soft" x=${rowWidth - columns[column]} y=${y} text-anchor="end">${text}</text>`)}</g>`
}

const renderRow = ({ width }: PlacedStream, stream: LiveStream, { now }: NodeContext): SVGTemplateResult => {
  const { perSecond, workers, inFlight, retries, received, stored, state } = stream
  const bytes = received ?? stored
  const isIdle = state === 'waiting' || state === 'skipped' || state === 'disabled'
  const columns = chooseColumns(width)
  const figure = (column: Column, text: string): SVGTemplateResult =>
    svg`<text x=${width - columns[column]} y="19" text-anchor="end">${text}</text>`
  const note = describeStream(stream, now)
  return svg`
    ${renderBar(stream, columns.name, 10, Math.max(40, width - columns.count - columns.name - 104))}
    ${figure('count', isIdle ? '' : formatCounts(stream))}
    ${figure('rate', perSecond === undefined || isIdle ? '' : formatNumber(perSecond, perSecond < 9.95 ? 1 : 0))}
    ${figure('flight', state === 'running' && inFlight !== undefined ? `${formatNumber(inFlight)} / ${formatNumber(workers)}` : '')}
    ${figure('retries', retries > 0 ? formatNumber(retries) : '')}
    ${figure('bytes', bytes === 0 ? '' : formatBytes(bytes))}
    <text class=${note.tone} x=${width - columns.note} y="19">${note.text}</text>
  `
}

/** Two lines, for the first phase and for a narrow page. */
const renderBox = ({ width }: PlacedStream, stream: LiveStream, { now }: NodeContext): SVGTemplateResult => {
  const note = describeStream(stream, now)
  const isIdle = stream.state === 'waiting' || stream.state === 'skipped' || stream.state === 'disabled'
  return svg`
    <text class=${note.tone} x=${width} y="16" text-anchor="end">${note.text}</text>
    ${renderBar(stream, 0, 26, width - 112)}
    <text x=${width} y="35" text-anchor="end">${isIdle ? '' : formatCounts(stream)}</text>
  `
}

const formatCounts = ({ done, total }: LiveStream): string =>
  total === undefined ? formatNumber(done) : `${formatNumber(Math.min(done, total))} / ${formatNumber(total)}`

/** The share that is done; failed items are its end. Of a stream that has ended, only a thin line stays. */
const renderBar = ({ done, total = 0, lost, state, pauses }: LiveStream, x: number, y: number, width: number): SVGTemplateResult => {
  const hasEnded = state === 'success' || state === 'partial' || state === 'failed'
  const share = total > 0 ? Math.min(1, done / total) : hasEnded ? 1 : 0
  const failed = total > 0 && lost > 0 ? Math.max(3, Math.min(share, lost / total) * width) : 0
  const bar = (kind: string, from: number, length: number): SVGTemplateResult =>
    svg`<rect class=${kind} x=${x + from} y=${hasEnded ? y + 2 : y} width=${Math.max(0, length)} height=${hasEnded ? 3 : 8} />`
  return svg`
    ${bar('track', 0, width)} ${bar(`fill${pauses.length > 0 ? ' paused' : ''}`, 0, share * width - failed)}
    ${failed > 0 ? bar('lost', share * width - failed, failed) : nothing}
  `
}
