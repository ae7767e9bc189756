import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Payload } from '../../src/cli/notify/payload.js'
import { runProgram } from '../../src/cli/program.js'
import { Settings } from '../../src/model/settings.js'
import { readRecordedChecks } from '../../src/verify/recorded-checks.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, runReport } from './support.js'

/** A folder with one stock, whose one candle is there twice. */
const out = temporaryFolder()
const LIST = join(out, '.scripstream/accepted-findings.json')
const CANDLE = '1093372200,1,2,0.5,1.5,10\n'
mkdirSync(join(out, 'ohlcv_data'))
writeFileSync(
  join(out, 'master_isin_map.json'),
  '[{"Symbol":"INFY","ISIN":"INE009A01021","Name":"Infosys","Sid":"1594","FnoFlag":1}]',
)
writeFileSync(join(out, 'ohlcv_data/INFY.csv'), `Timestamp,Open,High,Low,Close,Volume\n${CANDLE}${CANDLE}`)

const verified = async (limits: Readonly<Record<string, number>>, ...args: readonly string[]) => {
  const io = createTestIo()
  const loadSettings = () => Settings.parse({ out, verify: limits })
  const code = await runProgram(
    ['verify', ...args],
    io,
    createTestDependencies(undefined, { streams, loadSettings }),
  )
  return { code, text: io.out.text(), err: io.err.text() }
}

describe('a failure of verify', () => {
  const verifyWith = async (notify: string, ...args: readonly string[]) => {
    const io = createTestIo({ env: { PATH: process.env.PATH } })
    const loadSettings = () => Settings.parse({ out, notify })
    const dependencies = createTestDependencies(undefined, {
      streams,
      loadSettings,
      loadNotifySettings: loadSettings,
    })
    const code = await runProgram(['verify', ...args], io, dependencies)
    return { code, err: io.err.text() }
  }

  it('notifies in a schedule, with what was found', async () => {
    const payload = join(temporaryFolder(), 'payload')
    expect(await verifyWith(`cat > '${payload}'`, '--quiet', '--only', 'duplicate-candles')).toEqual({
      code: 4,
      err: '',
    })
    const sent = JSON.parse(readFileSync(payload, 'utf8')) as Payload
    expect(sent).toMatchObject({ command: 'verify', outcome: 'failed', exitCode: 4, newFindings: 1 })
    expect(sent.findings).toEqual([expect.objectContaining({ check: 'duplicate-candles', symbol: 'INFY' })])
    expect(sent.text).toBe(`scripstream: verify: errors: 1 new, 0 allowed in ${out} (duplicate-candles 1).`)
  })

  it('that is an error notifies, too, and stays the same error if that fails', async () => {
    const wrong = ['--quiet', '--drift', '--accept', 'as seen'] as const
    const payload = join(temporaryFolder(), 'payload')
    const { code, err } = await verifyWith(`cat > '${payload}'`, ...wrong)
    expect([code, err]).toEqual([2, 'error: --accept: changes of answers take no reason; leave it out\n'])
    expect(JSON.parse(readFileSync(payload, 'utf8'))).toMatchObject({
      command: 'verify',
      exitCode: 2,
      text: 'scripstream: verify: --accept: changes of answers take no reason; leave it out',
    })
    expect(await verifyWith('false', ...wrong)).toEqual({
      code: 2,
      err: 'warning: the notification to your command was not sent: the command ended with exit code 1\nerror: --accept: changes of answers take no reason; leave it out\n',
    })
  })

  it('does not notify if a person asked, or if all is well', async () => {
    const payload = join(temporaryFolder(), 'payload')
    await verifyWith(`touch '${payload}'`, '--only', 'duplicate-candles')
    await verifyWith(`touch '${payload}'`, '--quiet', '--only', 'unordered-candles')
    expect(existsSync(payload)).toBe(false)
  })
})

describe('the exit code of verify', () => {
  it.each([
    ['no limit is set, and there is an error', {}, 4],
    ['errors are allowed', { errors: 1 }, 0],
    ['errors are allowed, but none of this check', { errors: 1, 'duplicate-candles': 0 }, 4],
    ['other checks are limited', { errors: 1, 'large-moves': 0, warnings: 0 }, 0],
  ])('shows that %s', async (_, limits, code) => {
    const result = await verified(limits, '--only', 'duplicate-candles', '--json')
    expect([result.code, result.err]).toEqual([code, ''])
    const { findings, passed } = JSON.parse(result.text)
    expect([findings.length, passed.length]).toEqual([1, code === 0 ? 0 : 1])
  })

  it('is 0 for a check that finds nothing', async () => {
    expect((await verified({}, '--only', 'unordered-candles')).code).toBe(0)
  })
})

