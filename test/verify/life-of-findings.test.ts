import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { Settings } from '../../src/model/settings.js'
import { acquireLock } from '../../src/storage/lock.js'
import type { Verification } from '../../src/verify/finding.js'
import { readRecordedChecks, verifyAndRecord } from '../../src/verify/recorded-checks.js'
import { verify } from '../../src/verify/verify.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo, runReport } from '../cli/support.js'
import { stock } from '../show/support.js'
import { folderWith } from '../tables/support.js'

const HEADER = 'Timestamp,Open,High,Low,Close,Volume\n'
const CANDLE = '1093372200,1,2,0.5,1.5,10\n'
const NOW = Date.parse('2026-02-12T14:40:00Z')
const OPEN = '.scripstream/open-findings.json'

const createFolder = (): string => folderWith({ 'master_isin_map.json': [stock('A'), stock('B')] })

/** A run of a day, which leaves the stocks with a candle that is there twice. */
const run = (out: string, day: string, broken: readonly string[]): void => {
  for (const symbol of ['A', 'B'])
    writeFileSync(
      join(out, `ohlcv_data/${symbol}.csv`),
      HEADER + CANDLE.repeat(broken.includes(symbol) ? 2 : 1),
    )
  writeFileSync(
    join(out, '.scripstream/report.json'),
    JSON.stringify(runReport({ run: `r${day}`, asOf: `2026-02-${day}T14:30:00.000Z`, scripts: {} })),
  )
}

const folderOfRuns = (): string => {
  const out = folderWith({
    'master_isin_map.json': [stock('A'), stock('B')],
    'ohlcv_data/A.csv': HEADER,
    '.scripstream/x': '',
  })
  run(out, '05', ['A'])
  return out
}

const check = async (
  out: string,
  options: Partial<Parameters<typeof verify>[1]> = {},
): Promise<Verification> =>
  (await verifyAndRecord(out, { streams, exchange: 'NSE', limits: { errors: 0 }, ...options }, () => NOW))
    .verification

const life = ({ findings, gone, accepted, passed }: Verification): readonly string[] => [
  ...[...findings, ...gone, ...accepted].map(({ symbol, state, since }) => `${symbol} ${state} ${since}`),
  ...passed.map(({ found }) => `${found} too many`),
]

describe('the life of a finding', () => {
  it('is new in the files of the first run, open in those of later ones, gone once, new again, and accepted', async () => {
    const out = folderOfRuns()
    const isNew = ['A new 2026-02-05', '1 too many']
    expect(life(await check(out))).toEqual(isNew)
    // The page, and a person who looks after the daily run, see the same.
    expect(life(await check(out))).toEqual(isNew)
    for (const day of ['06', '09']) {
      run(out, day, ['A'])
      expect(life(await check(out))).toEqual(['A open 2026-02-05'])
    }
    run(out, '10', ['A', 'B'])
    expect(life(await check(out))).toEqual(['A open 2026-02-05', 'B new 2026-02-10', '1 too many'])
    run(out, '11', ['B'])
    for (const _ of [1, 2]) expect(life(await check(out))).toEqual(['B open 2026-02-10', 'A gone 2026-02-05'])
    run(out, '12', ['B'])
    expect(life(await check(out))).toEqual(['B open 2026-02-10'])
    run(out, '13', ['A', 'B'])
    expect(life(await check(out))).toEqual(['A new 2026-02-13', 'B open 2026-02-10', '1 too many'])
    expect(life(await check(out, { accept: { on: '2026-02-13' } }))).toEqual([
      'A accepted 2026-02-13',
      'B accepted 2026-02-10',
    ])
    run(out, '16', ['A', 'B'])
    expect(life(await check(out))).toEqual(['A accepted 2026-02-13', 'B accepted 2026-02-10'])
    expect(JSON.parse(readFileSync(join(out, OPEN), 'utf8'))).toEqual([])
  })

  it('does not end because other checks, stocks or days are selected', async () => {
    const out = folderOfRuns()
    await check(out)
    run(out, '06', [])
    for (const options of [{ only: ['files'] }, { symbols: ['B'] }, { since: '2026-01-01' }] as const)
      expect(life(await check(out, options))).toEqual([])
    run(out, '09', ['A'])
    expect(life(await check(out))).toEqual(['A open 2026-02-05'])
    run(out, '10', [])
    expect(life(await check(out, { symbols: ['A'] }))).toEqual(['A gone 2026-02-05'])
  })

  it('begins with a check of some stocks, too', async () => {
    const out = folderOfRuns()
    expect(life(await check(out, { symbols: ['A'] }))).toEqual(['A new 2026-02-05', '1 too many'])
    run(out, '06', ['A'])
    expect(life(await check(out))).toEqual(['A open 2026-02-05'])
  })

  it('is not remembered by those who only read, during a run, or of files without a report', async () => {
    const out = folderOfRuns()
    await verify(out, { streams, exchange: 'NSE', limits: {} })
    const release = await acquireLock(join(out, '.scripstream/lock'), NOW)
    expect(life(await check(out))).toEqual(['A new 2026-02-05', '1 too many'])
    release()
    expect(existsSync(join(out, OPEN))).toBe(false)
    const bare = createFolder()
    expect(life(await check(bare))).toEqual([])
    expect(existsSync(join(bare, OPEN))).toBe(false)
  })

  it('that a deep check began ends with a deep check', async () => {
    const out = folderOfRuns()
    run(out, '05', [])
    const { size } = statSync(join(out, 'ohlcv_data/A.csv'))
    writeFileSync(join(out, '.scripstream/output-digests'), `${'0'.repeat(8)} ${size} 1 ohlcv_data/A.csv\n`)
    const states = async (deep: boolean) =>
      (await check(out, { deep, only: ['files'] })).findings
        .filter(({ severity }) => severity === 'error')
        .map(({ state }) => state)
    expect(await states(true)).toEqual(['new'])
    run(out, '06', [])
    const shallow = await check(out)
    expect([shallow.findings, shallow.gone]).toEqual([[], []])
    expect(await states(true)).toEqual(['open'])
  })

  it('of which nothing can be read begins anew, and the note says why', async () => {
    const out = folderOfRuns()
    await check(out)
    run(out, '06', ['A'])
    writeFileSync(join(out, OPEN), '[')
    const { notes, ...rest } = await check(out)
    expect(life({ ...rest, notes })).toEqual(['A new 2026-02-06', '1 too many'])
    expect(notes).toContainEqual(
      expect.stringMatching(
        /open-findings\.json is damaged: it is not valid JSON; all findings are new, and the list begins anew$/,
      ),
    )
    run(out, '09', ['A'])
    expect(life(await check(out))).toEqual(['A open 2026-02-06'])
  })
})

