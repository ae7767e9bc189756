import { html, nothing, type TemplateResult } from 'lit-html'
import type { LiveRunState } from '../../api/live.js'
import type { FolderChanges, FolderState } from '../../api/state.js'
import { fetchPart, formatCommand } from '../parts/fetch-json.js'
import { renderAnswer, renderFigures, renderFix, renderLost, renderProgress } from '../run/answer.js'
import { renderChanges } from '../run/changes.js'
import { renderHosts } from '../run/detail.js'
import { type Flow, renderFlow } from '../run/flow.js'
import { marbleLegend } from '../run/graph.js'
import { type LiveStore, loadState, openLiveStore } from '../run/live-store.js'
import type { PageContext, View } from '../view.js'

interface RunData {
  readonly state: FolderState
  /** Filled in later: comparing takes a moment. */
  changes?: FolderChanges | Error
}

/** What is kept while the view is shown. */
interface RunSession {
  readonly store: LiveStore
  /** The last state of a run that was active while the page was open, with its marbles. */
  watched?: LiveRunState
}

let session: RunSession | undefined

/** The run: live while one is active, else how the last one ended. */
export const runView: View<RunData> = {
  path: '/run',
  isLive: true,
  title: () => {
    const run = session?.store.active()
    return run ? `${Math.floor(run.share * 100)} % · Run` : 'Run'
  },
  load: async (_, signal, update) => {
    const data: RunData = { state: await loadState(session?.store, signal) }
    if (data.state.last !== undefined) void fetchPart(data, 'changes', '/api/changes', { update })
    return data
  },
  enter: (page) => {
    const store = openLiveStore(() => {
      const run = store.run()
      if (run) own.watched = run
      page.update()
    }, page.reload)
    const own: RunSession = { store }
    session = own
    const clock = setInterval(page.update, 1_000)
    return () => {
      clearInterval(clock)
      store.close()
      session = undefined
    }
  },
  render: (data, page) => renderRun(data, page),
  keys: (page) => [
    { keys: 'm', about: 'marbles: the newest items of each stream', act: () => toggleMarbles(page) },
  ],
}

const toggleMarbles = ({ place, setQuery }: PageContext): void =>
  setQuery({ marbles: place.query.has('marbles') ? undefined : '1' })

const renderRun = ({ state, changes }: RunData, page: PageContext): TemplateResult => {
  const now = Date.now()
  const active = session?.store.active()
  const run = active ?? addMarbles(state.last, session?.watched)
  const lost = renderLost(session?.store.isLost() ?? false, active?.at, now)
  return html`
    ${lost} ${active ? renderProgress(active, state, now) : renderAnswer(state, changes, now)}
    ${run === undefined ? renderFirstSteps(state) : html`${state.answer.tone === 'ok' ? nothing : renderFix(state)}${renderFigures(run)}`}
    ${active && renderHosts(active, now)}
    ${run?.streams.some(({ marbles }) => marbles.length > 0) ? renderToolbar(page) : nothing}
    ${renderFlow(run ?? createIdleRun(state), page)}
    ${active ? nothing : renderChanges(changes, page)}
  `
}

/**
 * The marbles of the run that one has watched stay, until another run is the last one. What was seen of it
 * may be a second older than its end.
 */
const addMarbles = (
  last: LiveRunState | undefined,
  watched: LiveRunState | undefined,
): LiveRunState | undefined => {
  if (last === undefined || watched?.run !== last.run) return last
  if (watched.outcome !== undefined) return watched
  const marbles = new Map(watched.streams.map((stream) => [stream.name, stream.marbles]))
  return {
    ...last,
    streams: last.streams.map((stream) => ({ ...stream, marbles: marbles.get(stream.name) ?? [] })),
  }
}

const renderToolbar = (page: PageContext): TemplateResult => {
  const isOn = page.place.query.has('marbles')
  return html`
    <div class="toolbar">
      <button type="button" aria-pressed=${isOn} title="Newest items of each stream (m)" @click=${() => toggleMarbles(page)}>Marbles</button>
      ${isOn ? marbleLegend() : nothing}
    </div>
  `
}

/** The graph before the first run. */
const createIdleRun = ({ phases }: FolderState): Flow => ({
  phases,
  startedAt: 0,
  streams: phases
    .flatMap(({ streams }) => streams)
    .map(({ name }) => ({
      name,
      state: 'waiting' as const,
      done: 0,
      workers: 0,
      requests: 0,
      retries: 0,
      rateLimited: 0,
      lost: 0,
      partial: 0,
      statuses: {},
      files: 0,
      stored: 0,
      failures: [],
      warnings: [],
      pauses: [],
      marbles: [],
    })),
})

const renderFirstSteps = ({ folder = '' }: FolderState): TemplateResult => html`
  <p class="first-steps">
    Start a run: <code>${formatCommand(`run --out ${folder}`)}</code>. This page shows it live. To try it without a provider:
    <code>${formatCommand(`run --simulate --out ${folder}`)}</code>
  </p>
`
