import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { beforeAll, describe, expect, it } from 'vitest'
import { createCollector } from '../../../src/collector.js'
import { listTables } from '../../../src/engine/define-stream.js'
import type { PlantedEvent } from '../../../src/model/market.js'
import type { Row } from '../../../src/model/row.js'
import type { WatchRule } from '../../../src/model/settings.js'
import { type Day, toInstant } from '../../../src/model/trading-day.js'
import { serveSimulator } from '../../../src/simulator/index.js'
import type { Signal } from '../../../src/tables/changes/signals.js'
import {
  describeRules,
  evaluateRules,
  listWatchDays,
  replayRules,
  type WatchResult,
} from '../../../src/tables/changes/watch.js'
import { readEvaluations, readSignals } from '../../../src/tables/changes/watch-record.js'
import { resolveRule, workedRules } from '../../../src/tables/changes/watch-rules.js'
import { queryRows } from '../../../src/tables/query.js'
import { listViews } from '../../../src/tables/views/index.js'
import { streams } from '../../../streams/registry.js'
import { temporaryFolder } from '../../support/folders.js'
import { duckdb } from '../support.js'

const DAYS: readonly Day[] = [2, 3, 4, 5, 6, 9, 10, 11, 12, 13].map(
  (date) => `2026-02-${String(date).padStart(2, '0')}`,
)
const [FIRST, LAST] = [DAYS[0] as Day, DAYS.at(-1) as Day]

/**
 * What the simulator plants shows in the list of stocks, in that of equities, and in the lists of
 * surveillance.
 */
const RULES: readonly WatchRule[] = [
  { name: 'stocks', query: 'select isin, symbol from master;\n', key: ['isin'] },
  { name: 'listed', query: 'new-listings', notify: true },
  {
    name: 'watched',
    query: 'select isin, list, stage from surveillance',
    key: ['isin', 'list'],
    only: ['entered'],
  },
]
const BROKEN: WatchRule = { name: 'broken', query: 'select wrong from surveillance' }

const tables = listTables(streams)
const unchanged = ({ knownAt: _, ...signal }: Signal): Omit<Signal, 'knownAt'> => signal
const toTexts = (signals: readonly Signal[]): readonly string[] =>
  signals.map(({ day, rule, change, row }) => [day, rule, change, row.isin].join(' ')).sort()

/** The signals that a planted event must give. */
const expected = ({ kind, day, ...event }: PlantedEvent): readonly string[] => {
  const isin = 'isin' in event ? event.isin : ''
  const known: Partial<Record<PlantedEvent['kind'], readonly string[]>> = {
    listing: ['stocks entered', 'listed entered'],
    delisting: ['stocks left'],
    rename: ['stocks changed'],
    'surveillance-entry': ['watched entered'],
  }
  return (known[kind] ?? []).map((signal) => `${day} ${signal} ${isin}`)
}

