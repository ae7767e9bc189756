import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import type { RunReport } from '../../src/model/report.js'
import { temporaryFolder } from '../support/folders.js'
import { createQuickCollector } from '../support/limits.js'
import { type Answer, EVENING, fakeProvider, SETTINGS, type SentRequest, stockNamed } from './support.js'

const MASTER = '"Isin"'
const isMaster = ({ body }: SentRequest): boolean => JSON.stringify(body ?? null).includes(MASTER)

const run = (stream: string, out: string, answer: Answer): Promise<RunReport> =>
  lastValueFrom(
    createQuickCollector({
      settings: SETTINGS,
      storage: folder(out),
      transport: fakeProvider(answer).send,
    }).run({
      asOf: EVENING,
      only: [stream],
    }),
  )

const symbolsIn = (path: string): readonly unknown[] =>
  readdirSync(path)
    .map((name) => JSON.parse(readFileSync(join(path, name), 'utf8')).Symbol)
    .sort()

/** One piece of news about every stock. */
const news =
  (symbols: readonly string[]): Answer =>
  (request) =>
    isMaster(request)
      ? { data: symbols.map(stockNamed) }
      : {
          data: {
            latest_news: [
              {
                news_object: { title: 'x', text: '', overall_sentiment: '' },
                publish_date: EVENING,
                category: '',
              },
            ],
          },
        }

describe('a run into a folder', () => {
  it.each([
    {
      what: 'of every odd kind',
      symbols: [
        'M&M',
        'BAJAJ-AUTO',
        '../x',
        '/etc/x',
        'CON',
        'a/b',
        'a:b',
        'Abc',
        'abc',
        'ABC',
        '.',
        '..',
        '\0x',
      ],
    },
    {
      what: 'that are long and differ at their ends',
      symbols: Array.from({ length: 8 }, (_, place) => `${'N'.repeat(100)}${place}`),
    },
  ])('gives each of the symbols $what a file of its own, with its own content', async ({ symbols }) => {
    const parent = temporaryFolder()
    const report = await run('market-news', join(parent, 'out'), news(symbols))
    expect(report.outcome).toBe('complete')
    expect(symbolsIn(join(parent, 'out', 'market_news'))).toEqual(
      symbols.map((symbol) => symbol.trim().replace('\0', '\ufffd')).sort(),
    )
    expect(readdirSync(parent)).toEqual(['out'])
  })

  it('is not ended by an index that is listed twice', async () => {
    const index = { Sym: 'NIFTY', Sid: 13, Exch: 'IDX', Seg: 'I', Inst: 'IDX' }
    const column = [1]
    const candles = { data: { Time: [1_770_834_600], o: column, h: column, l: column, c: column, v: column } }
    const out = temporaryFolder()
    const report = await run('indices-ohlcv', out, ({ path }) =>
      path.startsWith('/ticks') ? candles : { data: [index, index] },
    )
    expect(report.outcome).toBe('complete')
    expect(readdirSync(join(out, 'ohlcv_data', 'indices'))).toHaveLength(1)
  })
})
