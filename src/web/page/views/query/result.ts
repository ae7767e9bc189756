import { html, nothing, type TemplateResult } from 'lit-html'
import type { QueryAnswer } from '../../../api/query.js'
import { saveFile, toCsv } from '../../parts/csv.js'
import { formatDuration, formatNumber, formatQuantity } from '../../parts/format.js'
import { emptyLine } from '../../parts/panel.js'
import { stockLink } from '../../parts/stock-link.js'
import type { PageContext } from '../../view.js'

type Rows = QueryAnswer['rows']

const PAGE_ROWS = 50
/** A plan and other long texts are shown as they are. */
const isPlan = ({ columns }: QueryAnswer): boolean => columns[0]?.name === 'explain_key'

/** The rows of an answer, sorted and page by page. */
export const resultTable = (answer: QueryAnswer, page: PageContext): TemplateResult => {
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
