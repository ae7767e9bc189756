import { map } from 'rxjs'
import { z } from 'zod'
import { defineStream, perPart } from '../src/engine/define-stream.js'
import { json } from '../src/http/answer.js'
import { post } from '../src/http/endpoint.js'
import { LISTED_MONTHS, readAmount, termsSql } from '../src/market/action-terms.js'
import { rejectShrunk, warnIfFull, withoutCopies } from '../src/market/list-rules.js'
import { readActionDay, warnIfUnreadable } from '../src/market/price-actions.js'
import type { SampleMarket, SampleStock } from '../src/model/market.js'
import { createResult } from '../src/model/outcome.js'
import { isRow, type Row, readText } from '../src/model/row.js'
import {
  column,
  dataEnvelope,
  oneOrMore,
  type RowOf,
  Rows,
  row,
  textColumn,
  textSuchAs,
} from '../src/model/row-schema.js'
import { toDocumentColumns } from '../src/model/table.js'
import { addDays, addMonths, type Day, readDay, toDay } from '../src/model/trading-day.js'

/**
 * A corporate action, with the fields observed in answers. Days are `YYYY-MM-DD`; `Note` is, for example,
 * `2.5` (rupees), `1:2` or `NA`.
 */
export const CorporateAction = row({
  ActType: column(
    textSuchAs('DIVIDEND', 'BONUS', 'SPLIT', 'RIGHTS', 'BUYBACK', 'QUARTERLY RESULT ANNOUNCEMENT'),
    {
      about: 'such as DIVIDEND, BONUS or SPLIT',
      sql: 'action',
      required: true,
    },
  ),
  ExDate: textColumn('first day on which the share trades without it', 'ex_date', {
    format: 'day',
    required: true,
  }),
  RecDate: textColumn('whoever holds the share on this day takes part', ['record_date', 'DATE']),
  Note: textColumn('rupees a share, or the ratio', 'note', {
    further: [
      {
        name: 'amount',
        type: 'DOUBLE',
        comment: 'rupees a share, such as a dividend; NULL for a ratio',
        unit: '₹',
        from: { row: ['Note'] },
        convert: { sql: termsSql.amount, value: readAmount },
      },
    ],
  }),
  ActDate: z.string().optional(),
})
export interface CorporateAction extends RowOf<typeof CorporateAction> {}

/** A stock and its corporate actions. */
export const StockActions = row({
  Sym: textColumn('trading symbol', 'symbol', { required: true, key: true }),
  DispSym: textColumn('name of the company', 'name'),
  Isin: z.string().optional(),
  Sid: z.union([z.number(), z.string()]).optional(),
  CorpAct: column(oneOrMore(CorporateAction), { required: true, key: true }),
})
export interface StockActions extends RowOf<typeof StockActions> {}

/** Maximum number of rows; a row is a stock with all its actions. The answer does not report a total. */
const MOST_ACTIONS = 5000

const actions = post({
  name: 'corporate_actions',
  host: 'analytics',
  path: '/customscan/fetchdt',
  input: z.strictObject({
    data: z.strictObject({
      type: z.literal('full'),
      whichpage: z.literal('corporate_action'),
      filters: z.tuple([
        z.strictObject({ field: z.literal('CorpAct.ActDate'), op: z.enum(['GT', 'LT']), val: z.iso.date() }),
      ]),
      count: z.literal(MOST_ACTIONS),
      page: z.literal(1),
    }),
  }),
  read: (text, _, seen): readonly StockActions[] =>
    (json(Rows)(text, undefined, seen).data ?? []) as readonly StockActions[],
  shape: dataEnvelope(z.array(StockActions)),
  sample: ({ data: { filters } }, market) => {
    const [{ op, val }] = filters
    const data = market.stocks.flatMap((stock) => {
      const CorpAct = sampleActions(stock, Number(val.slice(0, 4)), market).filter(({ ExDate }) =>
        op === 'GT' ? ExDate > val : ExDate < val,
      )
      return CorpAct.length > 0 ? [{ Sym: stock.Symbol, DispSym: stock.Name, CorpAct }] : []
    })
    return { code: 0, data }
  },
})

/** The only action without terms. */
const RESULTS = 'QUARTERLY RESULT ANNOUNCEMENT'

/**
 * The corporate actions of a stock in the years around a given one, including its splits and the day of its
 * next results; the days are always the same.
 */
const sampleActions = (stock: SampleStock, around: number, market: SampleMarket) => {
  const { ISIN, split, dividend, events = [] } = stock
  const usual = [-2, -1, 0, 1].flatMap((years): readonly Action[] => {
    const random = market.random('actions', ISIN, around + years)
    const dayOf = (place: number): Day => addDays(`${around + years}-01-01`, place)
    const [dividendDay, buybackDay] = [dayOf(random.int(140, 270)), dayOf(random.int(0, 364))]
    return [
      ...(dividend > 0 && random.chance(0.8) ? [['DIVIDEND', dividendDay, String(dividend)] as const] : []),
      ...(random.chance(0.02) ? [['BUYBACK', buybackDay, 'NA'] as const] : []),
    ]
  })
  // A company tells the day of its results a month before; until that day is over, it is upcoming.
  const coming = market
    .results(stock, 1, 30)
    .filter(({ publishedAt }) => toDay(publishedAt) >= toDay(market.asOf))
  const planned = events.flatMap((event) => (event.kind === 'split' || event.kind === 'bonus' ? [event] : []))
  const splits = planned.map(({ kind, day, factor }) => ({ type: kind.toUpperCase(), on: day, factor }))
  return [
    ...usual,
    ...coming.map(({ publishedAt }): Action => [RESULTS, toDay(publishedAt), 'NA']),
    // A bonus names the new shares only: 1:1 doubles their number.
    ...[...(split ? [split] : []), ...splits].map(
      ({ type, on, factor }): Action => [type, on, type === 'BONUS' ? `${factor - 1}:1` : `1:${factor}`],
    ),
  ].map(([ActType, ExDate, Note]) => ({ ActType, ExDate, RecDate: ExDate, Note }))
}