describe.runIf(duckdb)('ten sessions with planted events', () => {
  const root = temporaryFolder()
  const results: WatchResult[] = []
  let planted: readonly PlantedEvent[] = []
  beforeAll(async () => {
    let now = 0
    const kinds = ['listing', 'delisting', 'rename', 'surveillance-entry'] as const
    const options = { stocks: 30, candleDays: 230, events: { kinds, perSession: 1.5 }, asOf: () => now }
    now = toInstant(FIRST, '20:00')
    const provider = await serveSimulator({
      endpoints: streams.flatMap(({ endpoints }) => endpoints),
      ...options,
    })
    const collector = createCollector({ settings: { ...provider.settings, out: root }, clock: () => now })
    try {
      for (const day of DAYS) {
        now = toInstant(day, '20:00')
        await lastValueFrom(
          collector.run({ skip: ['indices-ohlcv', 'company-filings', 'market-news', 'new-announcements'] }),
        )
        results.push(await evaluateRules([...RULES, BROKEN], { root, streams }, () => now))
      }
      planted = provider.plan(FIRST, LAST).filter(({ day }) => day > FIRST)
    } finally {
      await provider.close()
    }
  })

  it('give one signal for each planted event, on its evening, and no other', async () => {
    expect(planted.length).toBeGreaterThan(8)
    expect(toTexts(await readSignals(root))).toEqual(planted.flatMap(expected).sort())
    expect(results.flatMap(({ signals }) => signals).map(unchanged)).toEqual(
      (await readSignals(root)).map(unchanged),
    )
    for (const { rule, notify } of await readSignals(root))
      expect(notify).toBe(rule === 'listed' ? true : undefined)
  })

  it('name a rule that fails on each evening, and go on with the others', async () => {
    const [first, ...later] = results.map(({ failures }) => failures.join())
    expect(first).toMatch(/^broken failed on 2026-02-02: unknown column: wrong/)
    for (const [place, failure] of later.entries())
      expect(failure).toContain(`broken failed on 2 days, last on ${DAYS[place + 1]}: unknown column: wrong`)
    const recorded = await readEvaluations(root, 'broken')
    expect(recorded.map(({ day }) => day)).toEqual(DAYS)
    expect(recorded.every(({ error }) => error?.includes('unknown column: wrong'))).toBe(true)
  })

  it('describe and replay the other rules if one names no query', async () => {
    const rules: readonly WatchRule[] = [{ name: 'lost', query: 'volumex5' }, ...RULES, BROKEN]
    const reason = 'unknown query: volumex5 (did you mean volume-x5?)'
    expect(
      (await describeRules(root, rules)).map(({ name, isBad }) => (isBad ? `${name} is bad` : name)),
    ).toEqual(['lost is bad', 'stocks', 'listed', 'watched', 'broken is bad'])
    const { signals, failures } = await replayRules(rules, { from: FIRST, to: LAST }, { root, streams })
    expect(toTexts(signals)).toEqual(toTexts(await readSignals(root)))
    expect(failures).toEqual([
      `lost: ${reason}`,
      expect.stringMatching(`^broken failed on 10 days, last on ${LAST}: unknown column`),
    ])
  })

  it('give the recorded signals again in a replay', async () => {
    const { signals, failures } = await replayRules(RULES, { from: FIRST, to: LAST }, { root, streams })
    expect(failures).toEqual([])
    expect(toTexts(signals)).toEqual(toTexts(await readSignals(root)))
    const part = await replayRules(RULES, { from: DAYS[4] as Day, to: DAYS[6] as Day }, { root, streams })
    expect(part.signals).toEqual(
      signals.filter(({ day }) => day >= String(DAYS[4]) && day <= String(DAYS[6])),
    )
  })

  it('replay each worked rule as the difference of the answers as of five days', async () => {
    const known = new Set(listViews(tables).flatMap(({ columns }) => columns.map(({ name }) => name)))
    // An optional stream provides the delivery.
    const usable = workedRules.filter(({ sql }) => known.has('delivery_x') || !sql.includes('delivery_x'))
    const rules = usable.map(({ name }): WatchRule => ({ name, query: name }))
    // Every answer is one of the dearest queries.
    const from = DAYS[6] as Day
    const { signals, failures } = await replayRules(rules, { from, to: LAST }, { root, streams })
    expect(failures).toEqual([])
    expect(signals.length).toBeGreaterThan(5)
    for (const rule of rules) {
      const { sql, key = [], only = [] } = await resolveRule(rule, root)
      const keyOf = (row: Row): string => key.map((column) => row[column]).join(' ')
      const found: string[] = []
      let before: readonly Row[] | undefined
      for (const day of (await listWatchDays(root)).filter((one) => one >= String(DAYS[5]))) {
        const after = await queryRows(sql, { out: root, tables, asOf: day, lakeFrom: false })
        const has = (rows: readonly Row[], row: Row): boolean => rows.some((one) => keyOf(one) === keyOf(row))
        for (const row of before ? after : [])
          if (!has(before ?? [], row)) found.push(`${day} entered ${keyOf(row)}`)
        for (const row of before ?? []) if (!has(after, row)) found.push(`${day} left ${keyOf(row)}`)
        before = after
      }
      const own = signals.filter((signal) => signal.rule === rule.name && signal.change !== 'changed')
      const wanted = found.filter((text) => only.some((change) => text.includes(` ${change} `)))
      expect(own.map(({ day, change, row }) => `${day} ${change} ${keyOf(row)}`).sort(), rule.name).toEqual(
        wanted.sort(),
      )
    }
  })

  it('record a session once, however often it is asked about, and go on after a line that a kill has cut', async () => {
    const path = join(root, '.scripstream/watch/stocks.ndjson')
    const text = readFileSync(path, 'utf8')
    appendFileSync(path, text.slice(0, 80))
    const again = await evaluateRules(RULES, { root, streams }, () => toInstant(LAST, '21:00'))
    expect(again).toEqual({ signals: [], failures: [] })
    expect(await readEvaluations(root, 'stocks')).toHaveLength(DAYS.length)
  })
})
