import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom } from 'rxjs'
import { createCollector, type RunOptions } from '../../src/collector.js'
import type { StreamDefinition } from '../../src/engine/define-stream.js'
import type { Row } from '../../src/model/row.js'
import { serveSimulator } from '../../src/simulator/index.js'
import type { Finding, Verification } from '../../src/verify/finding.js'
import { verify } from '../../src/verify/verify.js'
import { streams as allStreams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'

/** 20:00 on a Thursday. The Sunday before the last had a special session. */
export const EVENING = Date.parse('2026-02-12T20:00:00+05:30')

const INDICES = 6

/** All streams, but few indices: two hundred candle files would take most of the test time. */
export const streams = allStreams.map((stream) => {
  const { name, offers } = stream
  return name === 'all-indices' && offers
    ? { ...stream, offers: (...given: Parameters<typeof offers>) => offers(...given).slice(0, INDICES) }
    : stream
})

/** An output folder with the operations of the tests. */
export interface OutputFolder {
  readonly path: string
  readonly text: (file: string) => string
  readonly put: (file: string, text: string) => void
  readonly remove: (file: string) => void
  readonly rows: (file: string) => readonly Row[]
  readonly putRows: (file: string, rows: readonly Row[]) => void
  /** The lines of a candle file without its header, each as its numbers. */
  readonly candles: (symbol: string) => readonly number[][]
  readonly putCandles: (symbol: string, candles: readonly (readonly number[])[]) => void
  /** Makes it a folder of another tool, without a report. */
  readonly forget: () => void
}

const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'

export const outputFolder = (path: string): OutputFolder => {
  const text = (file: string): string => readFileSync(join(path, file), 'utf8')
  const put = (file: string, content: string): void => writeFileSync(join(path, file), content)
  const fileOf = (symbol: string): string => `ohlcv_data/${symbol}.csv`
  return {
    path,
    text,
    put,
    remove: (file) => rmSync(join(path, file), { recursive: true }),
    rows: (file) => JSON.parse(text(file)),
    putRows: (file, rows) => put(file, `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`),
    candles: (symbol) =>
      text(fileOf(symbol))
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => line.split(',').map(Number)),
    putCandles: (symbol, candles) =>
      put(fileOf(symbol), `${HEADER}${candles.map((candle) => `${candle.join(',')}\n`).join('')}`),
    forget: () => {
      const report = JSON.parse(text('.scripstream/report.json'))
      for (const file of ['full-run.json', 'output-digests'])
        rmSync(join(path, '.scripstream', file), { force: true })
      put('.scripstream/report.json', JSON.stringify({ ...report, scripts: {} }))
    },
  }
}

/** A temporary copy of a folder. */
export const copyOf = (path: string): OutputFolder => {
  const copy = temporaryFolder()
  cpSync(path, copy, { recursive: true, preserveTimestamps: true })
  return outputFolder(copy)
}

/** Runs the whole graph on the simulator into a folder. */
export const runInto = async (
  path: string,
  { asOf = EVENING, stocks = 24, ...run }: RunOptions & { readonly stocks?: number } = {},
): Promise<void> => {
  const simulator = await serveSimulator({
    endpoints: streams.flatMap(({ endpoints }) => endpoints),
    stocks,
    asOf,
  })
  const collector = createCollector<readonly StreamDefinition[]>({
    settings: { ...simulator.settings, out: path },
    streams,
  })
  await firstValueFrom(collector.run({ asOf, variant: 'simulated', ...run }))
  await simulator.close()
}

export const verified = (
  folder: OutputFolder,
  changes: Partial<Parameters<typeof verify>[1]> = {},
): Promise<Verification> =>
  verify(folder.path, { streams, exchange: 'NSE', limits: { errors: 0 }, ...changes })

/** A finding without its text. */
export const gist = ({ check, severity, symbol, file }: Finding): string =>
  [check, severity, symbol ?? file ?? ''].join(' ').trim()