type Action = readonly [type: string, day: Day, note: string]

/**
 * The days that each mode covers, both included: from today to 2 months later, or from 2 years ago to today.
 */
type Mode = 'upcoming' | 'history'

const computeWindow = (mode: Mode, today: Day): { readonly from: Day; readonly to: Day } =>
  mode === 'upcoming'
    ? { from: today, to: addMonths(today, 2) }
    : { from: addMonths(today, -LISTED_MONTHS), to: today }

/** The day by which the provider puts an action into a list, or else most likely its ex-date. */
const readAskedDay = (action: Row): Day | undefined => readDay(action.ActDate) ?? readActionDay(action)

/**
 * Without the actions of the border that are in the other list: the requests overlap there, because an action
 * of today is neither before nor after it. Those of today are upcoming.
 */
const leaveToOtherList =
  (mode: Mode, today: Day) =>
  (row: Row): readonly Row[] => {
    const isOther = (action: unknown): boolean => {
      const day = isRow(action) ? readAskedDay(action) : undefined
      return day !== undefined && day === (mode === 'upcoming' ? addDays(today, -1) : today)
    }
    const actions = [row.CorpAct].flat()
    const own = actions.filter((action) => !isOther(action))
    return own.length === actions.length ? [row] : own.length === 0 ? [] : [{ ...row, CorpAct: own }]
  }

const findActionDay = ({ ExDate, RecDate, ActDate }: Row): string =>
  [ExDate, RecDate, ActDate].map(readText).find((day) => day !== '') ?? ''

const describeAction = (row: Row): string => {
  const note = readText(row.Note)
  const terms = note === '' || note === 'NA' ? '' : ` of ${note}`
  return `${readText(row.ActType).toLowerCase()}${terms} on ${findActionDay(row)}`
}

const listActionDays = ({ CorpAct }: Row): readonly Day[] =>
  (Array.isArray(CorpAct) ? CorpAct : [CorpAct])
    .filter(isRow)
    .flatMap(({ ActDate, ExDate, RecDate }) =>
      [ActDate, ExDate, RecDate].flatMap((date) => readDay(date) ?? []),
    )

/**
 * Dividends, bonuses, splits, rights issues and other corporate actions: the upcoming ones, and those of the
 * past two years. `asOf` only moves the border between them: both lists have what was announced until they
 * were requested, so they do not follow it.
 */
export const corporateActions = defineStream({
  name: 'corporate-actions',
  summary: 'dividends, bonuses, splits and rights',
  phase: 'enrichment',
  position: 8,
  workers: 2,
  timeoutMs: 30_000,
  endpoints: [actions],
  work: perPart(['upcoming', 'history'], (mode, tools, file) => {
    const today = toDay(tools.asOf)
    const { from, to } = computeWindow(mode, today)
    // Neither operator includes its day.
    const [op, val] =
      mode === 'upcoming' ? (['GT', addDays(today, -1)] as const) : (['LT', addDays(today, 1)] as const)
    const filter = { field: 'CorpAct.ActDate', op, val } as const
    const action$ = tools
      .ask(actions, {
        data: {
          type: 'full',
          whichpage: 'corporate_action',
          filters: [filter],
          count: MOST_ACTIONS,
          page: 1,
        },
      })
      .pipe(
        warnIfFull(MOST_ACTIONS, tools, mode),
        map((rows) => {
          const own = withoutCopies(rows, tools, mode)
            .flatMap(leaveToOtherList(mode, today) as (row: Row) => typeof rows)
            .filter((row) => {
              const days = listActionDays(row)
              return days.length === 0 || days.some((day) => day >= from && day <= to)
            })
          warnIfUnreadable(own, tools, mode)
          return createResult(own)
        }),
      )
    return mode === 'history' ? action$.pipe(rejectShrunk(file, tools)) : action$
  }),
  outputs: [
    {
      shape: 'array-per-item',
      file: '{mode}_corporate_actions.json',
      keepsWhenEmpty: true,
      tables: [
        {
          name: 'corporate_actions',
          about: 'dividends, bonuses, splits, rights and the like, one row each',
          lists: ['CorpAct'],
          columns: [
            { name: 'list', type: 'VARCHAR', comment: 'upcoming or history', from: { file: 'label' } },
            ...toDocumentColumns(StockActions),
            CorporateAction,
          ],
          changes: {
            section: 'actions',
            isOneList: true,
            key: (row) => `${readText(row.Sym)} ${describeAction(row)}`,
            entered: (row) => [{ change: 'new', detail: describeAction(row) }],
          },
          position: 9,
        },
      ],
    },
  ],
})
