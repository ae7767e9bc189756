import { html, nothing, type TemplateResult } from 'lit-html'
import { formatNumber, formatPart, formatQuantity } from '../../../model/format.js'
import type { KeyAction, PageContext } from '../view.js'
import {
  type ColumnFormat,
  formatCell,
  formatColumn,
  placeOf,
  RANGE_COLUMN,
  type TableData,
  WIDTH,
} from './column-format.js'
import { saveAsCsv } from './csv.js'
import { emptyLine } from './panel.js'
import { rangeBar } from './small-charts.js'
import { stockLink } from './stock-link.js'

type Row = TableData['rows'][number]

/** A column with the address that the first cell of its row leads to. */
const PATH = 'path'

interface TableOptions {
  /** The name of the file of an export. */
  readonly file: string
  readonly label: string
  /**
   * What stands above the rows, such as their number and how long they took; how many rows are shown if
   * absent.
   */
  readonly about?: string
  /** The columns of which one value can be chosen. */
  readonly facets?: readonly string[]
  /** Whether there are rows that are not in the table. */
  readonly isCut?: boolean
  /** The columns that are not shown at first. */
  readonly hidden?: readonly string[]
  /** Whether name and symbol of a stock are one cell, the name first. */
  readonly isNamed?: boolean
}

/** A table as it is shown: its columns, and the rows in their order. */
interface Prepared {
  readonly formats: readonly ColumnFormat[]
  /** The rows of each choice of sort and filters, of which the last one is kept. */
  chosen?: { readonly key: string; readonly rows: readonly Row[] }
  /** The row that `j` and `k` have reached. */
  current?: number
}

const TABLE_ROW_HEIGHT = 28
/** Rows above and below what is seen, so that a quick scroll does not show a gap. */
const MARGIN_ROWS = 20
/** On a narrower page, in pixels, a text must leave room for numbers. */
const NARROW_PIXELS = 720
/** What the symbol takes beside a name. */
const NAMED_WIDTH = 8
/** A facet with more values is no choice any more. */
const MAX_FACET_VALUES = 60
/** Between the values of a cell that has several, such as tags. */
const SEVERAL = ' · '

const prepared = new WeakMap<TableData, Prepared>()

const prepare = (table: TableData): Prepared => {
  const known = prepared.get(table)
  if (known !== undefined) return known
  const own: Prepared = { formats: table.columns.map((column, place) => formatColumn(table, column, place)) }
  prepared.set(table, own)
  return own
}

/** The table of the view, for its keys. */
let present: { readonly own: Prepared; readonly rows: readonly Row[]; readonly page: PageContext } | undefined

/**
 * The one table of the page: sorted by a click on a column (`sort=close_inr`, `sort=-close_inr`), filtered by
 * words (`find=`) and by values (`is.sector=Banks`), all kept in the address. Only the rows that are seen are
 * drawn.
 */
export const dataTable = (
  table: TableData,
  page: PageContext,
  { file, label, about, facets = [], isCut = false, hidden: usual = [], isNamed = false }: TableOptions,
): TemplateResult => {
  const { columns, rows: all } = table
  const own = prepare(table)
  const rows = chooseRows(table, own, page)
  present = { own, rows, page }
  const { query } = page.place
  const hidden = new Set(query.get('hide')?.split(',') ?? usual)
  const hasName = placeOf(columns, 'name') >= 0
  const names = isNamed && hasName && !hidden.has('name') ? placeOf(columns, 'symbol') : -1
  const shown = columns.flatMap(({ name }, place) =>
    hidden.has(name) || name === PATH || place === names ? [] : [place],
  )
  const places = shown.length > 0 ? shown : [0]
  const count =
    rows.length === all.length
      ? formatQuantity(all.length, 'row')
      : formatPart(rows.length, all.length, 'row')
  return html`
    <section class="result" aria-label=${label}>
      <div class="head">
        <p role="status">${about === undefined || rows.length < all.length ? `${count}${isCut ? '; there are more, which are not loaded' : ''}` : about}</p>
        <input type="search" class="find" placeholder="Filter" aria-label="Filter the rows by words" .value=${query.get('find') ?? ''}
          @input=${(event: InputEvent) => page.setQuery({ find: (event.target as HTMLInputElement).value || undefined })}>
        ${facets.map((name) => facetChoice(table, name, page))} ${otherFilters(table, facets, page)} ${columnChoice(columns, { hidden, usual }, page)}
        <button type="button" @click=${() =>
          saveAsCsv(
            file,
            columns.flatMap((column, place) => (column.name === PATH ? [] : [{ ...column, place }])),
            rows,
          )}>Export CSV</button>
      </div>
      ${rows.length === 0 ? emptyLine('No row matches.') : renderSeenRows(table, { own, rows, places, page, isNamed: names >= 0 })}
    </section>
  `
}

