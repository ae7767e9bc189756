import { map } from 'rxjs'
import { z } from 'zod'
import { found } from '../src/model/outcome.js'
import { isRow, type Row, Rows } from '../src/model/row.js'
import { addDays, addMonths, type Day, dayAt, readDay } from '../src/model/trading-day.js'
import { defineStream } from '../src/pipeline/define-stream.js'
import { perPart } from '../src/pipeline/work.js'
import { json } from '../src/provider/answer.js'
import { post } from '../src/provider/endpoint.js'

const actions = post({
  name: 'corporate_actions',
  host: 'analytics',
  path: '/customscan/fetchdt',
  input: z.strictObject({
    data: z.strictObject({
      type: z.literal('full'),
      whichpage: z.literal('corporate_action'),
      filters: z.tuple([z.strictObject({ field: z.literal('CorpAct.ActDate'), op: z.enum(['GT', 'LT']), val: z.iso.date() })]),
      count: z.literal(5000),
      page: z.literal(1),
    }),
  }),
  read: (text): readonly Row[] => json(Rows)(text).data ?? [],
  sample: ({ data: { filters } }, market) => {
    const [{ op, val }] = filters
    const data = market.stocks.flatMap((stock) => {
      const random = market.random('actions', stock.ISIN, op)
      const day = addDays(val, op === 'GT' ? random.int(1, 90) : -random.int(1, 900))
      const ActType = random.pick(['DIVIDEND', 'BONUS', 'SPLIT', 'RIGHTS', 'BUYBACK', 'QUARTERLY RESULT ANNOUNCEMENT'])
      const CorpAct = [{ ActType, ExDate: day, RecDate: day, Note: random.chance(0.5) ? '2.5' : 'NA' }]
      return random.chance(0.4) ? [{ Sym: stock.Symbol, DispSym: stock.Name, CorpAct }] : []
    })
    return { code: 0, data }
  },
})

/** The days that each mode is about, both included: today to the next 2 months, or the past 2 years to today. */
const windowOf = (mode: 'upcoming' | 'history', today: Day): { readonly from: Day; readonly to: Day } =>
  mode === 'upcoming' ? { from: today, to: addMonths(today, 2) } : { from: addMonths(today, -24), to: today }

const actionDays = ({ CorpAct }: Row): readonly Day[] =>
  (Array.isArray(CorpAct) ? CorpAct : [CorpAct])
    .filter(isRow)
    .flatMap(({ ActDate, ExDate, RecDate }) => [ActDate, ExDate, RecDate].flatMap((date) => readDay(date) ?? []))

/** Dividends, bonuses, splits, rights and the like: those to come, and those of the past two years. */
export const corporateActions = defineStream({
  name: 'corporate-actions',
  summary: 'dividends, bonuses, splits and rights',
  phase: 'enrichment',
  workers: 2,
  timeoutMs: 30_000,
  endpoints: [actions],
  work: perPart(['upcoming', 'history'], (mode, { ask, asOf }) => {
    const today = dayAt(asOf)
    const { from, to } = windowOf(mode, today)
    const filters: [{ field: 'CorpAct.ActDate'; op: 'GT' | 'LT'; val: Day }] = [
      { field: 'CorpAct.ActDate', op: mode === 'upcoming' ? 'GT' : 'LT', val: today },
    ]
    return ask(actions, { data: { type: 'full', whichpage: 'corporate_action', filters, count: 5000, page: 1 } }).pipe(
      map((rows) =>
        found(
          rows.filter((row) => {
            const days = actionDays(row)
            return days.length === 0 || days.some((day) => day >= from && day <= to)
          }),
        ),
      ),
    )
  }),
  outputs: [{ shape: 'array-per-item', file: '{mode}_corporate_actions.json' }],
})
