import { html, nothing, type SVGTemplateResult, svg, type TemplateResult } from 'lit-html'
import type { LivePhase, LiveStream } from '../../api/live.js'
import { formatDuration } from '../parts/format.js'
import { type GraphLayout, INDENT, layOutGraph, type PlacedPhase } from './layout.js'
import { type NodeContext, renderHeadings, renderNode } from './node.js'

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
export const renderGraph = (phases: readonly LivePhase[], streams: readonly LiveStream[], context: GraphContext): TemplateResult => {
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
        ${stream === undefined ? nothing : renderNode(place, stream, { ...context, isNarrow, isChosen: chosen === place.name, isStock: ofStocks.has(place.name) })}
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
