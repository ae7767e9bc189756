import { decodeEntities } from '../../model/entities.js'
import { formatCrore, formatNumber, formatPrice } from '../../model/format.js'
import { isRow, type Row, readText } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import type { Change, Section } from './change.js'
import { describeNewQuarter, describeRestated, RESULT_TABLES } from './results.js'

type ChangeText = Omit<Change, 'section' | 'symbol'>

/** A list of the market whose rows are compared. */
export interface ListKind {
  readonly section: Section
  /** Its files, with `{exch}` for the exchange. */
  readonly files: readonly string[]
  /** The records that a row of the file stands for; the row itself if absent. */
  readonly expand?: (row: Row) => readonly Row[]
  readonly key: (row: Row) => string
  readonly symbol: 'Symbol' | 'Sym' | 'sym'
  /** The fields whose change counts. */
  readonly watch?: readonly string[]
  /** What a change is about, where another list of the section may have it, too. */
  readonly subject?: (row: Row) => string
  /**
   * The day of a row, where those of the day of the earlier list are not new: on its own day, an action is in
   * no list.
   */
  readonly dayOf?: (row: Row) => Day
  readonly words: {
    readonly added?: (row: Row) => ChangeText
    readonly changed?: (row: Row, earlier: Row) => readonly ChangeText[]
    readonly removed?: (row: Row) => ChangeText
  }
}

const fieldText = (row: Row, field: string): string => readText(row[field])
const join = (row: Row, ...fields: readonly string[]): string =>
  JSON.stringify(fields.map((field) => row[field]))

const nameBand = (band: string): string => (/^[\d.]+$/.test(band) ? `${band} %` : band.toLowerCase())

const describeBand = (row: Row, from: string, to: string): ChangeText => {
  const series = fieldText(row, 'Series')
  const detail = `from ${nameBand(from)} to ${nameBand(to)}${series === 'EQ' ? '' : ` (series ${series})`}`
  return { change: 'changed', from, to, detail }
}

