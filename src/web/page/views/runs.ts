import { html, nothing, type TemplateResult } from 'lit-html'
import type { OneRun, RunList, RunRow, RunStream } from '../../api/runs.js'
import { fetchJson } from '../parts/fetch-json.js'
import { formatBytes, formatDayOf, formatDuration, formatInstant, formatNumber, formatQuantity } from '../parts/format.js'
import { contentWidth } from '../parts/size.js'
import { emptyState } from '../parts/states.js'
import { renderTrend } from '../run/trend.js'
import type { PageContext, View } from '../view.js'

const MARKS: Readonly<Record<string, readonly [mark: string, tone: string]>> = {
  complete: ['✔', 'ok'],
  success: ['✔', 'ok'],
  partial: ['!', 'waiting'],
  interrupted: ['!', 'waiting'],
  failed: ['✕', 'failed'],
}

const outcomeWord = (outcome: string): TemplateResult => {
  const [mark, tone] = MARKS[outcome] ?? ['', 'soft']
  return html`<span class=${tone}>${mark} ${outcome}</span>`
}

/** All runs of the folder: a trend, and one line for each. */
export const runsView: View<RunList> = {
  path: '/runs',
  title: () => 'Runs',
  load: (_, signal) => fetchJson('/api/runs', { signal }),
  render: ({ runs }, page) =>
    runs.length === 0
      ? emptyState(
          'No run is recorded yet',
          html`Each run into this folder adds a line here: when, how long, what failed. Start one with <code>scripstream run</code>.`,
        )
      : renderRuns(runs, page),
}

const SHOWN = 50

const renderRuns = (runs: readonly RunRow[], { place, setQuery }: PageContext): TemplateResult => {
  const shown = place.query.has('all') ? runs : runs.slice(0, SHOWN)
  return html`
    <section class="answer"><h1>${describeRuns(runs)}</h1></section>
    ${renderTrend(runs, contentWidth())}
    <div class="scroll"><table class="rows">
      <thead><tr>
        <th>started</th><th>outcome</th><th>as of</th><th class="number">took</th><th class="number">stocks</th><th class="number">requests</th>
        <th class="number">retries</th><th class="number">failed</th><th>missing after it</th>
      </tr></thead>
      <tbody>${shown.map(
        (run) => html`<tr>
          <td><a href=${toPath(run.run)}>${formatInstant(Date.parse(run.startedAt))}</a></td>
          <td>${outcomeWord(run.outcome)}</td>
          <td>${formatDayOf(Date.parse(run.asOf))}</td>
          <td class="number">${formatDuration(run.durationMs)}</td>
          <td class="number">${formatNumber(run.stocks)}</td>
          <td class="number">${formatNumber(run.requests)}</td>
          <td class="number">${formatNumber(run.retries)}</td>
          <td class=${`number${run.lost > 0 ? ' failed' : ''}`}>${formatNumber(run.lost)}</td>
          <td class="cut" title=${run.error ?? run.missing.join(', ')}>${run.error ?? run.missing.join(', ')}</td>
        </tr>`,
      )}</tbody>
    </table></div>
    ${shown.length < runs.length ? html`<button class="link" type="button" @click=${() => setQuery({ all: '1' })}>${formatQuantity(runs.length - shown.length, 'earlier run')}</button>` : nothing}
  `
}

const toPath = (run: string): string => `/runs/${encodeURIComponent(run)}`

/** `12 runs: 10 complete, 2 partial`. */
const describeRuns = (runs: readonly RunRow[]): string => {
  const counts = new Map<string, number>()
  for (const { outcome } of runs) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return `${formatQuantity(runs.length, 'run')}: ${[...counts].map(([outcome, count]) => `${formatNumber(count)} ${outcome}`).join(', ')}`
}

/** One run: its figures by stream, against the run before, and what failed. */
export const oneRunView: View<OneRun> = {
  path: '/runs/:id',
  title: ({ params }) => `Run ${params.id ?? ''}`,
  load: ({ params }, signal) => fetchJson(`/api/runs/${encodeURIComponent(params.id ?? '')}`, { signal }),
  render: (run) => renderOneRun(run),
  keys: ({ go }) => [
    { keys: '[', about: 'the run before', act: () => followLink('earlier', go) },
    { keys: ']', about: 'the run after', act: () => followLink('later', go) },
  ],
}

