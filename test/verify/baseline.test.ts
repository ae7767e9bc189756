import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { StorageError } from '../../src/model/errors.js'
import type { Row } from '../../src/model/row.js'
import { type Finding, sortFindings } from '../../src/verify/finding.js'
import { temporaryFolder } from '../support/folders.js'
import { copyOf, gist, type OutputFolder, outputFolder, runInto, verified } from './support.js'

const FILE = '.scripstream/accepted-findings.json'
const clean = temporaryFolder()
const names = { a: '', b: '', c: '' }

beforeAll(async () => {
  await runInto(clean)
  const [a, b, c] = outputFolder(clean)
    .rows('master_isin_map.json')
    .map(({ Symbol: symbol }) => String(symbol))
    .filter(
      (symbol) =>
        existsSync(`${clean}/market_news/${symbol}_news.json`) &&
        outputFolder(clean).candles(symbol).length > 1_000,
    )
  Object.assign(names, { a, b, c })
})

const repeatLast = (folder: OutputFolder, symbol: string): void => {
  const candles = folder.candles(symbol)
  folder.putCandles(symbol, [...candles, ...candles.slice(-1)])
}

/** A folder with a duplicate candle of one stock and a missing session of another. */
const withTwoFaults = (): OutputFolder => {
  const folder = copyOf(clean)
  folder.forget()
  repeatLast(folder, names.a)
  folder.putCandles(names.b, folder.candles(names.b).toSpliced(800, 1))
  return folder
}

const accept = { on: '2026-02-12', reason: 'known' }
const entries = (folder: OutputFolder): readonly string[] =>
  folder.rows(FILE).map((entry) => `${entry.check} ${entry.symbol}`)

