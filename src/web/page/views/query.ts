import { html, nothing, type TemplateResult } from 'lit-html'
import type { QueriesAnswer, QueryAnswer, QueryRequest } from '../../api/query.js'
import { fetchJson } from '../parts/fetch-json.js'
import type { PageContext, View } from '../view.js'
import { queryList, tableList } from './query/lists.js'
import { resultTable } from './query/result.js'

/** The statement in the box, and the last answer. */
interface QueryState {
  text: string
  /** The statement that was asked last, from the address bar or the box. */
  asked: string
  running?: AbortController
  answer?: QueryAnswer
  error?: string
}

const createQueryView = (): View<QueriesAnswer> => {
  let state: QueryState = { text: '', asked: '' }
  return {
    path: '/query',
    title: () => 'Query',
    enter: () => {
      state = { text: '', asked: '' }
      return () => state.running?.abort()
    },
    load: (_, signal) => fetchJson<QueriesAnswer>('/api/queries', { signal }),
    render: (data, page) => {
      const sql = page.place.query.get('sql') ?? ''
      if (sql !== state.asked) {
        state.text = sql
        if (sql === '') state = { text: '', asked: '' }
        else void run(state, sql, page)
      }
      return renderQuery(data, state, page)
    },
  }
}

/** Answers a statement; an earlier one that still runs is stopped. */
const run = async (state: QueryState, sql: string, page: PageContext): Promise<void> => {
  const earlier = state.running
  const running = new AbortController()
  Object.assign(state, { asked: sql, running })
  delete state.error
  earlier?.abort()
  const request: QueryRequest = { sql, limit: 5_000 }
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(request), signal: running.signal }
  try {
    state.answer = await fetchJson<QueryAnswer>('/api/query', options)
  } catch (error) {
    if (running.signal.aborted) {
      if (state.running === running) state.error = 'stopped'
    } else {
      delete state.answer
      state.error = error instanceof Error ? error.message : String(error)
    }
  }
  if (state.running === running) delete state.running
  page.update()
}

const renderQuery = (data: QueriesAnswer, state: QueryState, page: PageContext): TemplateResult => {
  const start = (sql = state.text): void => {
    if (sql.trim() === '') return
    state.text = sql
    if (sql === page.place.query.get('sql')) void run(state, sql, page)
    else page.setQuery({ sql, sort: undefined, page: undefined }, true)
    page.update()
  }
  const { running } = state
  return html`
    <h1 class="hidden">Query</h1>
    <form class="query" @submit=${(event: SubmitEvent) => {
      event.preventDefault()
      start()
    }}>
      <textarea id="sql" rows="5" spellcheck="false" aria-label="SQL statement" placeholder="select symbol, close_inr, change_pct from screener order by change_pct desc limit 20"
        .value=${state.text} @input=${(event: InputEvent) => {
          state.text = (event.target as HTMLTextAreaElement).value
          // What is rendered stays equal to what is typed, so that another statement replaces it.
          page.update()
        }}
        @keydown=${(event: KeyboardEvent) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          start()
        }}></textarea>
      <div class="tools">
        <button type="submit">Run</button> <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        ${running === undefined ? nothing : html`<button type="button" @click=${() => running.abort()}>Stop</button> <span class="soft" role="status">Running …</span>`}
        ${state.asked === '' ? nothing : html`<a href="/query">All queries</a>`}
      </div>
    </form>
    ${state.error === undefined ? nothing : html`<pre class="refusal" role="alert" tabindex="0">${state.error}</pre>`}
    ${state.answer === undefined ? nothing : resultTable(state.answer, page)}
    ${state.asked === '' ? queryList(data.queries, start) : nothing}
    ${tableList(data.tables)}
  `
}

export const queryView = createQueryView()
