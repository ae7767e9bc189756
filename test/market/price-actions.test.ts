import fc from 'fast-check'
import { EMPTY, lastValueFrom, map, type Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { oncePerRun } from '../../src/engine/once-per-run.js'
import { createOwnerFinder } from '../../src/market/former-stocks.js'
import { findAction, readPriceActions, readStockActions } from '../../src/market/price-actions.js'
import type { Tools } from '../../src/market/tools.js'
import { DamagedFileError } from '../../src/model/errors.js'

const NOBODY_LEFT = createOwnerFinder([], [])

const action = (ActType: unknown, ExDate: unknown, more: object = {}) => ({
  Sym: 'TCS',
  CorpAct: [{ ActType, ExDate, ...more }],
})

const toolsOf = (
  documents: Readonly<Record<string, Observable<unknown>>>,
  after: Observable<never> = EMPTY,
) => {
  const notices: string[] = []
  const tools = {
    after: () => after,
    shared: oncePerRun(),
    stored: { document: (file: string) => documents[file] ?? of(undefined) },
    warn: (text: string) => void notices.push(text),
  }
  return { tools: tools as unknown as Tools, notices }
}

/** The action of a stock since a day that divides its prices. */
const find = (tools: Tools, day: string, symbol = 'TCS') =>
  readStockActions(symbol, tools).pipe(
    map((actions) => findAction(actions, { since: day, until: '2026-02-12', dividing: true })),
  )

const since = (rows: readonly unknown[], day: string, symbol?: string) =>
  lastValueFrom(find(toolsOf({ 'history_corporate_actions.json': of(rows) }).tools, day, symbol))

describe('the adjustments of a stock', () => {
  it.each([
    { type: 'SPLIT', kind: 'split' },
    { type: 'Stock Split From Rs.10/- to Rs.2/-', kind: 'split' },
    { type: 'BONUS', kind: 'bonus' },
    { type: 'bonus 1:1', kind: 'bonus' },
    { type: 'RIGHTS', kind: 'rights issue' },
    { type: 'Right Issue', kind: 'rights issue' },
  ])('are derived from $type: $kind', async ({ type, kind }) => {
    expect(await since([action(type, '2026-02-10')], '2026-02-10')).toBe(`${kind} on 2026-02-10`)
  })

  it.each(['DIVIDEND', 'BUYBACK', 'QUARTERLY RESULT ANNOUNCEMENT', '', null, 7, undefined, {}])(
    'are not derived from %j',
    async (type) => {
      expect(await since([action(type, '2026-02-10')], '2026-02-10')).toBeUndefined()
    },
  )

  it.each([
    { day: '2026-02-09', counts: false },
    { day: '2026-02-10', counts: true },
    { day: '2026-02-12 00:00:00', counts: true },
    { day: '2026-02-13', counts: false },
  ])('count from the last stored candle to today: one on $day $counts', async ({ day, counts }) => {
    expect((await since([action('SPLIT', day)], '2026-02-10')) !== undefined).toBe(counts)
  })

  it('are dated by the ex-date, else by the record date, else by the date of the action', () => {
    const dates = { RecDate: '2026-02-02', ActDate: '2026-02-03' }
    const rows = [
      action('SPLIT', '2026-02-01', dates),
      action('BONUS', 'NA', dates),
      action('RIGHTS', null, { ActDate: '2026-02-03' }),
    ]
    const all = readPriceActions([rows], NOBODY_LEFT)
    expect(all.get('TCS')?.map(({ on }) => on)).toEqual(['2026-02-01', '2026-02-02', '2026-02-03'])
  })

  it('are those of the stock itself, among all that it has', async () => {
    const rows = [action('SPLIT', '2024-02-10'), action('BONUS', '2026-02-12'), action('SPLIT', '2026-02-13')]
    expect(await since(rows, '2026-02-11')).toBe('bonus on 2026-02-12')
    expect(await since(rows, '2026-02-11', 'INFY')).toBeUndefined()
  })

  it.each([
    ['of a list with a former symbol, too', 'OLD', '2026-02-10', 'split on 2026-02-10'],
    ['not those of the company that had its symbol before', 'TCS', '2026-02-01', undefined],
    ['those of the time since it has the symbol', 'TCS', '2026-02-10', 'split on 2026-02-10'],
  ])('are %s', async (_, Sym, day, found) => {
    const until = '2026-02-05'
    const { tools } = toolsOf({
      'history_corporate_actions.json': of([{ ...action('SPLIT', day), Sym }]),
      'master_isin_map.json': of([{ Symbol: 'TCS', ISIN: 'INE111A01011', Name: 'Tata', Sid: '1' }]),
      '.scripstream/former-stocks.json': of([
        { symbol: 'OLD', isin: 'INE111A01011', name: 'Tata', sid: '1', file: 'OLD', until },
        { symbol: 'TCS', isin: 'INE222A01011', name: 'Tea', sid: '2', file: 'TCS', until },
      ]),
    })
    expect(await lastValueFrom(find(tools, '2026-01-01'))).toBe(found)
  })

  it('are read from whatever shape without a failure', () => {
    const read = (lists: readonly unknown[]) => readPriceActions(lists, NOBODY_LEFT)
    fc.assert(fc.property(fc.array(fc.jsonValue()), (lists) => void read(lists)))
    fc.assert(fc.property(fc.jsonValue(), (CorpAct) => void read([[{ Sym: 'TCS', CorpAct }]])))
    const split = { ActType: 'SPLIT', ExDate: '2026-02-10' }
    expect(read([[{ Sym: 'TCS', CorpAct: split }], undefined, 7]).size).toBe(1)
  })

  it('are read from both lists, past and upcoming', async () => {
    const { tools } = toolsOf({ 'upcoming_corporate_actions.json': of([action('SPLIT', '2026-02-12')]) })
    expect(await lastValueFrom(find(tools, '2026-02-11'))).toBe('split on 2026-02-12')
  })

  it('are empty if a list is missing or damaged, with one warning', async () => {
    expect(await lastValueFrom(find(toolsOf({}).tools, '2026-02-11'))).toBeUndefined()
    const damaged = throwError(() => new DamagedFileError('history_corporate_actions.json is damaged'))
    const { tools, notices } = toolsOf({
      'history_corporate_actions.json': damaged,
      'upcoming_corporate_actions.json': of([action('SPLIT', '2026-02-12')]),
    })
    for (const symbol of ['TCS', 'TCS'])
      expect(await lastValueFrom(find(tools, '2026-02-11', symbol))).toBe('split on 2026-02-12')
    expect(notices).toEqual([expect.stringContaining('is damaged')])
  })

  it('wait until this run’s corporate actions have ended, and are read then', () => {
    const ended = new Subject<never>()
    const documents: Record<string, Observable<unknown>> = {}
    const { tools } = toolsOf(documents, ended)
    const seen: unknown[] = []
    find(tools, '2026-02-11').subscribe((one) => seen.push(one))
    documents['history_corporate_actions.json'] = of([action('SPLIT', '2026-02-12')])
    expect(seen).toEqual([])
    ended.complete()
    expect(seen).toEqual(['split on 2026-02-12'])
  })
})
