import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { UsageError } from '../../src/model/errors.js'
import { readFullRun } from '../../src/storage/full-run.js'
import { FOLDER_FORMAT } from '../../src/storage/run-state.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../cli/support.js'
import { EVENING } from '../streams/support.js'
import { hashOutputs, snapshotFolder, temporaryFolder } from '../support/folders.js'
import { type Trying, tryRun } from './support.js'

const DAY = 86_400_000

const finished = async (): Promise<string> => {
  const out = temporaryFolder()
  await tryRun({ out, now: EVENING - DAY })
  expect((await tryRun({ out, now: EVENING })).report?.outcome).toBe('complete')
  return out
}

const unfinished = async (): Promise<string> => {
  const out = temporaryFolder()
  await tryRun({ out, now: EVENING - DAY })
  await tryRun({
    out,
    now: EVENING,
    hangs: (request) => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental'),
  })
  expect(existsSync(join(out, '.scripstream', 'run.json'))).toBe(true)
  return out
}

const folders = { 'a finished folder': finished, 'an unfinished run': unfinished }

const mistakes: readonly (readonly [string, Omit<Trying, 'out'>])[] = [
  ['a symbol that is not listed', { symbols: ['TCSS'] }],
  ['a symbol that is not listed, on the next day', { symbols: ['TCSS'], now: EVENING + DAY }],
  ['a stream that there is not', { only: ['market-new'] }],
  ['a stream without what it needs', { only: ['market-news'], skip: ['master-data'] }],
  ['an instant that is none', { asOf: Number.NaN }],
]

describe.each(Object.entries(folders))('%s', (_, prepared) => {
  it.each(mistakes)('stays unchanged byte by byte when a run is rejected for %s', async (_, options) => {
    const out = await prepared()
    const before = snapshotFolder(out)
    await expect(tryRun({ out, now: EVENING, ...options })).rejects.toThrow(UsageError)
    expect(snapshotFolder(out)).toEqual(before)
  })
})

it('resumes an unfinished run after a rejected command', async () => {
  const out = await unfinished()
  await expect(tryRun({ out, now: EVENING, symbols: ['TCSS'] })).rejects.toThrow('TCSS')
  const { requests, events } = await tryRun({ out, now: EVENING })
  expect(events[0]).toMatchObject({ isContinued: true })
  expect(requests.filter((request) => /ALPHA|BETA|all/.test(request))).toEqual([])
})

it('writes nothing into a new folder for a rejected command', async () => {
  const out = temporaryFolder()
  await expect(tryRun({ out, symbols: ['TCSS'] })).rejects.toThrow('TCSS')
  expect(readdirSync(out, { recursive: true })).toEqual(['.scripstream'])
})

describe('a run of a part of an output folder', () => {
  const baselineOf = (out: string): unknown => hashOutputs(join(out, '.scripstream', 'previous'))
  const parts: readonly (readonly [string, Omit<Trying, 'out'>])[] = [
    ['some streams', { only: ['market-news'] }],
    ['some stocks', { symbols: ['ALPHA'] }],
    ['some stocks of some streams', { only: ['market-news'], symbols: ['ALPHA', 'BETA'] }],
    ['some items, as of a retry', { only: ['market-news'], pairs: { 'market-news': ['GAMMA'] } }],
  ]

  it.each(parts)(
    'leaves it finished, and what diff compares with, and is reused itself: %s',
    async (_, options) => {
      const out = await finished()
      const baseline = baselineOf(out)
      const part = { out, now: EVENING + 60_000, ...options }
      expect((await tryRun(part)).requests.length).toBeGreaterThan(0)
      expect(baselineOf(out)).toEqual(baseline)
      expect((await tryRun({ out, now: EVENING + 120_000 })).requests).toEqual([])
      if (!('pairs' in options)) expect((await tryRun(part)).requests).toEqual([])
    },
  )

  it('leaves it finished after a retry has fetched the missing items', async () => {
    const out = await finished()
    const part = { out, now: EVENING + 60_000, only: ['market-news'] as const }
    const lost = await tryRun({ ...part, fails: (request) => request === 'getLiveNews ALPHA' })
    expect(lost.report?.outcome).toBe('partial')
    expect(await readFullRun(out)).toMatchObject({ isComplete: false })
    const retried = await tryRun({ ...part, pairs: { 'market-news': ['ALPHA'] } })
    expect(retried.report?.outcome).toBe('complete')
    expect((await tryRun({ out, now: EVENING + 120_000 })).requests).toEqual([])
  })

  it('leaves only the missing items to request', async () => {
    const out = await finished()
    await tryRun({
      out,
      now: EVENING + 60_000,
      only: ['market-news'],
      fails: (request) => request === 'getLiveNews ALPHA',
    })
    await tryRun({ out, now: EVENING + 60_000, only: ['market-news'], symbols: ['BETA'] })
    expect((await tryRun({ out, now: EVENING + 120_000 })).requests).toEqual([
      'fetchdt all',
      'getLiveNews ALPHA',
    ])
  })

  it('is resumed after an interruption, and leaves the folder finished then', async () => {
    const out = await finished()
    const part = { out, now: EVENING + 60_000, only: ['market-news'] as const }
    await tryRun({ ...part, hangs: (request) => request === 'getLiveNews DELTA' })
    expect(await readFullRun(out)).toMatchObject({ isComplete: false })
    expect((await tryRun(part)).requests).toEqual(['getLiveNews DELTA'])
    expect((await tryRun({ out, now: EVENING + 120_000 })).requests).toEqual([])
  })

  it.each([
    ['of the next day', { now: EVENING + DAY, only: ['market-news'] }, false],
    [
      'of another provider, on the same evening',
      { now: EVENING + 60_000, only: ['market-news'], variant: 'another' },
      true,
    ],
  ])('is none if it is %s: it begins a state of its own', async (_, options, keepsBaseline) => {
    const out = await finished()
    const baseline = baselineOf(out)
    await tryRun({ out, ...options })
    if (keepsBaseline) expect(baselineOf(out)).toEqual(baseline)
    else expect(baselineOf(out)).not.toEqual(baseline)
    expect((await tryRun({ out, now: EVENING + 120_000 })).requests[0]).toBe('fetchdt all')
  })
})

