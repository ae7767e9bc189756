import { nothing, type SVGTemplateResult, svg } from 'lit-html'
import type { LiveStream } from '../../api/live.js'
import { formatBytes, formatNumber } from '../parts/format.js'
import type { PlacedStream } from './layout.js'
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
  const { isChosen, hasMarbles, isStock, now, onChoose } = context
  const isBox = place.width < 700
  const choose = (): void => onChoose(stream.name)
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' && event.key !== ' ') return
    event.preventDefault()
    choose()
  }
  const marbleX = isBox ? 0 : COLUMNS.name
  return svg`
    <g class=${`node ${stream.state}${isChosen ? ' chosen' : ''}`} transform=${`translate(${place.x} ${place.y})`}>
      <g role="button" tabindex="0" aria-pressed=${isChosen} aria-label=${describeAloud(stream, now)} @click=${choose} @keydown=${onKey}>
        <rect class="hit" x="-8" y="0" width=${place.width + 8} height=${isBox ? 44 : 28} rx="3" />
        ${isBox ? renderBox(place, stream, context) : renderRow(place, stream, context)}
      </g>
      ${hasMarbles ? renderMarbles(stream.marbles, { x: marbleX, y: place.height - 8, width: place.width - marbleX, isStock }) : nothing}
    </g>
  `
}

/** The columns of a row: the name on the left; the others count from the right edge. */
const COLUMNS = { name: 200, count: 640, rate: 544, flight: 456, retries: 384, bytes: 296, note: 264 } as const

const HEADINGS: readonly (readonly [keyof typeof COLUMNS, string])[] = [
  ['count', 'items'],
  ['rate', '/s'],
  ['flight', 'open'],
  ['retries', 'retries'],
  ['bytes', 'bytes'],
]

/** The titles of the columns of rows. */
export const renderHeadings = (right: number, y: number): SVGTemplateResult =>
  svg`${HEADINGS.filter(([column]) => right > MIN_ROW[column]).map(([column, text]) => svg`<text class="soft" x=${right - COLUMNS[column]} y=${y} text-anchor="end">${text}</text>`)}`

/** The least width of a row that has the column. */
const MIN_ROW: Readonly<Record<keyof typeof COLUMNS, number>> = { name: 0, count: 0, rate: 0, flight: 0, note: 0, retries: 860, bytes: 860 }

const renderRow = ({ width }: PlacedStream, stream: LiveStream, { now }: NodeContext): SVGTemplateResult => {
  const { name, perSecond, workers, inFlight, retries, received, stored, state } = stream
  const bytes = received ?? stored
  const isIdle = state === 'waiting' || state === 'skipped' || state === 'disabled'
  const figure = (column: keyof typeof COLUMNS, text: string): SVGTemplateResult | typeof nothing =>
    width > MIN_ROW[column] ? svg`<text x=${width - COLUMNS[column]} y="19" text-anchor="end">${text}</text>` : nothing
  const note = describeStream(stream, now)
  return svg`
    <text class="name" x="0" y="19">${name}</text>
    ${renderBar(stream, COLUMNS.name, 10, Math.max(40, width - COLUMNS.count - COLUMNS.name - 112))}
    ${figure('count', isIdle ? '' : formatCounts(stream))}
    ${figure('rate', perSecond === undefined || isIdle ? '' : formatNumber(perSecond, perSecond < 9.95 ? 1 : 0))}
    ${figure('flight', state === 'running' && inFlight !== undefined ? `${formatNumber(inFlight)} / ${formatNumber(workers)}` : '')}
    ${figure('retries', retries > 0 ? formatNumber(retries) : '')}
    ${figure('bytes', bytes === 0 ? '' : formatBytes(bytes))}
    <text class=${note.tone} x=${width - COLUMNS.note} y="19">${note.text}</text>
  `
}

/** Two lines, for the first phase and for a narrow page. */
const renderBox = ({ width }: PlacedStream, stream: LiveStream, { now }: NodeContext): SVGTemplateResult => {
  const note = describeStream(stream, now)
  const isIdle = stream.state === 'waiting' || stream.state === 'skipped' || stream.state === 'disabled'
  return svg`
    <text class="name" x="0" y="16">${stream.name}</text>
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