const command = async (out: string, ...args: readonly string[]) => {
  const io = createTestIo()
  const loadSettings = () => Settings.parse({ out })
  const code = await runProgram(args, io, createTestDependencies(undefined, { streams, loadSettings }))
  return { code, text: io.out.text() }
}

const verified = (out: string, ...args: readonly string[]) => command(out, 'verify', ...args)

describe('a finding that others have seen first', () => {
  const full = 'A 2004-08-25: 2004-08-25 appears twice'
  const error = { code: 4, text: expect.stringContaining(full) }

  it.each([
    ['the page', async (out: string) => expect(life(await check(out))).toContain('1 too many')],
    [
      'the brief',
      async (out: string) =>
        expect((await command(out, 'brief')).text).toContain(`New findings: 1\n  ${full}`),
    ],
  ])('is new to verify, which exits with 4 until the next run (%s)', async (_, see) => {
    const out = folderOfRuns()
    await see(out)
    run(out, '06', ['A'])
    for (const _ of [1, 2]) {
      expect(await verified(out, '--quiet')).toEqual(error)
      // To the others it is open, whatever was reported.
      expect((await readRecordedChecks(out, 'r06'))?.findings).toMatchObject([
        { state: 'open', since: '2026-02-05', run: 'r05' },
      ])
      expect(life(await check(out))).toEqual(['A open 2026-02-05'])
      expect((await command(out, 'brief')).text).not.toContain('New findings: 1')
    }
    run(out, '09', ['A'])
    expect(await verified(out, '--quiet')).toEqual({ code: 0, text: '' })
  })

  it('is new to verify although a run is active, and again after it', async () => {
    const out = folderOfRuns()
    const release = await acquireLock(join(out, '.scripstream/lock'), NOW)
    expect(await verified(out, '--quiet')).toEqual(error)
    release()
    run(out, '06', ['A'])
    expect(await verified(out, '--quiet')).toEqual(error)
  })

  it('is new again when it comes back, although only the page saw that it was gone', async () => {
    const out = folderOfRuns()
    await verified(out)
    run(out, '06', [])
    expect(life(await check(out))).toEqual(['A gone 2026-02-05'])
    run(out, '09', ['A'])
    expect(await verified(out, '--quiet')).toEqual(error)
    expect(life(await check(out))).toEqual(['A new 2026-02-09', '1 too many'])
  })
})

describe('the brief', () => {
  it('answers without findings if the accepted ones cannot be read, and says what to do', async () => {
    const out = folderOfRuns()
    writeFileSync(join(out, '.scripstream/accepted-findings.json'), '[')
    const { code, text } = await command(out, 'brief')
    expect(code).toBe(0)
    expect(text.replace(/\s+/g, ' ')).toMatch(
      / Not compared .*findings: \S+accepted-findings\.json is damaged: it is not valid JSON; repair it, or delete it and accept the findings again /,
    )
    expect(text).not.toContain('New findings')
  })
})

describe('the command in the life of a finding', () => {
  it('prints new findings in full and exits with 4, open ones in one line and with 0; --quiet prints new ones only, --all all', async () => {
    const out = folderOfRuns()
    const full = 'A 2004-08-25: 2004-08-25 appears twice'
    const first = await verified(out, '--quiet', '--out', out)
    expect(first).toMatchObject({ code: 4, text: expect.stringContaining(full) })
    expect(first.text).toMatch(/^Errors: 1 error in /)
    expect(first.text).toContain('What to do: delete the file')
    expect(first.text).toContain(`scripstream verify --out ${out} --accept '…'`)
    run(out, '06', ['A'])
    expect(await verified(out, '--quiet')).toEqual({ code: 0, text: '' })
    const open = await verified(out)
    expect(open).toMatchObject({
      code: 0,
      text: expect.stringContaining('1 open (1 error) since 2026-02-05: A 2004-08-25'),
    })
    expect(open.text).toMatch(/^Open: no new findings \(1 open\) in /)
    expect(open.text).not.toContain(full)
    expect((await verified(out, '--all')).text).toContain(full)
    expect(JSON.parse((await verified(out, '--json')).text)).toMatchObject({
      findings: [{ state: 'open', since: '2026-02-05' }],
      gone: [],
    })
    run(out, '09', [])
    expect((await verified(out)).text).toContain(
      'duplicate-candles: 1 gone (1 error), open since 2026-02-05: A 2004-08-25',
    )
  })
})
