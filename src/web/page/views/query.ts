import { html, nothing, type TemplateResult } from 'lit-html'
import type { QueriesAnswer, QueryAnswer, QueryRequest } from '../../api/query.js'
import { dataTable, rowKeys } from '../parts/data-table.js'
import { fetchJson } from '../parts/fetch-json.js'
import { formatDuration, formatNumber, formatQuantity } from '../parts/format.js'
import type { PageContext, View } from '../view.js'

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
    enter: (page) => {
      state = { text: '', asked: '' }
      addEventListener('scroll', page.update, { passive: true })
      return () => {
        removeEventListener('scroll', page.update)
        state.running?.abort()
      }
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
    keys: rowKeys,
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
    else page.setQuery({ sql, sort: undefined, find: undefined }, true)
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
    ${state.answer === undefined ? nothing : renderResult(state.answer, page)}
    ${state.asked === '' ? queryList(data.queries, start) : nothing}
    ${tableList(data.tables)}
  `
}

export const queryView = createQueryView()

/** Saved and worked queries: to run, and to start from. */
const queryList = (queries: QueriesAnswer['queries'], start: (sql: string) => void): TemplateResult => html`
  <section class="panel queries" aria-label="Queries">
    <div class="head"><h2>Queries to start from</h2></div>
    <table><tbody>${queries.map(
      ({ name, about, sql, isSaved }) => html`<tr>
        <td><button type="button" class="plain" title=${sql} @click=${() => start(sql)}><bdi>${name}</bdi></button></td>
        <td class="wide soft">${isSaved ? html`<span class="tag">saved</span> <bdi>${sql}</bdi>` : about}</td>
      </tr>`,
    )}</tbody></table>
  </section>
`

/** What a query may read. */
const tableList = (tables: QueriesAnswer['tables']): TemplateResult => html`
  <details class="tables">
    <summary>Tables and columns</summary>
    <dl>${tables.map(({ name, about, columns }) => html`<dt>${name}</dt><dd>${about}<br><span class="soft">${columns.join(', ')}</span></dd>`)}</dl>
  </details>
`

/** The rows of an answer. A plan is shown as it is. */
const renderResult = (answer: QueryAnswer, page: PageContext): TemplateResult => {
  const { columns, rows, isCut, ms, warnings = [] } = answer
  if (columns[0]?.name === 'explain_key') return html`<pre class="plan">${rows.map((row) => row[1]).join('\n')}</pre>`
  const count = isCut ? `The first ${formatNumber(rows.length)} rows` : formatQuantity(rows.length, 'row')
  return html`
    ${warnings.map((warning) => html`<p class="problem">${warning}</p>`)}
    ${dataTable(answer, page, { file: 'query', label: 'Result', about: `${count} in ${formatDuration(ms)}${isCut ? '; there are more' : ''}` })}
  `
}