const describeDeal = (row: Row): string => {
  const [client, day] = [fieldText(row, 'cname'), fieldText(row, 'date').slice(0, 10)]
  const [quantity, price] = [Number(row.qty), Number(row.avgprice)]
  const crore = (quantity * price) / 1e7
  const more = [fieldText(row, 'deal').toLowerCase(), crore >= 0.005 ? formatCrore(crore) : ''].filter(
    (part) => part !== '',
  )
  const side = fieldText(row, 'bs') === 'S' ? 'sold' : 'bought'
  const terms = `${side} ${formatNumber(quantity)} at ${formatPrice(price)} on ${day}`
  return `${client} ${terms}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}

const toActions = (row: Row): readonly Row[] =>
  [row.CorpAct]
    .flat()
    .filter(isRow)
    .map((action) => {
      const on =
        ['ExDate', 'RecDate', 'ActDate'].map((field) => fieldText(action, field)).find((day) => day !== '') ??
        ''
      const note = fieldText(action, 'Note')
      const detail = `${fieldText(action, 'ActType').toLowerCase()}${note === '' || note === 'NA' ? '' : ` of ${note}`} on ${on}`
      return { Sym: row.Sym, on, detail }
    })

const SURVEILLANCE = ['asm', 'gsm'].map((list): ListKind => {
  const name = list.toUpperCase()
  const stageOf = (row: Row): string => fieldText(row, 'Stage')
  return {
    section: 'surveillance',
    files: [`{exch}_${list}_list.json`],
    key: (row) => fieldText(row, 'ISIN') || fieldText(row, 'Symbol'),
    symbol: 'Symbol',
    watch: ['Stage'],
    words: {
      added: (row) => ({ change: 'entered', to: stageOf(row), detail: `is in ${name} now: ${stageOf(row)}` }),
      changed: (row, earlier) => {
        const [from, to] = [stageOf(earlier), stageOf(row)]
        return [{ change: 'changed', from, to, detail: `moves in ${name} from ${from} to ${to}` }]
      },
      removed: (row) => ({
        change: 'left',
        from: stageOf(row),
        detail: `left ${name}, where it was in ${stageOf(row)}`,
      }),
    },
  }
})

/** The exchange's own list of changes: of those that the list of all bands does not show. */
export const ANNOUNCED_BANDS: ListKind = {
  section: 'bands',
  files: ['incremental_price_bands.json'],
  key: (row) => join(row, 'Symbol', 'Series', 'From', 'To'),
  symbol: 'Symbol',
  subject: (row) => join(row, 'Symbol', 'Series'),
  words: { added: (row) => describeBand(row, fieldText(row, 'From'), fieldText(row, 'To')) },
}

const CIRCUITS = ['upper', 'lower'].map(
  (side): ListKind => ({
    section: 'circuits',
    files: [`${side}_circuit_stocks.json`],
    key: (row) => fieldText(row, 'Symbol'),
    symbol: 'Symbol',
    words: {
      added: () => ({ change: 'entered', detail: `is at its ${side} limit` }),
      removed: () => ({ change: 'left', detail: `left its ${side} limit` }),
    },
  }),
)

/** The lists that are compared row by row. Of two lists of a section, the first one comes first. */
export const LIST_KINDS: readonly ListKind[] = [
  ...SURVEILLANCE,
  {
    section: 'bands',
    files: ['complete_price_bands.json'],
    key: (row) => join(row, 'Symbol', 'Series'),
    symbol: 'Symbol',
    watch: ['Band'],
    subject: (row) => join(row, 'Symbol', 'Series'),
    words: {
      changed: (row, earlier) => [describeBand(row, fieldText(earlier, 'Band'), fieldText(row, 'Band'))],
    },
  },
  ANNOUNCED_BANDS,
  {
    // A stock without earlier figures has no new ones.
    section: 'results',
    files: ['fundamental_data.json'],
    key: (row) => fieldText(row, 'ISIN'),
    symbol: 'Symbol',
    watch: RESULT_TABLES,
    words: {
      changed: (row, earlier) => [...describeNewQuarter(row, earlier), ...describeRestated(row, earlier)],
    },
  },
  ...CIRCUITS,
  {
    // Deals that are gone do not count: the list covers the last 30 days.
    section: 'deals',
    files: ['bulk_block_deals.json'],
    key: (row) => join(row, 'sym', 'date', 'qty', 'avgprice', 'bs', 'cname'),
    symbol: 'sym',
    words: { added: (row) => ({ change: 'new', detail: describeDeal(row) }) },
  },
  {
    section: 'actions',
    files: ['upcoming_corporate_actions.json', 'history_corporate_actions.json'],
    expand: toActions,
    key: (row) => join(row, 'Sym', 'detail'),
    symbol: 'Sym',
    dayOf: ({ on }) => readText(on),
    words: { added: ({ detail }) => ({ change: 'new', detail: readText(detail) }) },
  },
]

/** Documents of stocks, of which the new ones of a stock are one change. */
export interface DocumentKind {
  readonly section: 'filings' | 'announcements' | 'news'
  /** The file of a stock (`{name}`), or that of all stocks. */
  readonly file: string
  /** The field of a stock's file that has the records. */
  readonly list?: string
  readonly key: (row: Row) => string
  readonly title: (row: Row) => string
  /** The field with the address of a document. */
  readonly url?: string
}

const titleOf = (row: Row): string =>
  decodeEntities(fieldText(row, 'caption') || fieldText(row, 'descriptor') || 'Unknown')

/** The documents that are compared. The keys are those of their streams. */
export const DOCUMENT_KINDS: readonly DocumentKind[] = [
  {
    section: 'filings',
    file: 'company_filings/{name}_filings.json',
    list: 'data',
    key: (row) => fieldText(row, 'news_id') || `${fieldText(row, 'news_date')}_${titleOf(row)}`,
    title: titleOf,
    url: 'file_url',
  },
  {
    section: 'announcements',
    file: 'all_company_announcements.json',
    key: (row) => `${fieldText(row, 'date')}_${fieldText(row, 'events')}`,
    title: (row) => decodeEntities(fieldText(row, 'events')),
  },
  {
    section: 'news',
    file: 'market_news/{name}_news.json',
    list: 'News',
    key: (row) => `${fieldText(row, 'PublishDate')}_${fieldText(row, 'Title')}`,
    title: (row) => decodeEntities(fieldText(row, 'Title')),
  },
]
