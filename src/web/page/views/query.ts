import { html, nothing, type TemplateResult } from 'lit-html'
import { formatDuration, formatNumber, formatQuantity } from '../../../model/format.js'
import type { QueriesAnswer, QueryAnswer, QueryRequest } from '../../api/query.js'
import { AS_OF, asOfPath } from '../parts/as-of.js'
import { colourSql, type Suggestion, suggest, wordBefore } from '../parts/completion.js'
import { dataTable, followScroll, rowKeys } from '../parts/data-table.js'
import { fetchJson } from '../parts/fetch-json.js'
import { choices, copyFrom, sentences } from '../parts/panel.js'
import { resultChart } from '../parts/result-chart.js'
import { readStored, store } from '../parts/storage.js'
import type { PageContext, Place, View } from '../view.js'

/** The statement in the box, and the last answer. */
interface QueryState {
  text: string
  /** The statement that was asked last, from the address bar or the box. */
  asked: string
  running?: AbortController
  answer?: QueryAnswer
  error?: string
  /** The names that may continue what is typed, of which one is chosen. */
  suggestions: readonly Suggestion[]
}

/**
 * The statements that were run in this browser, and those that were saved in it, the newest first; how many
 * at most.
 */
const STORED = { 'query-history': 20, 'query-saved': 100 } as const

const remember = (list: keyof typeof STORED, sql: string): void =>
  store(list, [sql, ...readStored(list).filter((one) => one !== sql)].slice(0, STORED[list]))

/** A statement, as of a day if one is chosen. */
const keyOf = (sql: string, day: string): string => `${day}\n${sql}`

const sqlOf = (key: string): string => key.slice(key.indexOf('\n') + 1)

const MAX_ANSWERS = 8

const createQueryView = (): View<QueriesAnswer> => {
  const begin = (): QueryState => ({ text: '', asked: '', suggestions: [] })
  let state = begin()
  // What was typed and not run when the reader left, and at which statement.
  let draft: { readonly at: string; readonly text: string } | undefined
  // Back shows an answer again without another run.
  const answers = new Map<string, QueryAnswer>()
  return {
    path: '/query',
    hasDays: true,
    title: () => 'Query',
    enter: (page) => {
      state = begin()
      if (draft !== undefined && !page.place.query.get('sql')) {
        state.text = draft.text
        draft = undefined
      }
      const stopFollowing = followScroll(page)
      return () => {
        stopFollowing()
        state.running?.abort()
        draft = state.text === sqlOf(state.asked) ? undefined : { at: state.asked, text: state.text }
      }
    },
    load: (_, signal) => fetchJson<QueriesAnswer>('/api/queries', { signal }),
    render: (data, page) => {
      const [sql, day] = [page.place.query.get('sql') ?? '', page.place.query.get(AS_OF) ?? '']
      const key = sql === '' ? '' : keyOf(sql, day)
      if (key !== state.asked) {
        state.text = draft?.at === key ? draft.text : sql
        draft = undefined
        if (sql === '') {
          state.running?.abort()
          state = begin()
        } else if (answers.has(key))
          Object.assign(state, { asked: key, answer: answers.get(key), error: undefined })
        else void run(state, sql, page)
      }
      if (state.answer !== undefined) answers.set(state.asked, state.answer)
      const [oldest] = answers.keys()
      if (answers.size > MAX_ANSWERS && oldest !== undefined) answers.delete(oldest)
      return renderQuery(data, state, page)
    },
    keys: rowKeys,
  }
}

/** Answers a statement; an earlier one that still runs is stopped. */
const run = async (state: QueryState, sql: string, page: PageContext): Promise<void> => {
  const earlier = state.running
  const running = new AbortController()
  const day = page.place.query.get(AS_OF) ?? ''
  Object.assign(state, { asked: keyOf(sql, day), running, suggestions: [] })
  delete state.error
  delete state.answer
  earlier?.abort()
  const request: QueryRequest = { sql, limit: 5_000, ...(day === '' ? {} : { day }) }
  const options = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: running.signal,
  }
  try {
    state.answer = await fetchJson<QueryAnswer>('/api/query', options)
    remember('query-history', sql)
  } catch (error) {
    if (running.signal.aborted) {
      if (state.running === running) state.error = 'stopped'
    } else {
      state.error = (error as Error).message
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
    else
      page.setQuery(
        {
          ...Object.fromEntries([...page.place.query.keys()].map((key) => [key, undefined])),
          sql,
          [AS_OF]: page.place.query.get(AS_OF) ?? undefined,
        },
        true,
      )
    page.update()
  }
  const { running } = state
  return html`
    <h1 class="hidden">Query</h1>
    <form class="query" @submit=${(event: SubmitEvent) => {
      event.preventDefault()
      start()
    }}>
      ${statementBox(data, state, { page, start })}
      <div class="tools">
        <button type="submit">Run</button> <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        ${running && html`<button type="button" @click=${() => running.abort()}>Stop</button> <span class="soft" role="status">Running …</span>`}
        ${shareTools(state, page)}
        ${state.asked === '' ? nothing : html`<a href="/query">All queries</a>`}
      </div>
    </form>
    ${state.error && html`<pre class="refusal" role="alert" tabindex="0">${state.error}</pre>`}
    ${state.answer && renderResult(state.answer, page)}
    ${state.asked === '' ? html`${storedList('query-saved', 'Saved in this browser', start, page)} ${storedList('query-history', 'Run here before', start, page)} ${queryList(data.queries, start)}` : nothing}
    ${renderTables(data.tables)}
  `
}

