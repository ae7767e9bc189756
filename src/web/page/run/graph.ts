import { html, nothing, type SVGTemplateResult, svg, type TemplateResult } from 'lit-html'
import { formatBytes, formatDuration, formatNumber } from '../../../model/format.js'
import type { Marble, MarbleKind } from '../../../model/run-stats.js'
import type { LivePhase, LiveStream } from '../../api/live.js'
import { stockPath } from '../parts/stock-link.js'
import { type GraphLayout, INDENT, layOutGraph, type PlacedPhase, type PlacedStream } from './layout.js'
import { describeAloud, describeStream } from './words.js'

interface GraphContext extends Pick<NodeContext, 'now' | 'hasMarbles' | 'onChoose'> {
  readonly width: number
  readonly chosen: string | undefined
  /** When the run started, on the clock of the streams. */
  readonly startedAt: number
  /** Whether the run has ended. */
  readonly isOver: boolean
}

const HAS_ENDED: readonly string[] = ['success', 'partial', 'failed', 'skipped', 'disabled']

/** The graph of a run: every stream of every phase, and the barriers between. */
export const renderGraph = (
  phases: readonly LivePhase[],
  streams: readonly LiveStream[],
  context: GraphContext,
): TemplateResult => {
  const layout = layOutGraph(phases, context)
  const byName = new Map(streams.map((stream) => [stream.name, stream]))
  const { width, height } = layout
  return html`
    <svg class="graph" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="group" aria-label="Streams of the run">
      ${layout.buses.map(({ from, to }) => svg`<path class="edge" d=${`M4 ${from}V${to}`} />`)}
      ${layout.barriers.map((barrier, index) => renderBarrier(barrier, { layout, byName, isLast: index === layout.barriers.length - 1, ...context }))}
      ${layout.phases.map((phase) => renderPhase(phase, byName, layout, context))}
    </svg>
  `
}

const renderPhase = (
  { phase, titleY, streams }: PlacedPhase,
  byName: ReadonlyMap<string, LiveStream>,
  layout: GraphLayout,
  { chosen, ...context }: GraphContext,
): SVGTemplateResult => {
  const { width, isNarrow } = layout
  const isRow = phase.isSequential && !isNarrow
  const ofStocks = new Set(phase.streams.filter(({ of }) => of === 'master-data').map(({ name }) => name))
  return svg`
    <text class="title" x=${isRow ? 0 : INDENT} y=${titleY}>${phase.title}${isNarrow ? nothing : svg`<tspan class="soft" dx="8">${phase.note}</tspan>`}</text>
    ${isRow || isNarrow || phase.phase !== layout.headed ? nothing : renderHeadings(width - INDENT, titleY)}
    ${streams.map((place, index) => {
      const stream = byName.get(place.name)
      const next = streams[index + 1]
      const y = place.y + 22
      return svg`
        ${isRow && next ? svg`<path class="edge arrow" d=${`M${place.x + place.width + 4} ${y}H${next.x - 5}m-5 -4l5 4l-5 4`} />` : nothing}
        ${isRow ? nothing : svg`<path class="edge" d=${`M4 ${place.y + 14}H${INDENT - 10}`} />`}
        ${stream && renderNode(place, stream, { ...context, isNarrow, isChosen: chosen === place.name, isStock: ofStocks.has(place.name) })}
      `
    })}
  `
}

interface BarrierContext extends GraphContext {
  readonly layout: GraphLayout
  readonly byName: ReadonlyMap<string, LiveStream>
  readonly isLast: boolean
}

/** A barrier opens once every stream before it has ended. */
const renderBarrier = (
  { y, after }: GraphLayout['barriers'][number],
  { layout: { width }, byName, isLast, startedAt, isOver }: BarrierContext,
): SVGTemplateResult => {
  const waitedFor = after.flatMap((name) => byName.get(name) ?? [])
  const open = waitedFor.filter(({ state }) => !HAS_ENDED.includes(state)).length
  const isPassed = waitedFor.length > 0 && open === 0
  const last = Math.max(0, ...waitedFor.map(({ finishedAt = 0 }) => finishedAt))
  const when = isPassed && last > startedAt ? ` after ${formatDuration(last - startedAt)}` : ''
  const what = isLast ? 'report' : 'barrier'
  const text = isPassed
    ? `${what}: all streams above have ended${when}`
    : waitedFor.length === 0
      ? what
      : `${what}: ${isOver ? 'not ended:' : 'waits for'} ${open} of ${waitedFor.length} streams`
  return svg`
    <path class=${`barrier${isPassed ? ' passed' : ''}`} d=${`M0 ${y}H${width}`} />
    <text class="barrier soft" x=${INDENT + 8} y=${y + 4}>${text}</text>
  `
}