const followLink = (id: string, go: PageContext['go']): void => {
  const href = document.getElementById(id)?.getAttribute('href')
  if (href) go(href)
}

const renderOneRun = (run: OneRun): TemplateResult => {
  const [mark, tone] = MARKS[run.outcome] ?? ['', '']
  const failing = run.streams.filter(({ problems, error, missing }) => problems.length > 0 || error !== undefined || missing !== undefined)
  return html`
    <section class="answer">
      <p class="pager">
        <a href="/runs">All runs</a>
        ${run.earlier === undefined ? nothing : html`<a id="earlier" href=${toPath(run.earlier)}>← run before</a>`}
        ${run.later === undefined ? nothing : html`<a id="later" href=${toPath(run.later)}>run after →</a>`}
      </p>
      <h1><span class=${tone} aria-hidden="true">${mark}</span> Run of ${formatInstant(Date.parse(run.startedAt))}: ${run.outcome}</h1>
      <p>
        As of ${formatInstant(Date.parse(run.asOf))}. ${formatQuantity(run.stocks, 'stock')} in ${formatDuration(run.durationMs)},
        ${formatQuantity(run.requests, 'request')}, ${formatQuantity(run.lost, 'item')} failed.
        ${run.drift > 0 ? html`<span class="waiting">Answers had changed in ${formatQuantity(run.drift, 'place')}.</span>` : nothing}
      </p>
      ${run.error === undefined ? nothing : html`<p class="failed">${run.error}</p>`}
    </section>
    <div class="scroll"><table class="rows">
      <thead><tr>
        <th>stream</th><th>result</th><th class="number">took</th><th class="number">before</th><th class="number">items</th><th class="number">failed</th>
        <th class="number">incomplete</th><th class="number">requests</th><th class="number">retries</th><th class="number">429</th>
        <th class="number">files</th><th class="number">size</th>
      </tr></thead>
      <tbody>${run.streams.map(renderStream)}</tbody>
    </table></div>
    ${failing.length === 0 ? nothing : html`<section><h2>What failed, and why</h2>${failing.map(renderFailures)}</section>`}
  `
}

/** A zero says nothing where a number means trouble. */
const trouble = (value: number, tone: string): TemplateResult =>
  html`<td class=${`number ${value > 0 ? tone : 'soft'}`}>${value === 0 ? '·' : formatNumber(value)}</td>`

const renderStream = (stream: RunStream): TemplateResult => html`
  <tr>
    <th scope="row">${stream.name}</th>
    <td>${outcomeWord(stream.outcome === 'success' ? 'complete' : stream.outcome)}</td>
    <td class="number">${formatDuration(stream.durationMs)}</td>
    <td class="number soft">${formatDuration(stream.beforeMs)}</td>
    <td class="number">${formatNumber(stream.done)}</td>
    ${trouble(stream.lost, 'failed')} ${trouble(stream.partial, 'waiting')}
    <td class="number">${formatNumber(stream.requests)}</td>
    ${trouble(stream.retries, '')} ${trouble(stream.rateLimited, 'waiting')}
    <td class="number">${formatNumber(stream.files)}</td>
    <td class="number">${formatBytes(stream.bytes)}</td>
  </tr>
`

const renderFailures = ({ name, error, problems, missing }: RunStream): TemplateResult => html`
  <h3>${name}</h3>
  ${error === undefined ? nothing : html`<p class="failed">${error}</p>`}
  ${missing === undefined ? nothing : html`<p>Missing after the run: ${missing.count === 'all' ? 'all of it' : formatQuantity(missing.count, 'item')}${missing.items === undefined || missing.items[0] === 'all' ? nothing : html` <span class="soft">${missing.items.join(', ')}</span>`}</p>`}
  <ul class="problems">${problems
    .filter(({ reason }) => reason !== error)
    .map(({ item, reason }) => html`<li>${item === undefined ? nothing : html`<b>${item}</b> `}${reason}</li>`)}</ul>
`
