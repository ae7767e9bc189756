import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import type { Drift } from '../../src/model/report.js'
import { Settings } from '../../src/model/settings.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, runReport, summaryLines } from './support.js'

const place = {
  stream: 'market-news',
  endpoint: 'news',
  answers: 55,
  of: 55,
  records: 150,
  ofRecords: 150,
  example: 'TCS',
} as const
const fresh: Drift = { ...place, kind: 'new', field: 'data.latest_news[].language' }
const gone: Drift = {
  ...place,
  kind: 'gone',
  field: 'data.latest_news[].title',
  expected: 'text',
  required: true,
}
const odd: Drift = {
  ...place,
  kind: 'format',
  field: 'data.latest_news[].publish_date',
  expected: 'millis',
  answers: 1,
  rare: true,
}

const folderWith = (drift: readonly Drift[] | undefined): string => {
  const out = temporaryFolder()
  mkdirSync(join(out, '.scripstream'))
  writeFileSync(join(out, 'master_isin_map.json'), '[{"Symbol":"INFY","ISIN":"INE009A01021"}]')
  writeReport(out, drift)
  return out
}

const writeReport = (out: string, drift: readonly Drift[] | undefined): void =>
  writeFileSync(
    join(out, '.scripstream/report.json'),
    JSON.stringify(runReport({ scripts: {}, ...(drift === undefined ? {} : { drift }) })),
  )

const readAccepted = (out: string): unknown =>
  JSON.parse(readFileSync(join(out, '.scripstream/drift-accepted.json'), 'utf8'))

const verifyDrift = async (out: string, ...args: readonly string[]) => {
  const io = createTestIo({ env: { PATH: process.env.PATH } })
  const dependencies = createTestDependencies(undefined, {
    streams,
    storage: (settings) => folder(settings.out),
  })
  const typed = ['verify', '--drift', '--only', 'leftovers', '--out', out, ...args]
  const code = await runProgram(typed, io, dependencies)
  const text = io.out.text()
  return { code, text, section: text.split('\nChanged answers\n')[1] ?? '', err: io.err.text() }
}

