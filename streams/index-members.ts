import { map, switchMap } from 'rxjs'
import { z } from 'zod'
import { defineStream, perPart } from '../src/engine/define-stream.js'
import { filledCsv } from '../src/http/answer.js'
import { get } from '../src/http/endpoint.js'
import { rejectShrunk, withoutCopies } from '../src/market/list-rules.js'
import { createResult } from '../src/model/outcome.js'
import { isRow, type Row, readText } from '../src/model/row.js'
import { column, row, textColumn } from '../src/model/row-schema.js'
import { haveSameIssuer } from '../src/model/stock.js'
import { type Day, toDay } from '../src/model/trading-day.js'

/** A row of the published list, with the column names of the file. */
const MemberRow = row({
  Symbol: textColumn('trading symbol as listed; a place-holder around a demerger', 'symbol'),
  'ISIN Code': textColumn('ISIN as listed', 'isin'),
  'Company Name': textColumn('name of the company', 'name'),
  Series: textColumn('series of the security, such as EQ', 'series'),
  Industry: textColumn('one of about 20 broad industries', 'industry'),
})

/**
 * A stock's time in an index, as known: the published list has no date, so that these are the days on which
 * it was fetched.
 */
export const IndexMember = row({
  Index: textColumn('index, such as NIFTY 500', 'index'),
  Since: textColumn('first day on which a fetched list had it', ['since', 'DATE'], { format: 'day' }),
  Until: column(z.string().nullable(), {
    about: 'first day on which it was gone; NULL while it is in the list',
    sql: ['until', 'DATE'],
  }),
  ...MemberRow.shape,
})
export interface IndexMember extends Readonly<Record<keyof typeof IndexMember.shape, string | null>> {}

/** The files of the archive: the name of the index, and the ranks by market cap that its sample has. */
const INDEX_LISTS = {
  nifty50: ['NIFTY 50', 0, 50],
  nifty100: ['NIFTY 100', 0, 100],
  nifty200: ['NIFTY 200', 0, 200],
  nifty500: ['NIFTY 500', 0, 500],
  niftymidcap150: ['NIFTY MIDCAP 150', 100, 250],
  niftysmallcap250: ['NIFTY SMALLCAP 250', 250, 500],
} as const
type List = keyof typeof INDEX_LISTS
const LIST_NAMES = Object.keys(INDEX_LISTS) as readonly List[]

const memberList = get({
  name: 'index_members',
  host: 'archive',
  path: '/content/indices/ind_{list}list.csv',
  headers: 'browser',
  input: z.strictObject({ list: z.enum(LIST_NAMES) }),
  read: filledCsv(['Symbol', 'ISIN Code', 'Industry']),
  shape: z.array(MemberRow),
  type: 'text/csv',
  sample: ({ list }, market) => {
    const [, from, to] = INDEX_LISTS[list]
    const members = market.largest(from, to)
    const toLine = ({ Name, Symbol: symbol, ISIN, sector, series }: (typeof members)[number]): string =>
      `${Name} Ltd.,${sector},${symbol},${series},${ISIN}`
    return ['Company Name,Industry,Symbol,Series,ISIN Code', ...members.map(toLine), ''].join('\n')
  },
})

/**
 * The stored times in an index, with the published list of a day: who is new begins on it, who is gone ends
 * on it.
 */
const addOtherList = (
  stored: unknown,
  listed: readonly Row[],
  { name, today }: { readonly name: string; readonly today: Day },
): readonly IndexMember[] => {
  const before = (Array.isArray(stored) ? stored : []).filter(
    isRow,
  ) as readonly Row[] as readonly IndexMember[]
  // A run as of an earlier day gets the list of today.
  const day = [today, ...before.flatMap(({ Since, Until }) => [Since ?? '', Until ?? ''])]
    .sort()
    .at(-1) as Day
  const keyOf = (member: Row): string => readText(member['ISIN Code']) || readText(member.Symbol)
  const open = before.filter(({ Until }) => Until === null)
  const keys = new Set(listed.map(keyOf))
  const byKey = new Map(open.map((member) => [keyOf({ ...member }), member]))
  const left = new Set(open.filter((member) => !keys.has(keyOf({ ...member }))))
  // A split of the face value gives a stock another ISIN.
  const bySymbol = new Map([...left].map((member) => [member.Symbol, member]))
  const now = listed.map((member) => {
    const other = bySymbol.get(readText(member.Symbol))
    const isOne = other && haveSameIssuer(readText(other['ISIN Code']), readText(member['ISIN Code']))
    const known = byKey.get(keyOf(member)) ?? (isOne ? other : undefined)
    if (known !== undefined) left.delete(known)
    return { Index: name, Since: known?.Since ?? day, Until: null, ...member } as IndexMember
  })
  const gone = before.filter((member) => member.Until !== null || left.has(member))
  return [...now, ...gone.map((member) => ({ ...member, Until: member.Until ?? day }))]
}

const isMember = (record: unknown): boolean => isRow(record) && record.Until === null

/** The stocks of six indices. Those that left an index stay in the file, with the day. */
export const indexMembers = defineStream({
  name: 'index-members',
  summary: 'the stocks of the NIFTY 50, 100, 200, 500, midcap 150 and smallcap 250',
  phase: 'enrichment',
  optional: true,
  workers: 2,
  timeoutMs: 30_000,
  endpoints: [memberList],
  work: perPart(LIST_NAMES, (list, tools, file) =>
    tools.ask(memberList, { list }).pipe(
      map((rows) => withoutCopies(rows, tools, list)),
      switchMap((listed) =>
        tools.stored
          .document(file)
          .pipe(
            map((stored) =>
              createResult(
                addOtherList(stored, listed, { name: INDEX_LISTS[list][0], today: toDay(tools.asOf) }),
              ),
            ),
          ),
      ),
      rejectShrunk(file, tools, { countRecords: (records) => records.filter(isMember).length }),
    ),
  ),
  outputs: [
    {
      shape: 'array-per-item',
      file: 'index_members/{list}.json',
      tables: [
        {
          name: 'index_spells',
          about: 'each time that a stock was in an index, as far as it is known: since when, and until when',
          columns: [IndexMember],
        },
      ],
    },
  ],
})