interface Drawn {
  readonly own: Prepared
  readonly rows: readonly Row[]
  /** The columns that are shown. */
  readonly places: readonly number[]
  readonly page: PageContext
  readonly isNamed: boolean
}

const renderSeenRows = (
  { columns }: TableData,
  { own, rows, places, page, isNamed }: Drawn,
): TemplateResult => {
  const [first, end] = seenRows(rows.length)
  drawnFrom = first
  const [symbols, paths] = [placeOf(columns, 'symbol'), placeOf(columns, PATH)]
  const names = isNamed ? placeOf(columns, 'name') : -1
  const list = symbols < 0 ? [] : rows.flatMap((row) => row[symbols] ?? [])
  const cell = (row: Row, place: number): TemplateResult => {
    const [text, column, symbol] = [row[place] ?? null, columns[place], row[symbols]]
    if (symbol && place === names)
      return html`<td class="text" title=${text ?? nothing}>${text === null ? stockLink(symbol, { hasNoPage: true }) : html`${stockLink(symbol, { list, text })} <bdi class="soft">${symbol}</bdi>`}</td>`
    if (symbol && place === symbols) return html`<td>${stockLink(symbol, { list })}</td>`
    const path = place === places[0] ? row[paths] : undefined
    if (text !== null && path) return html`<td><a href=${path}><bdi>${text}</bdi></a></td>`
    return valueCell(text, column, own.formats[place])
  }
  const gap = (count: number): TemplateResult =>
    html`<tr class="gap" aria-hidden="true" .style=${`height:${count * TABLE_ROW_HEIGHT}px`}></tr>`
  const isNarrow = innerWidth < NARROW_PIXELS
  const widthOf = (place: number): number => {
    const { width = 0 } = own.formats[place] ?? {}
    return 2 + (isNarrow ? Math.min(width, WIDTH.mostNarrow) : width + (place === names ? NAMED_WIDTH : 0))
  }
  const width = places.reduce((sum, place) => sum + widthOf(place), 0)
  return html`
    <div class="rows" tabindex="0" role="region" aria-label="Rows"><table id="rows" aria-rowcount=${rows.length + 1} .style=${`width:${width}ch`}>
      <colgroup>${places.map((place) => html`<col .style=${`width:${widthOf(place)}ch`}>`)}</colgroup>
      <thead .style=${`transform:translateY(${headShift(rows.length)}px)`}><tr>${places.map((place) => headCell(columns[place], page))}</tr></thead>
      <tbody>
        ${gap(first)}
        ${rows.slice(first, end).map((row, index) => html`<tr data-row=${first + index} aria-rowindex=${first + index + 2} class=${own.current === first + index ? 'current' : ''}>${places.map((place) => cell(row, place))}</tr>`)}
        ${gap(rows.length - end)}
      </tbody>
    </table></div>
  `
}

/**
 * A value for reading: a number with its sign and unit, an address as a link, tags as tags. Its exact text is
 * its title.
 */
const valueCell = (
  text: string | null,
  column: TableData['columns'][number] | undefined,
  format: ColumnFormat | undefined,
): TemplateResult => {
  const { name = '', isNumber = false, isChange = false } = column ?? {}
  if (text === null) return html`<td class=${isNumber ? 'number soft' : 'text soft'}>–</td>`
  if (/^https?:/.test(text))
    return html`<td><a href=${text} target="_blank" rel="noreferrer" title=${text}>${name === 'url' ? 'open' : text}</a></td>`
  if (name === 'tags')
    return html`<td class="text" title=${text}>${text.split(SEVERAL).map((tag) => html`<span class="tag">${tag}</span> `)}</td>`
  if (name === RANGE_COLUMN)
    return html`<td class="number" title=${`${text} %`}>${rangeBar(Number(text))}</td>`
  const shown = formatCell(text, isNumber ? format : undefined)
  // A colour shows the sign of a change, too.
  const isMove = isNumber && isChange && /[1-9]/.test(shown)
  const tone = isMove ? (shown.startsWith('-') ? ' down' : ' up') : ''
  return html`<td class=${`${isNumber ? 'number' : 'text'}${tone}`} title=${text}><bdi>${tone === ' up' ? '+' : ''}${shown}</bdi></td>`
}

/** The first row that is drawn. */
let drawnFrom = 0