describe('verify --drift', () => {
  it('ends with 0 where the answers were as expected', async () => {
    expect(await verifyDrift(folderWith(undefined))).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^OK: no findings in /),
      section: '  The answers of the last run were as expected.\n',
      err: '',
    })
    expect((await verifyDrift(folderWith([odd]))).code).toBe(0)
  })

  it('shows what has changed, and ends with 3', async () => {
    const out = folderWith([fresh, gone, odd])
    const { code, text, section } = await verifyDrift(out)
    expect(code).toBe(3)
    expect(text).toMatch(/^Review: no findings in .* The answers have changed: see "Changed answers"\.\n/)
    expect(section.split('\n')).toEqual([
      '  Changed, and not accepted',
      '    market-news: news: data.latest_news[].language is new in 55 of 55 answers (first with TCS)',
      '    market-news: news: data.latest_news[].title is gone from 55 of 55 answers (first with TCS); the field is required',
      '  Seen in a few answers only',
      '    market-news: news: data.latest_news[].publish_date has another format than millis in 1 of 55 answers (first with TCS)',
      '  To accept these changes, so that later runs ignore them:',
      `  scripstream verify --out ${out} --drift --accept`,
      '',
    ])
    const { text: json } = await verifyDrift(folderWith([fresh]), '--json')
    expect(JSON.parse(json)).toMatchObject({ findings: [], passed: [], drift: [fresh] })
  })

  it('is no part of the report without the flag', async () => {
    const io = createTestIo()
    const args = ['verify', '--only', 'leftovers', '--json', '--out', folderWith([fresh])]
    expect(await runProgram(args, io, createTestDependencies(undefined, { streams }))).toBe(0)
    expect(JSON.parse(io.out.text())).not.toHaveProperty('drift')
  })

  it('accepts changes on request, and then ignores them', async () => {
    const out = folderWith([fresh, gone])
    expect(await verifyDrift(out, '--accept')).toMatchObject({
      code: 0,
      section: expect.stringMatching(/^ {2}Accepted\n.* is new .*\n.* is gone .*\n.*--accept fields/),
    })
    expect(readAccepted(out)).toEqual([
      { stream: 'market-news', endpoint: 'news', kind: 'new', field: fresh.field },
      { stream: 'market-news', endpoint: 'news', kind: 'gone', field: gone.field },
    ])
    expect(await verifyDrift(out)).toMatchObject({
      code: 0,
      section: expect.stringMatching(/^ {2}Accepted\n/),
    })
    await verifyDrift(out, '--accept')
    expect(readAccepted(out)).toHaveLength(2)
    writeReport(out, [{ ...fresh, field: 'other' }])
    expect((await verifyDrift(out)).code).toBe(3)
    const { text } = await verifyDrift(out, '--accept', '--json')
    expect(JSON.parse(text).drift).toEqual([{ ...fresh, field: 'other', accepted: true }])
    expect(readAccepted(out)).toHaveLength(3)
  })

  it('accepts the changes only, and no finding', async () => {
    const out = folderWith([fresh])
    mkdirSync(join(out, 'ohlcv_data'))
    const candle = '1093372200,1,2,0.5,1.5,10\n'
    writeFileSync(
      join(out, 'ohlcv_data/INFY.csv'),
      `Timestamp,Open,High,Low,Close,Volume\n${candle}${candle}`,
    )
    const only = ['--only', 'duplicate-candles']
    // More findings than allowed weigh more than changed answers.
    expect((await verifyDrift(out, ...only)).code).toBe(4)
    expect((await verifyDrift(out, ...only, '--accept')).code).toBe(4)
    expect(existsSync(join(out, '.scripstream/accepted-findings.json'))).toBe(false)
    expect(await verifyDrift(out, '--accept', 'x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('changes of answers take no reason'),
    })
  })

  it('prints and notifies in a schedule, but not of changes that are accepted', async () => {
    const out = folderWith([fresh])
    const payload = join(out, 'payload')
    const notify = `cat > '${payload}'`
    const loadSettings = () => Settings.parse({ out, notify })
    const quiet = async (...args: readonly string[]) => {
      const io = createTestIo({ env: { PATH: process.env.PATH } })
      const dependencies = createTestDependencies(undefined, {
        streams,
        storage: (settings) => folder(settings.out),
        loadSettings,
        loadNotifySettings: loadSettings,
      })
      const code = await runProgram(['verify', '--drift', '--quiet', ...args], io, dependencies)
      return { code, text: io.out.text() }
    }
    expect(await quiet()).toEqual({ code: 3, text: expect.stringContaining('language is new') })
    expect(JSON.parse(readFileSync(payload, 'utf8'))).toMatchObject({
      command: 'verify',
      exitCode: 3,
      text: `scripstream: verify: 1 change of answers not accepted in ${out}.`,
    })
    expect(await quiet('--accept')).toEqual({ code: 0, text: '' })
  })

  it('ends with 2 without a run', async () => {
    const out = folderWith([])
    rmSync(join(out, '.scripstream/report.json'))
    expect(await verifyDrift(out)).toMatchObject({
      code: 2,
      text: '',
      err: expect.stringContaining('no run has finished'),
    })
  })
})

it('the summary of a run with all files but changed answers says so, and what to do', () => {
  const changes = { out: '/srv/m', args: ['run', '--only', 'x', '--out', '/srv/m'] }
  const lines = summaryLines(
    runReport({ outcome: 'partial', drift: [fresh, { ...gone, accepted: true }] }),
    changes,
  )
  expect(lines.at(-1)).toMatch(/^Partial: all files are written, but answers have changed/)
  expect(lines.join('\n')).toContain('language is new')
  expect(lines.join('\n')).not.toContain('title is gone')
  expect(lines.slice(-5, -2)).toEqual([
    'Next',
    '  See what has changed; "scripstream verify --drift --accept" accepts it:',
    '    scripstream verify --out /srv/m --drift',
  ])
})