describe('accepted findings', () => {
  it('are not reported again, and do not exceed a limit; new ones are and do', async () => {
    const folder = withTwoFaults()
    expect((await verified(folder)).passed).toHaveLength(1)
    expect(await verified(folder, { accept })).toMatchObject({
      findings: [],
      passed: [],
      changed: { added: 2, removed: 0 },
    })
    expect(await verified(folder)).toMatchObject({
      findings: [],
      passed: [],
      stale: [],
      accepted: [{ reason: 'known' }, { reason: 'known' }],
    })
    repeatLast(folder, names.c)
    const { findings, accepted, passed } = await verified(folder)
    expect(findings.map(gist)).toEqual([`duplicate-candles error ${names.c}`])
    expect([accepted.length, passed]).toEqual([2, [{ limit: 'errors', allowed: 0, found: 1 }]])
  })

  it('are one per line, sorted, with the day and the reason; a later acceptance keeps both', async () => {
    const folder = withTwoFaults()
    await verified(folder, { accept })
    const text = folder.text(FILE)
    const [first, ...lines] = text.trimEnd().split('\n')
    expect([first, lines.length, lines.at(-1)]).toEqual(['[', 3, ']'])
    expect(JSON.parse(lines[0]?.replace(/,$/, '') ?? '')).toEqual({
      check: 'duplicate-candles',
      severity: 'error',
      symbol: names.a,
      day: '2026-02-12',
      file: `ohlcv_data/${names.a}.csv`,
      detail: '2026-02-12 appears twice',
      since: '2026-02-12',
      accepted: '2026-02-12',
      reason: 'known',
    })
    await verified(folder, { accept: { on: '2026-03-01', reason: 'another' } })
    expect(folder.text(FILE)).toBe(text)
  })

  it('are recognized whatever their wording, but not if a warning becomes an error', async () => {
    const folder = withTwoFaults()
    await verified(folder, { accept })
    const reworded = folder.rows(FILE).map((entry) => ({ ...entry, detail: 'other words' }))
    folder.putRows(FILE, reworded)
    expect((await verified(folder)).findings).toEqual([])
    folder.putRows(
      FILE,
      reworded.map((entry) => ({ ...entry, severity: 'warning' })),
    )
    expect((await verified(folder)).findings.map(gist)).toEqual([`duplicate-candles error ${names.a}`])
  })

  it('that are no longer found are listed, and removed by the next acceptance', async () => {
    const folder = withTwoFaults()
    await verified(folder, { accept })
    folder.putCandles(names.a, folder.candles(names.a).slice(0, -1))
    const { findings, stale } = await verified(folder)
    expect({ findings, stale: stale.map(({ symbol }) => symbol) }).toEqual({ findings: [], stale: [names.a] })
    expect((await verified(folder, { accept })).changed).toEqual({ added: 0, removed: 1 })
    expect(entries(folder)).toEqual([`missing-sessions ${names.b}`])
  })

  it('of a renamed stock stay accepted', async () => {
    const folder = withTwoFaults()
    await verified(folder, { accept })
    folder.putCandles('RENAMED', folder.candles(names.a))
    folder.remove(`ohlcv_data/${names.a}.csv`)
    const rename = (rows: readonly Row[]) =>
      rows.map((row) => (row.Symbol === names.a ? { ...row, Symbol: 'RENAMED' } : row))
    folder.putRows('master_isin_map.json', rename(folder.rows('master_isin_map.json')))
    const [{ ISIN }] = folder.rows('master_isin_map.json').filter((row) => row.Symbol === 'RENAMED') as [Row]
    folder.putRows('.scripstream/former-stocks.json', [
      { symbol: names.a, isin: ISIN, file: names.a, until: '2026-02-12' },
    ])
    const only = ['duplicate-candles', 'missing-sessions'] as const
    const { findings, accepted, stale } = await verified(folder, { only })
    expect([findings, stale, accepted.map(({ symbol }) => symbol)]).toEqual([[], [], ['RENAMED', names.b]])
  })

  it.each([
    ['checks', () => ({ only: ['missing-sessions'] as const })],
    ['stocks', () => ({ symbols: [names.b] })],
  ])('of some %s change only those', async (_, select) => {
    const folder = withTwoFaults()
    await verified(folder, { ...select(), accept })
    expect(entries(folder)).toEqual([`missing-sessions ${names.b}`])
    await verified(folder, { accept })
    folder.putCandles(names.a, folder.candles(names.a).slice(0, -1))
    folder.putCandles(names.b, outputFolder(clean).candles(names.b))
    expect((await verified(folder, select())).stale.map(({ symbol }) => symbol)).toEqual([names.b])
    await verified(folder, { ...select(), accept })
    expect(entries(folder)).toEqual([`duplicate-candles ${names.a}`])
  })

  it('since a day change only those', async () => {
    const folder = withTwoFaults()
    const since = '2026-02-12'
    expect((await verified(folder, { since })).findings.map(gist)).toEqual([
      `duplicate-candles error ${names.a}`,
    ])
    await verified(folder, { since, accept })
    expect(entries(folder)).toEqual([`duplicate-candles ${names.a}`])
  })

  it.each([
    ['text that is not JSON', '[{"check":', /is damaged: it is not valid JSON/],
    ['an empty file', '', /is damaged: it is not valid JSON/],
    ['no list', '{}', /is damaged: it is not a list/],
    ['an unknown check', '[{"check":"x"}]', /is damaged: entry 1 is no finding/],
  ])('in a damaged file (%s) are an error that names it, and the file stays', async (_, text, message) => {
    const folder = withTwoFaults()
    folder.put(FILE, text)
    for (const changes of [{}, { accept }]) {
      const failed = verified(folder, changes)
      await expect(failed).rejects.toThrow(StorageError)
      await expect(failed).rejects.toThrow(FILE)
      await expect(failed).rejects.toThrow(message)
    }
    expect(folder.text(FILE)).toBe(text)
  })

  it('stay when a run writes into the folder', async () => {
    const folder = withTwoFaults()
    await verified(folder, { accept })
    const text = folder.text(FILE)
    await runInto(folder.path, { fresh: true })
    expect(folder.text(FILE)).toBe(text)
  })
})

describe('the order of findings', () => {
  const finding = (symbol: string | undefined, day: string): Finding => ({
    check: 'large-moves',
    severity: 'warning',
    ...(symbol === undefined ? {} : { symbol }),
    day,
    detail: '',
  })
  const tradedValues = new Map([
    ['LIQUID', 1e9],
    ['SMALL', 1e5],
  ])

  it('has the market, liquid stocks and recent days first', () => {
    const findings = [
      finding('UNKNOWN', '2026-02-12'),
      finding('SMALL', '2026-02-12'),
      finding('SMALL', '2012-02-12'),
      finding('LIQUID', '2020-02-12'),
      finding('LIQUID', '2025-02-12'),
      finding(undefined, '2025-07-16'),
    ]
    expect(
      sortFindings(findings, { tradedValues, last: '2026-02-12' }).map(
        ({ symbol = '', day }) => `${symbol} ${day}`,
      ),
    ).toEqual([
      ' 2025-07-16',
      'LIQUID 2025-02-12',
      'SMALL 2026-02-12',
      'LIQUID 2020-02-12',
      'UNKNOWN 2026-02-12',
      'SMALL 2012-02-12',
    ])
  })

  it('has errors before warnings of the same check, and does not depend on the order in which they were found', () => {
    const findings = [
      finding('LIQUID', '2026-02-12'),
      { ...finding('UNKNOWN', '2001-01-01'), severity: 'error' as const },
    ]
    for (const given of [findings, findings.toReversed()])
      expect(sortFindings(given, { tradedValues, last: undefined }).map(({ symbol }) => symbol)).toEqual([
        'UNKNOWN',
        'LIQUID',
      ])
  })
})