describe('the result of verify', () => {
  it('is kept for the page if all was checked, and not after a selection', async () => {
    const report = join(out, '.scripstream/report.json')
    mkdirSync(join(out, '.scripstream'), { recursive: true })
    writeFileSync(report, JSON.stringify(runReport({ run: 'r1', scripts: {} })))
    for (const selection of [
      ['--only', 'files'],
      ['--since', '2026-01-01'],
      ['--symbols', 'INFY'],
    ])
      await verified({}, ...selection)
    expect(await readRecordedChecks(out, 'r1')).toBeUndefined()
    await verified({}, '--quiet')
    expect(await readRecordedChecks(out, 'r1')).toMatchObject({ findings: [{ check: 'duplicate-candles' }] })
    rmSync(report)
  })
})

describe('verify --deep', () => {
  it('reads the content of every output, and is off by default', async () => {
    const digests = join(out, '.scripstream/output-digests')
    const only = ['--only', 'files', '--json']
    mkdirSync(join(out, '.scripstream'), { recursive: true })
    const { size } = statSync(join(out, 'ohlcv_data/INFY.csv'))
    writeFileSync(digests, `${'0'.repeat(8)} ${size} 1 ohlcv_data/INFY.csv\n`)
    expect(await verified({}, ...only)).toMatchObject({ code: 0 })
    const { code, text } = await verified({}, '--deep', ...only)
    expect(code).toBe(4)
    expect(JSON.parse(text)).toMatchObject({
      counts: { files: { error: 1, info: 1 } },
      findings: [
        {
          severity: 'error',
          file: 'ohlcv_data/INFY.csv',
          detail: expect.stringContaining('it was changed after a run wrote it'),
        },
        {
          severity: 'info',
          file: 'master_isin_map.json',
          detail: expect.stringContaining('it has no digest'),
        },
      ],
    })
    rmSync(digests)
  })
})

describe('verify --accept', () => {
  const only = ['--only', 'duplicate-candles,unordered-candles']

  it('ends the report of known findings, and the exit code 4', async () => {
    expect((await verified({}, ...only)).code).toBe(4)
    const accepting = await verified({}, ...only, '--accept', 'of the provider')
    expect(accepting.code).toBe(0)
    expect(accepting.text).toMatch(/1 finding accepted, 0 no longer found and removed/)
    expect(JSON.parse(readFileSync(LIST, 'utf8'))).toMatchObject([
      { check: 'duplicate-candles', reason: 'of the provider' },
    ])
    const after = await verified({}, ...only)
    expect(after.code).toBe(0)
    expect(after.text).toMatch(/no new findings \(1 accepted\)/)
    rmSync(LIST)
  })

  it('lists accepted findings that are no longer found', async () => {
    const entry = {
      check: 'unordered-candles',
      severity: 'error',
      symbol: 'INFY',
      day: '2004-08-25',
      detail: '',
      accepted: '2026-02-12',
    }
    mkdirSync(join(out, '.scripstream'), { recursive: true })
    writeFileSync(LIST, JSON.stringify([{ ...entry, reason: 'known' }]))
    const { text } = await verified({}, ...only)
    expect(text).toContain(
      'Accepted earlier, no longer found (--accept removes them)\n  INFY 2004-08-25: unordered-candles, accepted 2026-02-12: known\n',
    )
    rmSync(LIST)
  })
})

describe('verify --quiet', () => {
  it('prints nothing without new findings, and the report otherwise', async () => {
    expect(await verified({}, '--only', 'unordered-candles', '--quiet')).toEqual({
      code: 0,
      text: '',
      err: '',
    })
    expect(await verified({}, '--only', 'unordered-candles', '--quiet', '--json')).toEqual({
      code: 0,
      text: '',
      err: '',
    })
    expect(await verified({}, '--quiet')).toMatchObject({
      code: 4,
      text: expect.stringContaining('duplicate-candles'),
    })
  })

  it('prints nothing if all that is new is for information, such as files of stocks that left the list', async () => {
    const file = join(out, 'ohlcv_data/GONE.csv')
    writeFileSync(file, 'Timestamp,Open,High,Low,Close,Volume\n')
    expect((await verified({}, '--only', 'leftovers')).text).toContain('ohlcv_data/GONE.csv')
    expect(await verified({}, '--only', 'leftovers', '--quiet')).toEqual({ code: 0, text: '', err: '' })
    rmSync(file)
  })
})

describe('verify --since', () => {
  it('selects findings of this day or later', async () => {
    expect((await verified({}, '--only', 'duplicate-candles', '--since', '2004-08-25')).code).toBe(4)
    expect((await verified({}, '--only', 'duplicate-candles', '--since', '2004-08-26')).code).toBe(0)
  })

  it('rejects what is no day', async () => {
    expect(await verified({}, '--since', 'yesterday')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--since: invalid date "yesterday"; use YYYY-MM-DD'),
    })
  })
})
