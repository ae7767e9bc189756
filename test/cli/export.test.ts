import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { EMPTY } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { Settings } from '../../src/model/settings.js'
import { recordFullRun } from '../../src/storage/full-run.js'
import { streams } from '../../streams/registry.js'
import { recordDigests } from '../support/digests.js'
import { temporaryFolder } from '../support/folders.js'
import { folderWith, duckdb as isThere } from '../tables/support.js'
import { createTestDependencies, createTestIo, runReport } from './support.js'

const FILES = ['A', 'B', 'C'].map((symbol) => `ohlcv_data/${symbol}.csv`)

/** A folder as a complete run left it. */
const leftBehind = async (): Promise<string> => {
  const candles = Object.fromEntries(
    FILES.map((file) => [file, 'Timestamp,Open,High,Low,Close,Volume\n1093372200,1,2,0.5,1.5,10\n']),
  )
  const out = folderWith({
    ...candles,
    'master_isin_map.json': [{ Symbol: 'A' }],
    '.scripstream/report.json': {},
  })
  onTestFinished(() => rmSync(out, { recursive: true }))
  const outputs = ['master_isin_map.json', 'ohlcv_data/*.csv']
  recordDigests(out, ['master_isin_map.json', ...FILES])
  await recordFullRun(out, {
    run: { run: 'r', asOf: 0, configuration: 'c', report: runReport() },
    outputs,
    isComplete: true,
  })
  return out
}

const remove = (out: string, ...files: readonly string[]): void => {
  for (const file of files) rmSync(join(out, file))
}

const exportOf = async (out: string, target = join(out, 'candles.xlsx')) => {
  const io = createTestIo()
  const code = await runProgram(
    ['export', '-o', out, '--to', target],
    io,
    createTestDependencies(EMPTY, { streams }),
  )
  return { code, said: io.err.text(), told: io.out.text() }
}

describe.each([['--to', 'screener.xlsx'], []])('a failure of export %s %s', (...target) => {
  it('notifies in a schedule only', async () => {
    const [payload, out] = [join(temporaryFolder(), 'payload'), join(temporaryFolder(), 'none')]
    const run = async (...more: readonly string[]) => {
      const io = createTestIo({ env: { PATH: process.env.PATH } })
      const load = () => Settings.parse({ out, notify: `cat > '${payload}'` })
      const dependencies = createTestDependencies(EMPTY, {
        streams,
        loadSettings: load,
        loadNotifySettings: load,
      })
      return { code: await runProgram(['export', ...target, ...more], io, dependencies), err: io.err.text() }
    }
    const { code, err } = await run()
    expect([code, existsSync(payload)]).toEqual([2, false])
    expect(await run('--quiet')).toEqual({ code, err })
    expect(JSON.parse(readFileSync(payload, 'utf8'))).toMatchObject({
      command: 'export',
      exitCode: 2,
      text: expect.stringMatching(/^scripstream: export: /),
    })
  })
})

describe.skipIf(!isThere)('an export', () => {
  it('prints no warning if all files of the last run are present, changed or not', async () => {
    const out = await leftBehind()
    remove(out, '.scripstream/report.json')
    expect(await exportOf(out)).toMatchObject({ code: 0, said: '' })
  })

  it('warns about missing files of the last run, and loads the others', async () => {
    const out = await leftBehind()
    remove(out, ...FILES.slice(0, 2))
    const { code, said, told } = await exportOf(out)
    const [first, second] = FILES.filter((file) => said.includes(file))
    expect([code, second]).toEqual([0, undefined])
    expect(said).toBe(
      `warning: 2 files of the last run are missing, such as ${first}; for details: scripstream verify --out ${out}\n`,
    )
    expect(told).toMatch(/candles +1 /)
  })

  it('says that it made a folder, which may be a typo', async () => {
    const out = await leftBehind()
    const file = join(out, 'nodir', 'sub', 'candles.xlsx')
    expect((await exportOf(out, file)).told).toContain(
      `Loaded into ${file} (new folder ${join(out, 'nodir', 'sub')}): 3 rows`,
    )
    expect((await exportOf(out, file)).told).toContain(`Loaded into ${file}: 3 rows`)
  })

  it('warns about one missing file, and does not warn if no run recorded its files', async () => {
    const out = await leftBehind()
    remove(out, 'ohlcv_data/B.csv')
    expect((await exportOf(out)).said).toContain('1 file of the last run is missing: ohlcv_data/B.csv; ')
    remove(out, '.scripstream/full-run.json')
    expect((await exportOf(out)).said).toBe('')
  })
})

describe.skipIf(!isThere)('an export without a target', () => {
  it('says how long each table took that was written, and how many were', async () => {
    const out = await leftBehind()
    const io = createTestIo()
    const run = async () => {
      // Without the record of a run, views are missing.
      expect(await runProgram(['export', '--out', out], io, createTestDependencies(EMPTY, { streams }))).toBe(
        3,
      )
      return io.out.text()
    }
    const first = await run()
    expect(first).toMatch(/^candles +3 +\d+\.\ds$/m)
    expect(first).toMatch(/Lake incomplete: \d+ rows in \d+ tables, \d+ tables written/)
    expect(first.replaceAll(/\s+/g, ' ')).toContain(
      'Missing, because the folder has no report of a run: candle_days, symbols,',
    )
    const second = (await run()).slice(first.length)
    expect(second).toMatch(/^candles +3 +-$/m)
  })
})