interface NodeContext {
  readonly now: number
  readonly isNarrow: boolean
  readonly isChosen: boolean
  readonly hasMarbles: boolean
  /** Whether its items are stocks. */
  readonly isStock: boolean
  readonly onChoose: (name: string) => void
}

/** A stream of the graph: name, bar and figures. */
const renderNode = (place: PlacedStream, stream: LiveStream, context: NodeContext): SVGTemplateResult => {
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
const WIDE_COLUMNS = {
  name: 200,
  count: 640,
  rate: 544,
  flight: 456,
  retries: 384,
  bytes: 296,
  note: 264,
} as const
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

const chooseColumns = (rowWidth: number): Readonly<Record<Column, number>> =>
  rowWidth < 1_150 ? CLOSE_COLUMNS : WIDE_COLUMNS

const HEADINGS: readonly (readonly [Column, string])[] = [
  ['count', 'items'],
  ['rate', '/s'],
  ['flight', 'open'],
  ['retries', 'retries'],
  ['bytes', 'bytes'],
]

/** The titles of the columns of rows. */
const renderHeadings = (rowWidth: number, y: number): SVGTemplateResult => {
  const columns = chooseColumns(rowWidth)
  return svg`<g transform=${`translate(${INDENT} 0)`}>${HEADINGS.map(([column, text]) => svg`<text class="soft" x=${rowWidth - columns[column]} y=${y} text-anchor="end">${text}</text>`)}</g>`
}

const renderRow = ({ width }: PlacedStream, stream: LiveStream, { now }: NodeContext): SVGTemplateResult => {
  const { perSecond, workers, inFlight, retries, received, stored, state } = stream
  const bytes = received ?? stored
  const columns = chooseColumns(width)
  const figure = (column: Column, text: string): SVGTemplateResult =>
    svg`<text x=${width - columns[column]} y="19" text-anchor="end">${text}</text>`
  const note = describeStream(stream, now)
  return svg`
    ${renderBar(stream, columns.name, 10, Math.max(40, width - columns.count - columns.name - 104))}
    ${figure('count', isInactive(stream) ? '' : formatCounts(stream))}
    ${figure('rate', perSecond === undefined || isInactive(stream) ? '' : formatNumber(perSecond, perSecond < 9.95 ? 1 : 0))}
    ${figure('flight', state === 'running' && inFlight !== undefined ? `${formatNumber(inFlight)} / ${formatNumber(workers)}` : '')}
    ${figure('retries', retries > 0 ? formatNumber(retries) : '')}
    ${figure('bytes', bytes === 0 ? '' : formatBytes(bytes))}
    <text class=${note.tone} x=${width - columns.note} y="19">${note.text}</text>
  `
}

/** Two lines, for the first phase and for a narrow page. */
const renderBox = ({ width }: PlacedStream, stream: LiveStream, { now }: NodeContext): SVGTemplateResult => {
  const note = describeStream(stream, now)
  return svg`
    <text class=${note.tone} x=${width} y="16" text-anchor="end">${note.text}</text>
    ${renderBar(stream, 0, 26, width - 112)}
    <text x=${width} y="35" text-anchor="end">${isInactive(stream) ? '' : formatCounts(stream)}</text>
  `
}

const isInactive = ({ state }: LiveStream): boolean => ['waiting', 'skipped', 'disabled'].includes(state)

const formatCounts = ({ done, total }: LiveStream): string =>
  total === undefined ? formatNumber(done) : `${formatNumber(Math.min(done, total))} / ${formatNumber(total)}`

/** The share that is done; failed items are its end. Of a stream that has ended, only a thin line stays. */
const renderBar = (
  { done, total = 0, lost, state, pauses }: LiveStream,
  x: number,
  y: number,
  width: number,
): SVGTemplateResult => {
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

const MARBLE_WORDS: Readonly<Record<MarbleKind, string>> = {
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
const renderMarbles = (
  marbles: readonly Marble[],
  {
    x,
    y,
    width,
    isStock,
  }: { readonly x: number; readonly y: number; readonly width: number; readonly isStock: boolean },
): readonly SVGTemplateResult[] =>
  marbles.slice(-Math.max(1, Math.floor(width / STEP))).map(([item, kind], index) => {
    const marble = svg`<g transform=${`translate(${x + RADIUS + index * STEP} ${y})`}><title>${item}: ${MARBLE_WORDS[kind]}</title>${drawMarble(kind)}</g>`
    return isStock ? svg`<a href=${stockPath(item)} tabindex="-1">${marble}</a>` : marble
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
    ${(Object.keys(MARBLE_WORDS) as MarbleKind[]).map(
      (kind) =>
        html`<span><svg width="12" height="12" viewBox="-6 -6 12 12" aria-hidden="true">${drawMarble(kind)}</svg> ${MARBLE_WORDS[kind]}</span>`,
    )}
  </p>
`
