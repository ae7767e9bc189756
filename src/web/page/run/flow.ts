import { html, nothing, type TemplateResult } from 'lit-html'
import { formatNumber } from '../../../model/format.js'
import type { LiveRunState, LiveStream } from '../../api/live.js'
import { contentWidth } from '../parts/small-charts.js'
import type { PageContext } from '../view.js'
import { renderDetail, renderFleet, renderLosses, renderWarnings } from './detail.js'
import { renderGraph } from './graph.js'
import { keepStreams } from './layout.js'

/** What the graph needs of a run. */
export type Flow = Pick<LiveRunState, 'phases' | 'streams' | 'startedAt' | 'fleet' | 'notes' | 'outcome'>

/** Fewer complete streams stay in the graph. */
const MIN_FOLDED = 3

const isWholeStream = ({ state }: LiveStream): boolean => state === 'success'

/**
 * The streams of a run as a graph, the one that is chosen in detail, and what is missing and why. Of a run
 * that has ended, complete streams are folded.
 */
export const renderFlow = (run: Flow, page: PageContext): TemplateResult => {
  const { phases, streams, startedAt, outcome } = run
  const { query } = page.place
  const now = Date.now()
  const choose = (name: string | undefined): void =>
    page.setQuery({ stream: query.get('stream') === name ? undefined : name })
  const chosen = streams.find(({ name }) => name === query.get('stream'))
  const complete = outcome === undefined ? 0 : streams.filter(isWholeStream).length
  const canFold = complete >= MIN_FOLDED && complete < streams.length
  const isFolded = canFold && !query.has('all')
  const shown = isFolded ? streams.filter((stream) => !isWholeStream(stream)) : streams
  return html`
    ${!canFold ? nothing : html`<p><button type="button" aria-expanded=${!isFolded} @click=${() => page.setQuery({ all: isFolded ? '1' : undefined })}>${isFolded ? '▸' : '▾'} <span class="ok">✔</span> ${formatNumber(complete)} complete</button></p>`}
    ${renderGraph(keepStreams(phases, shown), streams, {
      now,
      startedAt,
      width: contentWidth(),
      hasMarbles: query.has('marbles'),
      chosen: chosen?.name,
      isOver: outcome !== undefined,
      onChoose: choose,
    })}
    ${chosen && renderDetail(chosen, phases, now, () => choose(undefined))}
    ${renderFleet(run)} ${renderLosses(streams, phases, choose)} ${renderWarnings(run)}
  `
}
