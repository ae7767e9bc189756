import { html, nothing, type TemplateResult } from 'lit-html'
import type { OneRun, RunChecks } from '../../api/runs.js'
import type { FolderChanges } from '../../api/state.js'
import { fetchJson, fetchLater } from '../parts/fetch-json.js'
import { formatDaysIn, formatDuration, formatInstant, formatQuantity } from '../parts/format.js'
import { runPath } from '../parts/stock-link.js'
import { describeChanges, renderFigures } from '../run/answer.js'
import { renderChanges, renderChecks, renderChecksLine } from '../run/changes.js'
import { renderFlow } from '../run/flow.js'
import type { PageContext, View } from '../view.js'
import { MARKS } from './runs.js'

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
    ${renderFigures(run.state)} ${renderFlow(run.state, page)}
    ${Object.entries(run.lacks).map(renderLack)}
    ${renderChecks(checks)} ${renderChanges(changes, page)}
  `
}

/** What the folder lacked of a stream after the run, from this one and earlier ones. */
const renderLack = ([name, { count, items = [] }]: readonly [string, OneRun['lacks'][string]]): TemplateResult => html`
  <p><b>${name}</b>: missing after the run: ${count === 'all' ? 'all of it' : formatQuantity(count, 'item')}
    ${items[0] === 'all' ? nothing : html`<span class="soft">${items.join(', ')}</span>`}</p>
`