/** Follows the scroll bar: draws again once other rows are seen, and until then only moves the head. */
export const followScroll = (page: Pick<PageContext, 'update'>): (() => void) => {
  const onScroll = (): void => {
    if (present === undefined) return
    const count = present.rows.length
    if (Math.abs(seenRows(count)[0] - drawnFrom) >= MARGIN_ROWS / 2) page.update()
    document
      .querySelector<HTMLElement>('#rows thead')
      ?.style.setProperty('transform', `translateY(${headShift(count)}px)`)
  }
  addEventListener('scroll', onScroll, { passive: true })
  return () => removeEventListener('scroll', onScroll)
}

/** How far the head of the table moves down, so that it stays below the head of the page. */
const headShift = (count: number): number => {
  const top = document.querySelector('#rows')?.getBoundingClientRect().top
  if (top === undefined) return 0
  const covered = (document.querySelector('header')?.offsetHeight ?? 0) - top
  return Math.round(Math.max(0, Math.min(covered, (count - 1) * TABLE_ROW_HEIGHT)))
}

/** The rows around what is seen, from where the table was drawn last. */
const seenRows = (count: number): readonly [first: number, end: number] => {
  const top = document.querySelector('#rows')?.getBoundingClientRect().top ?? 0
  const first = Math.floor(Math.max(0, -top) / TABLE_ROW_HEIGHT) - MARGIN_ROWS
  const start = Math.max(0, Math.min(first, count - 1))
  return [start, Math.min(count, start + Math.ceil(innerHeight / TABLE_ROW_HEIGHT) + 2 * MARGIN_ROWS)]
}

/** The rows that match, in order. */
const chooseRows = (table: TableData, own: Prepared, { place: { query } }: PageContext): readonly Row[] => {
  const wanted = [...query].filter(([key]) => key === 'sort' || key === 'find' || key.startsWith('is.'))
  const key = JSON.stringify(wanted)
  if (own.chosen?.key !== key) {
    own.chosen = { key, rows: sortRows(table, filterRows(table, wanted), query.get('sort') ?? '') }
    delete own.current
  }
  return own.chosen.rows
}

