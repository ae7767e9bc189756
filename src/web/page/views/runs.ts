import { html, nothing, type SVGTemplateResult, svg, type TemplateResult } from 'lit-html'
import {
  formatDayOf,
  formatDaysIn,
  formatDuration,
  formatInstant,
  formatNumber,
  formatQuantity,
  formatSigned,
} from '../../../model/format.js'
import type { OneRun, RunChecks, RunList, RunRow } from '../../api/runs.js'
import type { FolderChanges } from '../../api/state.js'
import { fetchJson, fetchPart } from '../parts/fetch-json.js'
import { contentWidth } from '../parts/small-charts.js'
import { emptyState } from '../parts/states.js'
import { runPath } from '../parts/stock-link.js'
import { describeChanges, renderFigures } from '../run/answer.js'
import { renderChanges, renderChecks, renderChecksLine } from '../run/changes.js'
import { renderFlow } from '../run/flow.js'
import type { PageContext, View } from '../view.js'

const OUTCOME_MARKS: Readonly<Record<string, readonly [mark: string, tone: string]>> = {
  complete: ['✔', 'ok'],
  success: ['✔', 'ok'],
  partial: ['!', 'waiting'],
  interrupted: ['!', 'waiting'],
  failed: ['✕', 'failed'],
}

const outcomeWord = (outcome: string): TemplateResult => {
  const [mark, tone] = OUTCOME_MARKS[outcome] ?? ['', 'soft']
  return html`<span class=${tone}>${mark} ${outcome}</span>`
}

/** All runs of the folder: a trend, and one line for each. */
export const runsView: View<RunList> = {
  path: '/runs',
  title: () => 'Runs',
  load: (_, signal) => fetchJson('/api/runs', { signal }),
  render: ({ runs, damage }, page) =>
    runs.length === 0 && damage.length === 0
      ? emptyState(
          'No run is recorded yet',
          html`Each run into this folder adds a line here: when, how long, what failed. The <a href="/run">run page</a> has the command that starts one.`,
        )
      : html`${damage.map((text) => html`<p class="waiting">! ${text}</p>`)}${renderRuns(runs, page)}`,
}

const SHOWN_RUNS = 50

const renderRuns = (runs: readonly RunRow[], { place, setQuery }: PageContext): TemplateResult => {
  const shown = place.query.has('all') ? runs : runs.slice(0, SHOWN_RUNS)
  return html`
    <section class="answer"><h1>${describeRuns(runs)}</h1></section>
    ${renderTrend(runs, contentWidth())}
    <div class="scroll"><table class="rows">
      <thead><tr>
        <th>started</th><th>outcome</th><th class="optional">as of</th><th class="number">took</th><th class="number optional">stocks</th>
        <th class="number optional">requests</th><th class="number optional">retries</th><th class="number">failed</th><th class="optional">missing, and what needs a look</th>
      </tr></thead>
      <tbody>${shown.map(
        (run, index) => html`<tr>
          <td><a href=${runPath(run.run)}>${formatInstant(Date.parse(run.startedAt))}</a></td>
          <td>${outcomeWord(run.outcome)}</td>
          <td class="optional">${formatDayOf(Date.parse(run.asOf))}</td>
          <td class="number">${formatDuration(run.durationMs)}</td>
          <td class="number optional">${describeGrowth(run.stocks, runs[index + 1]?.stocks)} ${formatNumber(run.stocks)}</td>
          <td class="number optional">${formatNumber(run.requests)}</td>
          <td class="number optional">${formatNumber(run.retries)}</td>
          <td class=${`number${run.lost > 0 ? ' failed' : ''}`}>${formatNumber(run.lost)}</td>
          <td class="cut optional" title=${describeTrouble(run)}>${describeTrouble(run)}</td>
        </tr>${describeTrouble(run) === '' ? nothing : html`<tr class="narrow"><td class="soft" colspan="4">${describeTrouble(run)}</td></tr>`}`,
      )}</tbody>
    </table></div>
    ${shown.length < runs.length ? html`<button class="link" type="button" @click=${() => setQuery({ all: '1' })}>${formatQuantity(runs.length - shown.length, 'earlier run')}</button>` : nothing}
  `
}

/**
 * How many stocks there are more or fewer than in the run before. A failed run has read no list of stocks.
 */
const describeGrowth = (stocks: number, before = stocks): TemplateResult | typeof nothing =>
  stocks === before || stocks === 0 || before === 0
    ? nothing
    : html`<span class="soft" title="Against the run before">${formatSigned(stocks - before, 0)}</span>`

const describeTrouble = ({ error, missing, drift }: RunRow): string =>
  error ??
  [...missing, ...(drift > 0 ? [`answers changed in ${formatQuantity(drift, 'place')}`] : [])].join(', ')

/** `12 runs: 10 complete, 2 partial`. */
const describeRuns = (runs: readonly RunRow[]): string => {
  const counts = new Map<string, number>()
  for (const { outcome } of runs) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return `${formatQuantity(runs.length, 'run')}: ${[...counts].map(([outcome, count]) => `${formatNumber(count)} ${outcome}`).join(', ')}`
}

const TREND_HEIGHT = 96
const TOP = 16
const TREND_GAP = 24
const MAX_STEP = 24

const SERIES = [
  {
    title: 'duration',
    read: ({ durationMs }: RunRow) => durationMs,
    format: formatDuration,
    kind: 'duration',
  },
  { title: 'items failed', read: ({ lost }: RunRow) => lost, format: formatNumber, kind: 'lost' },
]

