import { html, nothing, type TemplateResult } from 'lit-html'
import { escapeFormula } from '../../../model/formula.js'
import type { QueriesAnswer, QueryAnswer, QueryRequest } from '../../api/query.js'
import { fetchJson } from '../parts/fetch-json.js'
import { formatDuration, formatNumber, formatQuantity } from '../parts/format.js'
import { emptyLine } from '../parts/panel.js'
import { stockLink } from '../parts/stock-link.js'
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

type Rows = QueryAnswer['rows']

const PAGE_ROWS = 50
/** A plan and other long texts are shown as they are. */
const isPlan = ({ columns }: QueryAnswer): boolean => columns[0]?.name === 'explain_key'

/** The rows of an answer, sorted and page by page. */
const resultTable = (answer: QueryAnswer, page: PageContext): TemplateResult => {
  const { columns, rows, isCut, ms, warnings = [] } = answer
  if (isPlan(answer)) return html`<pre class="plan">${rows.map((row) => row[1]).join('\n')}</pre>`
  const [sorted, sort] = sortRows(answer, page.place.query.get('sort'))
  const pages = Math.max(1, Math.ceil(sorted.length / PAGE_ROWS))
  const current = Math.min(pages, Math.max(1, Math.floor(Number(page.place.query.get('page')) || 1)))
  const shown = sorted.slice((current - 1) * PAGE_ROWS, current * PAGE_ROWS)
  const symbols = columns.findIndex(({ name }) => name === 'symbol')
  const list = symbols < 0 ? [] : sorted.flatMap((row) => row[symbols] ?? [])
  // One fraction in a column gives all its numbers two decimals, and a large number all of them separators, so that they line up.
  const formats = columns.map(
    ({ isNumber }, place): ColumnFormat => ({
      decimals: isNumber && rows.some((row) => row[place]?.includes('.')) ? MAX_DECIMALS : 0,
      isGrouped: isNumber && rows.some((row) => Math.abs(Number(row[place])) >= MIN_GROUPED),
    }),
  )
  const cell = (text: string | null, place: number): TemplateResult => {
    if (text === null) return html`<td class=${columns[place]?.isNumber ? 'number soft' : 'soft'}>–</td>`
    if (place === symbols) return html`<td>${stockLink(text, { list })}</td>`
    return columns[place]?.isNumber
      ? html`<td class="number" title=${text}>${shortenNumber(text, formats[place])}</td>`
      : html`<td class="text" title=${text}><bdi>${text}</bdi></td>`
  }
  return html`
    <section class="result" aria-label="Result">
      <div class="head">
        <p role="status">${isCut ? `The first ${formatNumber(rows.length)} rows` : formatQuantity(rows.length, 'row')} in ${formatDuration(ms)}${isCut ? '; there are more' : ''}</p>
        <button type="button" @click=${() => saveFile('query.csv', toCsv(columns, sorted))}>Export CSV</button>
        ${pages === 1 ? nothing : pager(current, pages, page)}
        ${warnings.map((warning) => html`<p class="problem">${warning}</p>`)}
      </div>
      <div class="scroll" tabindex="0" role="region" aria-label="Rows"><table>
        <thead><tr>${columns.map((column, place) => headCell(column, place, { sort, page }))}</tr></thead>
        <tbody>${shown.map((row) => html`<tr>${row.map(cell)}</tr>`)}</tbody>
      </table></div>
      ${rows.length === 0 ? emptyLine('No row matches.') : nothing}
    </section>
  `
}

interface Sort {
  readonly place: number
  readonly isDown: boolean
}

/** `sort=2` sorts by the third column, `sort=-2` from the greatest. A text of numbers sorts as numbers; missing values come last. */
const sortRows = ({ columns, rows }: QueryAnswer, text: string | null): readonly [Rows, Sort | undefined] => {
  const [, sign, digits] = /^(-?)(\d+)$/.exec(text ?? '') ?? []
  const place = Number(digits ?? -1)
  const column = columns[place]
  if (column === undefined) return [rows, undefined]
  const sort = { place, isDown: sign === '-' }
  const compare = (one: string, other: string): number =>
    column.isNumber ? Number(one) - Number(other) : one < other ? -1 : one > other ? 1 : 0
  const sorted = rows.toSorted((first, second) => {
    const [one, other] = [first[place] ?? null, second[place] ?? null]
    if (one === null || other === null) return Number(one === null) - Number(other === null)
    return sort.isDown ? -compare(one, other) : compare(one, other)
  })
  return [sorted, sort]
}

const headCell = (
  { name, isNumber }: QueryAnswer['columns'][number],
  place: number,
  { sort, page }: { readonly sort: Sort | undefined; readonly page: PageContext },
): TemplateResult => {
  const isOwn = sort?.place === place
  const next = isOwn ? (sort.isDown ? undefined : `-${place}`) : `${place}`
  return html`<th class=${isNumber ? 'number' : ''} aria-sort=${isOwn ? (sort.isDown ? 'descending' : 'ascending') : 'none'}>
    <button type="button" class="plain" @click=${() => page.setQuery({ sort: next, page: undefined })}><bdi>${name}</bdi>${isOwn ? (sort.isDown ? ' ▾' : ' ▴') : nothing}</button>
  </th>`
}

const pager = (current: number, pages: number, page: PageContext): TemplateResult => {
  const go = (to: number): void => page.setQuery({ page: to === 1 ? undefined : String(to) })
  return html`<div class="pager">
    <button type="button" ?disabled=${current === 1} @click=${() => go(current - 1)}>Previous</button>
    <span class="soft">${formatNumber(current)} of ${formatNumber(pages)}</span>
    <button type="button" ?disabled=${current === pages} @click=${() => go(current + 1)}>Next</button>
  </div>`
}

const MAX_DECIMALS = 2
/** A column of smaller whole numbers, such as years, has no separators. */
const MIN_GROUPED = 10_000

interface ColumnFormat {
  readonly decimals: number
  readonly isGrouped: boolean
}

/** A number for reading; its exact text is its title. */
const shortenNumber = (text: string, { decimals, isGrouped }: ColumnFormat = { decimals: 0, isGrouped: false }): string => {
  const value = Number(text)
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return text
  if (Number.isInteger(value) && decimals > 0) return formatNumber(value, decimals)
  if (Number.isInteger(value)) return isGrouped ? formatNumber(value) : text.replace('-', '−')
  return Math.abs(value) < 0.01 ? value.toPrecision(2).replace('-', '−') : formatNumber(value, MAX_DECIMALS)
}

/** Rows as CSV. A text that a spreadsheet would run as a formula starts with `'`. */
export const toCsv = (
  columns: readonly { readonly name: string; readonly isNumber: boolean }[],
  rows: readonly (readonly (string | null)[])[],
): string => {
  const head = columns.map(({ name }) => quote(escapeFormula(name)))
  const lines = rows.map((row) =>
    row.map((cell, place) => (cell === null ? '' : quote(columns[place]?.isNumber ? cell : escapeFormula(cell)))),
  )
  return `${[head, ...lines].map((cells) => cells.join(',')).join('\n')}\n`
}

const quote = (cell: string): string => (/[",\n\r]|^\s|\s$|^$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Gives a text to the reader as a file. */
const saveFile = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