/** The box of the statement, with the names that may continue it: Tab takes the first one. */
const statementBox = (
  { tables }: QueriesAnswer,
  state: QueryState,
  { page, start }: { readonly page: PageContext; readonly start: () => void },
): TemplateResult => {
  const take = (box: HTMLTextAreaElement, name: string): void => {
    const word = wordBefore(box.value, box.selectionStart)
    box.setRangeText(name, box.selectionStart - word.length, box.selectionStart, 'end')
    Object.assign(state, { text: box.value, suggestions: [] })
    box.focus()
    page.update()
  }
  const onInput = (event: InputEvent): void => {
    const box = event.target as HTMLTextAreaElement
    state.text = box.value
    state.suggestions = suggest(tables, box.value, wordBefore(box.value, box.selectionStart))
    // What is rendered stays equal to what is typed, so that another statement replaces it.
    page.update()
  }
  const onKey = (event: KeyboardEvent): void => {
    const [first] = state.suggestions
    if (event.key === 'Tab' && !event.shiftKey && first !== undefined) {
      event.preventDefault()
      take(event.target as HTMLTextAreaElement, first.name)
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault()
      start()
    }
  }
  const follow = ({ target }: Event): void => {
    const box = target as HTMLTextAreaElement
    box.previousElementSibling?.scrollTo(box.scrollLeft, box.scrollTop)
  }
  return html`
    <div class="editor"><pre aria-hidden="true">${colourSql(state.text, tables)}&#8203;</pre><textarea id="sql" rows="5" spellcheck="false" aria-label="SQL statement" aria-describedby="suggestions" placeholder="select symbol, close_inr, change_pct from screener order by change_pct desc limit 20"
      .value=${state.text} @input=${onInput} @keydown=${onKey} @scroll=${follow}></textarea></div>
    <p id="suggestions" class="suggestions soft">${state.suggestions.map(
      ({ name, about }, place) =>
        html`<button type="button" class="plain" title=${about} @click=${() => take(document.querySelector('#sql') as HTMLTextAreaElement, name)}>${place === 0 ? html`<kbd>Tab</kbd> ` : nothing}${name}</button> `,
    )}</p>
  `
}

/** Saves the statement in this browser, and copies its address. */
const shareTools = ({ text, asked }: QueryState, page: PageContext): TemplateResult | typeof nothing => {
  if (text.trim() === '') return nothing
  const isSaved = readStored('query-saved').includes(text)
  const save = (): void => {
    remember('query-saved', text)
    page.update()
  }
  const share = (event: Event): void => {
    // What is shown of an answer is in the address.
    const address =
      text === sqlOf(asked)
        ? location.href
        : `${location.origin}/query?${new URLSearchParams({ sql: text, ...(page.place.query.has(AS_OF) ? { [AS_OF]: page.place.query.get(AS_OF) ?? '' } : {}) })}`
    copyFrom(event, address)
  }
  return html`<button type="button" ?disabled=${isSaved} @click=${save}>${isSaved ? 'Saved' : 'Save'}</button>
    ${navigator.clipboard && html`<button type="button" @click=${share}>Copy link</button>`}`
}

/** Statements of this browser; saved ones can be removed. */
const storedList = (
  list: keyof typeof STORED,
  title: string,
  start: (sql: string) => void,
  page: PageContext,
): TemplateResult | typeof nothing => {
  const all = readStored(list)
  if (all.length === 0) return nothing
  const remove = (sql: string): void => {
    store(
      list,
      all.filter((one) => one !== sql),
    )
    page.update()
  }
  return html`<section class="panel queries" aria-label=${title}>
    <div class="head"><h2>${title}</h2></div>
    <table><tbody>${all.map(
      (
        sql,
      ) => html`<tr><td class="wide"><button type="button" class="plain" title=${sql} @click=${() => start(sql)}><bdi>${sql}</bdi></button></td>
      <td><button type="button" class="plain" aria-label=${`Remove ${sql}`} @click=${() => remove(sql)}>✕</button></td></tr>`,
    )}</tbody></table>
  </section>`
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
const renderTables = (tables: QueriesAnswer['tables']): TemplateResult => html`
  <details class="tables">
    <summary>Tables and columns</summary>
    <dl>${tables.map(({ name, about, columns }) => html`<dt>${name}</dt><dd>${about}<br><span class="soft">${columns.join(', ')}</span></dd>`)}</dl>
  </details>
`

/** All rows of the statement in the address: the browser writes them to its file as they come. */
const wholeResultPath = ({ query }: Place): string =>
  asOfPath(`/api/query.csv?${new URLSearchParams({ sql: query.get('sql') ?? '' })}`, { query })

/** The rows of an answer. A plan is shown as it is. */
const renderResult = (answer: QueryAnswer, page: PageContext): TemplateResult => {
  const { columns, rows, isCut, ms, answers = [], warnings = [] } = answer
  if (columns[0]?.name === 'explain_key')
    return html`<pre class="plan">${rows.map((row) => row[1]).join('\n')}</pre>`
  const count = isCut ? `The first ${formatNumber(rows.length)} rows` : formatQuantity(rows.length, 'row')
  const isChart = page.place.query.get('show') === 'chart'
  const show = choices(
    'Show',
    [
      ['table', 'Table'],
      ['chart', 'Chart'],
    ],
    {
      chosen: isChart ? 'chart' : 'table',
      choose: (value) => page.setQuery({ show: value === 'chart' ? value : undefined }),
    },
  )
  return html`
    ${sentences(answers, 'soft')} ${sentences(warnings)}
    ${isCut ? html`<p><a href=${wholeResultPath(page.place)} download="query.csv">The whole result as CSV</a></p>` : nothing}
    ${show} ${isChart ? resultChart(answer, page) : nothing}
    ${dataTable(answer, page, { file: 'query', label: 'Result', isCut, about: `${count} in ${formatDuration(ms)}${isCut ? '; there are more' : ''}` })}
  `
}