const filterRows = (
  { columns, rows }: TableData,
  wanted: readonly (readonly [key: string, value: string])[],
): readonly Row[] => {
  const words = wanted.flatMap(([key, value]) =>
    key === 'find' ? value.toLowerCase().split(/\s+/).filter(Boolean) : [],
  )
  const values = wanted.flatMap(([key, value]) => {
    const place = key.startsWith('is.') ? placeOf(columns, key.slice(3)) : -1
    return place < 0 ? [] : [[place, value] as const]
  })
  if (words.length + values.length === 0) return rows
  return rows.filter((row) => {
    if (!values.every(([place, value]) => (row[place] ?? '').split(SEVERAL).includes(value))) return false
    if (words.length === 0) return true
    const text = row.join('\n').toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** Numbers sort as numbers, and missing values come last. */
const sortRows = ({ columns }: TableData, rows: readonly Row[], sort: string): readonly Row[] => {
  const isDown = sort.startsWith('-')
  const place = placeOf(columns, sort.slice(isDown ? 1 : 0))
  const column = columns[place]
  if (column === undefined) return rows
  const compare = (one: string, other: string): number =>
    column.isNumber ? Number(one) - Number(other) : one < other ? -1 : one > other ? 1 : 0
  return rows.toSorted((first, second) => {
    const [one, other] = [first[place] ?? null, second[place] ?? null]
    if (one === null || other === null) return Number(one === null) - Number(other === null)
    return isDown ? -compare(one, other) : compare(one, other)
  })
}

/** The head of a column. Numbers are sorted from the greatest first, texts from A. */
const headCell = (
  { name, isNumber, title }: TableData['columns'][number] = { name: '', isNumber: false, title: '' },
  page: PageContext,
): TemplateResult => {
  const [down, up] = [`-${name}`, name]
  const order = isNumber ? [down, up] : [up, down]
  const sort = page.place.query.get('sort')
  const next = order[sort === order[0] ? 1 : sort === order[1] ? 2 : 0]
  const isOwn = sort === up || sort === down
  return html`<th class=${isNumber ? 'number' : ''} aria-sort=${isOwn ? (sort === down ? 'descending' : 'ascending') : 'none'}>
    <button type="button" class="plain" title=${name} @click=${() => page.setQuery({ sort: next })}><bdi>${title}</bdi>${isOwn ? (sort === down ? ' ▾' : ' ▴') : nothing}</button>
  </th>`
}

/** The values of a column with their number of rows; none where there is nothing to choose from. */
const facetValues = ({ columns, rows }: TableData, name: string): ReadonlyMap<string, number> => {
  const place = placeOf(columns, name)
  const counts = new Map<string, number>()
  for (const row of place < 0 ? [] : rows)
    for (const value of (row[place] ?? '').split(SEVERAL)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts.size < 2 || counts.size > MAX_FACET_VALUES ? new Map() : counts
}

const columnTitle = ({ columns }: TableData, name: string): string =>
  columns[placeOf(columns, name)]?.title ?? name

/** The choice of a value of a column; nothing where there is none. */
export const facetChoice = (
  table: TableData,
  name: string,
  page: PageContext,
): TemplateResult | typeof nothing => {
  const counts = facetValues(table, name)
  if (counts.size === 0) return nothing
  const title = columnTitle(table, name)
  const key = `is.${name}`
  const chosen = page.place.query.get(key)
  const choose = (event: Event): void => {
    const { value, selectedIndex } = event.target as HTMLSelectElement
    page.setQuery({ [key]: selectedIndex === 0 ? undefined : value })
  }
  return html`<select aria-label=${title} @change=${choose}>
    <option .selected=${chosen === null}>${title}: all</option>
    ${[...counts]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(
        ([value, count]) =>
          html`<option value=${value} .selected=${chosen === value}>${value === '' ? '–' : value} (${formatNumber(count)})</option>`,
      )}
  </select>`
}

/** Filters of the address that no choice shows: each with a button that takes it away. */
const otherFilters = (
  table: TableData,
  facets: readonly string[],
  page: PageContext,
): readonly TemplateResult[] =>
  [...page.place.query].flatMap(([key, value]) => {
    const name = key.startsWith('is.') ? key.slice(3) : undefined
    if (!table.columns.some((column) => column.name === name)) return []
    if (name === undefined || (facets.includes(name) && facetValues(table, name).has(value))) return []
    return [
      html`<button type="button" @click=${() => page.setQuery({ [key]: undefined })}>${columnTitle(table, name)}: ${value || '–'} ✕</button>`,
    ]
  })

/** The menu of the columns; Escape and a click elsewhere close it. */
const columnChoice = (
  columns: TableData['columns'],
  { hidden, usual }: { readonly hidden: ReadonlySet<string>; readonly usual: readonly string[] },
  page: PageContext,
): TemplateResult => {
  const own = columns.filter(({ name }) => name !== PATH)
  const toggle = (name: string): void => {
    const next = own.map((column) => column.name).filter((one) => hidden.has(one) !== (one === name))
    page.setQuery({ hide: next.join() === usual.join() ? undefined : next.join() })
  }
  const close = (event: FocusEvent | KeyboardEvent): void => {
    const menu = event.currentTarget as HTMLDetailsElement
    if ('key' in event ? event.key === 'Escape' : !menu.contains(event.relatedTarget as Node | null))
      menu.open = false
  }
  return html`<details class="columns" @focusout=${close} @keydown=${close}><summary>Columns</summary><div tabindex="-1">
    ${own.map(({ name, title }) => html`<label><input type="checkbox" .checked=${!hidden.has(name)} @change=${() => toggle(name)}> ${title}</label>`)}
  </div></details>`
}

/** The keys of a view with a table: they move the focus from row to row, and Enter opens the stock. */
export const rowKeys = (): readonly KeyAction[] => [
  { keys: 'j', about: 'the next row; Enter opens its stock', act: () => goToRow(1) },
  { keys: 'k', about: 'the row before', act: () => goToRow(-1) },
]

const goToRow = (step: 1 | -1): void => {
  const table = document.querySelector('#rows')
  if (present === undefined || table === null) return
  const { own, rows, page } = present
  // At first, the first row that is seen.
  const seen = Math.ceil(headShift(rows.length) / TABLE_ROW_HEIGHT)
  own.current = Math.max(0, Math.min(rows.length - 1, own.current === undefined ? seen : own.current + step))
  const top = table.getBoundingClientRect().top + scrollY + own.current * TABLE_ROW_HEIGHT
  if (top < scrollY + 4 * TABLE_ROW_HEIGHT || top > scrollY + innerHeight - 4 * TABLE_ROW_HEIGHT)
    scrollTo(0, top - innerHeight / 2)
  page.update()
  const row = own.current
  // The row is drawn in the next frame.
  requestAnimationFrame(() =>
    requestAnimationFrame(() =>
      document.querySelector<HTMLElement>(`[data-row="${row}"] a`)?.focus({ preventScroll: true }),
    ),
  )
}
