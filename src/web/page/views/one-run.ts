import { html, nothing, type TemplateResult } from 'lit-html'
import type { OneRun, RunChecks, RunStream } from '../../api/runs.js'
import type { FolderChanges } from '../../api/state.js'
import { fetchJson, fetchLater } from '../parts/fetch-json.js'
import { formatBytes, formatDaysIn, formatDuration, formatInstant, formatNumber, formatQuantity } from '../parts/format.js'
import { runPath } from '../parts/stock-link.js'
import { describeChanges } from '../run/answer.js'
import { renderChanges, renderChecks, renderChecksLine } from '../run/changes.js'
import type { PageContext, View } from '../view.js'
import { MARKS, outcomeWord } from './runs.js'

interface RunParts {
  readonly run: OneRun
  changes?: FolderChanges | Error
  checks?: RunChecks | Error
}

const asked = new WeakSet<RunParts>()

/** One run: its figures by stream, against the run before, and what failed. */
export const oneRunView: View<RunParts> = {
  path: '/runs/:id',
  title: ({ params }) => `Run ${params.id ?? ''}`,
  load: async ({ params }, signal) => {
    return { run: await fetchJson<OneRun>(`/api${runPath(params.id ?? '')}`, { signal }) }
  },
  render: (parts, page) => {
    if (!asked.has(parts)) {
      asked.add(parts)
      // Comparing and checking take a moment: the figures are shown before.
      const path = `/api${runPath(parts.run.run)}`
      fetchLater<FolderChanges>(`${path}/changes`, (changes) => Object.assign(parts, { changes }), page.update)
      fetchLater<RunChecks>(`${path}/checks`, (checks) => Object.assign(parts, { checks }), page.update)
    }
    return renderOneRun(parts, page)
  },
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
  const [mark, tone] = MARKS[run.outcome] ?? ['', '']
  const failing = run.streams.filter(({ problems, error, missing }) => problems.length > 0 || error !== undefined || missing !== undefined)
  return html`
    <section class="answer">
      <p class="pager">
        <a href="/runs">All runs</a>
        ${run.earlier === undefined ? nothing : html`<a id="earlier" href=${runPath(run.earlier)}>← run before</a>`}
        ${run.later === undefined ? nothing : html`<a id="later" href=${runPath(run.later)}>run after →</a>`}
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
    <div class="scroll"><table class="rows">
      <thead><tr>
        <th>stream</th><th>result</th><th class="number">took</th><th class="number optional" title="Duration in the run before">before</th><th class="number optional">items</th><th class="number">failed</th>
        <th class="number optional">incomplete</th><th class="number optional">requests</th><th class="number optional">retries</th>
        <th class="number optional" title="Answers 429: too many requests">rate limited</th><th class="number optional">files</th><th class="number optional">size</th>
      </tr></thead>
      <tbody>${run.streams.map(renderStream)}</tbody>
    </table></div>
    ${failing.length === 0 ? nothing : html`<section><h2>Failures and notes</h2>${failing.map(renderFailures)}</section>`}
    ${renderChecks(checks)} ${renderChanges(changes, page)}
  `
}

/** A zero says nothing where a number means trouble. */
const trouble = (value: number, tone: string, more = ''): TemplateResult =>
  html`<td class=${`number ${value > 0 ? tone : 'soft'} ${more}`}>${value === 0 ? '·' : formatNumber(value)}</td>`

const renderStream = (stream: RunStream): TemplateResult => html`
  <tr>
    <th scope="row">${stream.name}</th>
    <td>${outcomeWord(stream.outcome === 'success' ? 'complete' : stream.outcome)}</td>
    <td class="number">${formatDuration(stream.durationMs)}</td>
    <td class="number soft optional">${formatDuration(stream.beforeMs)}</td>
    <td class="number optional">${formatNumber(stream.done)}</td>
    ${trouble(stream.lost, 'failed')} ${trouble(stream.partial, 'waiting', 'optional')}
    <td class="number optional">${formatNumber(stream.requests)}</td>
    ${trouble(stream.retries, '', 'optional')} ${trouble(stream.rateLimited, 'waiting', 'optional')}
    <td class="number optional">${formatNumber(stream.files)}</td>
    <td class="number optional">${formatBytes(stream.bytes)}</td>
  </tr>
`

const renderFailures = ({ name, error, problems, missing }: RunStream): TemplateResult => html`
  <h3>${name}</h3>
  ${error === undefined ? nothing : html`<p class="failed">${formatDaysIn(error)}</p>`}
  ${missing === undefined ? nothing : html`<p>Missing after the run: ${missing.count === 'all' ? 'all of it' : formatQuantity(missing.count, 'item')}${missing.items === undefined || missing.items[0] === 'all' ? nothing : html` <span class="soft">${missing.items.join(', ')}</span>`}</p>`}
  <ul class="problems">${problems
    .filter(({ reason }) => reason !== error)
    .map(({ item, reason }) => html`<li>${item === undefined ? nothing : html`<b>${item}</b> `}${formatDaysIn(reason)}</li>`)}</ul>
`