const toFormatFile = (out: string): string => join(out, '.scripstream', 'format.json')

/** The bytes of every file. */
const readAll = (out: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(out, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [
        join(parentPath, name),
        readFileSync(join(parentPath, name), 'latin1'),
      ]),
  )

const createNewerFolder = async (): Promise<string> => {
  const out = temporaryFolder()
  await tryRun({ out, now: EVENING - DAY })
  writeFileSync(toFormatFile(out), `{"format":${FOLDER_FORMAT + 1},"more":true}`)
  return out
}

describe('the format of a folder', () => {
  it('is recorded by a run', async () => {
    const out = temporaryFolder()
    await tryRun({ out })
    expect(JSON.parse(readFileSync(toFormatFile(out), 'utf8'))).toEqual({ format: FOLDER_FORMAT })
  })

  it('is added to a folder of a version that recorded none, whose unfinished run is resumed', async () => {
    const out = temporaryFolder()
    const first = await tryRun({
      out,
      hangs: (request) => request.includes('DELTA') && !request.startsWith('fundamental'),
    })
    rmSync(toFormatFile(out))
    const { report, requests } = await tryRun({ out })
    expect(report?.outcome).toBe('complete')
    expect(requests.length).toBeLessThan(first.requests.length)
    expect(JSON.parse(readFileSync(toFormatFile(out), 'utf8'))).toEqual({ format: FOLDER_FORMAT })
  })
})

describe('a folder of a newer version', () => {
  it('is refused by a run, which changes nothing and names the way out', async () => {
    const out = await createNewerFolder()
    const before = readAll(out)
    await expect(tryRun({ out })).rejects.toThrow(UsageError)
    await expect(tryRun({ out })).rejects.toThrow(
      `${out} was written by a newer version of scripstream (its format is ${FOLDER_FORMAT + 1}, this version reads ${FOLDER_FORMAT}); update scripstream, or use another folder`,
    )
    expect(readAll(out)).toEqual(before)
  })

  it.each([
    [['run', '--dry-run']],
    [['history', '--runs']],
    [['brief']],
    [['verify', '--drift']],
    [['verify', '--drift', '--accept']],
    [['history']],
    [['history', 'prune', '2026-01-01']],
    [['query', 'select 1']],
    [['verify']],
    [['diff']],
    [['show', 'ALPHA']],
    [['export']],
    [['export', '--to', '/nowhere/screener.xlsx']],
  ])('is refused by %j', async (args) => {
    const out = await createNewerFolder()
    const before = readAll(out)
    const io = createTestIo({ env: {} })
    const dependencies = createTestDependencies(undefined, {
      streams,
      storage: (settings) => folder(settings.out),
    })
    expect(await runProgram([...args, '--out', out], io, dependencies)).toBe(2)
    expect(io.err.text().replaceAll(/\s+/g, ' ')).toContain('written by a newer version of scripstream')
    expect(readAll(out)).toEqual(before)
  })
})