/** How long the runs took and what they lost, the newest on the right; as many as fit. */
const renderTrend = (newestFirst: readonly RunRow[], width: number): TemplateResult => {
  const own = width < 760 ? width : (width - TREND_GAP) / 2
  return html`<div class="trends">${SERIES.filter(({ read }) => newestFirst.some((run) => read(run) > 0)).map((series) => renderSeries(newestFirst, series, own))}</div>`
}

const renderSeries = (
  newestFirst: readonly RunRow[],
  { title, read, format, kind }: (typeof SERIES)[number],
  width: number,
): TemplateResult => {
  const step = Math.max(6, Math.min(MAX_STEP, width / Math.max(1, newestFirst.length)))
  const runs = newestFirst.slice(0, Math.floor(width / step)).reverse()
  const most = Math.max(0, ...runs.map(read))
  const bar = (run: RunRow, index: number): SVGTemplateResult => {
    const value = read(run)
    const height = most === 0 ? 0 : Math.max(value > 0 ? 2 : 0, (value / most) * (TREND_HEIGHT - TOP))
    return svg`
      <a href=${runPath(run.run)} tabindex="-1" aria-label=${`${title}: ${format(value)}, ${run.outcome}`}><g transform=${`translate(${index * step} 0)`}>
        <title>${formatInstant(Date.parse(run.startedAt))}: ${run.outcome}, ${format(value)}</title>
        <rect class="hit" width=${step} height=${TREND_HEIGHT} />
        <rect class=${`bar ${kind} ${run.outcome}`} x="1" y=${TREND_HEIGHT - height} width=${step - 2} height=${height} />
      </g></a>
    `
  }
  return html`
    <figure>
      <figcaption>${title} <span class="soft">up to ${format(most)}, last ${formatQuantity(runs.length, 'run')}</span></figcaption>
      <svg class="trend" width=${width} height=${TREND_HEIGHT + 1} role="group" aria-label=${`${title} of the last ${formatQuantity(runs.length, 'run')}, at most ${format(most)}`}>
        ${runs.map(bar)}
        <path class="axis" d=${`M0 ${TREND_HEIGHT + 0.5}H${width}`} />
      </svg>
    </figure>
  `
}

interface RunParts {
  readonly run: OneRun
  changes?: FolderChanges | Error
  checks?: RunChecks | Error
}

/** One run: its figures by stream, against the run before, and what failed. */
export const oneRunView: View<RunParts> = {
  path: '/runs/:id',
  title: ({ params }) => `Run ${params.id ?? ''}`,
  load: async ({ params }, signal, update) => {
    const path = `/api${runPath(params.id ?? '')}`
    const parts: RunParts = { run: await fetchJson<OneRun>(path, { signal }) }
    void fetchPart(parts, 'changes', `${path}/changes`, { update })
    void fetchPart(parts, 'checks', `${path}/checks`, { update })
    return parts
  },
  render: (parts, page) => renderOneRun(parts, page),
  keys: ({ go }) => [
    { keys: '[', about: 'the run before', act: () => followLink('earlier', go) },
    { keys: ']', about: 'the run after', act: () => followLink('later', go) },
  ],
}

const PENDING = { run: '', tone: 'soft', text: 'being made …' } as const

const followLink = (id: string, go: PageContext['go']): void => {
  const href = document.getElementById(id)?.getAttribute('href')
  if (href) go(href)
}

const renderOneRun = ({ run, changes, checks }: RunParts, page: PageContext): TemplateResult => {
  const [mark, tone] = OUTCOME_MARKS[run.outcome] ?? ['', '']
  return html`
    <section class="answer">
      <p class="pager">
        <a href="/runs">All runs</a>
        ${run.earlier && html`<a id="earlier" href=${runPath(run.earlier)}>← run before</a>`}
        ${run.later && html`<a id="later" href=${runPath(run.later)}>run after →</a>`}
      </p>
      <h1><span class=${tone} aria-hidden="true">${mark}</span> Run of ${formatInstant(Date.parse(run.startedAt))}: ${run.outcome}</h1>
      <p>
        As of ${formatInstant(Date.parse(run.asOf))}. ${formatQuantity(run.stocks, 'stock')} in ${formatDuration(run.durationMs)},
        ${formatQuantity(run.requests, 'request')}, ${formatQuantity(run.lost, 'item')} failed.
        ${run.drift > 0 ? html`<span class="waiting">Answers had changed in ${formatQuantity(run.drift, 'place')}.</span>` : nothing}
      </p>
      ${[run.error ?? [], run.stale].flat().map((text) => html`<p class="failed">${formatDaysIn(text)}</p>`)}
      <p class="changed">${describeChanges(changes)}</p>
      ${checks instanceof Error ? nothing : renderChecksLine(checks ?? PENDING, '#checks')}
    </section>
    ${renderFigures(run.state)} ${renderFlow(run.state, page)}
    ${Object.entries(run.lacks).map(renderLack)}
    ${renderChecks(checks)} ${renderChanges(changes, page)}
  `
}

/** What the folder lacked of a stream after the run, from this one and earlier ones. */
const renderLack = ([name, { count, items = [] }]: readonly [
  string,
  OneRun['lacks'][string],
]): TemplateResult => html`
  <p><b>${name}</b>: missing after the run: ${count === 'all' ? 'all of it' : formatQuantity(count, 'item')}
    ${items[0] === 'all' ? nothing : html`<span class="soft">${items.join(', ')}</span>`}</p>
`
