import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { findDamages } from '../../src/storage/history/check.js'
import { listListedDays } from '../../src/storage/history/choose.js'
import { openHistory } from '../../src/storage/history/record.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../cli/support.js'
import { toHistoryFolder } from '../storage/history/support.js'
import { EVENING } from '../streams/support.js'
import { filesIn, snapshotFolder, temporaryFolder } from '../support/folders.js'
import { tryRun } from './support.js'

const DAY = 86_400_000
const EARLIER = ['2026-02-09', '2026-02-10'] as const
const UNREAD = '2 days of an earlier form (2026-02-09 to 2026-02-10), not read'

const shortDigest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16)

/**
 * Stores days as versions of format 1 did first: a line of JSON about the entries and then the entries, which
 * differ from a base.
 */
const storeEarlierDays = (root: string, days: readonly string[]): void => {
  const history = toHistoryFolder(root)
  mkdirSync(join(history, 'bases'), { recursive: true })
  const list = brotliCompressSync(JSON.stringify([{ Symbol: 'ALPHA' }]))
  const base = `master_isin_map.json ${days[0]} ${shortDigest(list)}`
  writeFileSync(join(history, 'bases', `${base}.base`), list)
  for (const day of days) {
    const entry = {
      name: 'master_isin_map.json',
      knownAt: `${day}T14:30:00.000Z`,
      stream: 'master-data',
      base,
      length: 0,
    }
    const header = { version: 1, day, entries: [{ ...entry, digest: shortDigest(Buffer.from('')) }] }
    writeFileSync(join(history, `${day}.day`), `${JSON.stringify(header)}\n`)
  }
  writeFileSync(toFormatFile(root), '{"format":1}\n')
}

const toFormatFile = (root: string): string => join(root, '.scripstream', 'format.json')
const readFormat = (root: string): unknown => JSON.parse(readFileSync(toFormatFile(root), 'utf8'))

/** A folder as a run of such a version left it. */
const createEarlierFolder = async (): Promise<string> => {
  const root = temporaryFolder()
  await tryRun({ out: root, now: EVENING - 2 * DAY, history: false })
  storeEarlierDays(root, EARLIER)
  return root
}

const command = async (root: string, ...args: readonly string[]) => {
  const io = createTestIo({ env: {} })
  const dependencies = createTestDependencies(undefined, {
    streams,
    storage: (settings) => folder(settings.out),
  })
  const code = await runProgram([...args, '--out', root], io, dependencies)
  return { code, text: `${io.out.text()}${io.err.text()}`.replaceAll(/\s+/g, ' ') }
}

const listNotes = ({ events }: Awaited<ReturnType<typeof tryRun>>): readonly string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [event.text] : []))

/** What commands that only read must not change. */
const readHistory = (root: string) => ({
  history: snapshotFolder(toHistoryFolder(root)),
  format: readFormat(root),
})

describe('days of an earlier form', () => {
  it.each<readonly [code: number, args: readonly string[]]>([
    [0, ['history']],
    [0, ['history', '--json']],
    [2, ['query', 'select * from master', '--as-of', '2026-02-10']],
    [0, ['query', 'select * from history.master']],
    [2, ['diff', '--since', '2026-02-10']],
    [2, ['verify', '--backtest']],
    [0, ['verify']],
    [0, ['verify', '--deep']],
  ])('are named, with exit code %i, and stay: %j', async (code, args) => {
    const root = await createEarlierFolder()
    const before = readHistory(root)
    const said = await command(root, ...args)
    expect(said.code).toBe(code)
    expect(said.text).toContain(
      args.includes('--json') ? '"earlier": [ "2026-02-09", "2026-02-10" ]' : UNREAD,
    )
    expect(readHistory(root)).toEqual(before)
  })

  it('are named by the run that makes the folder one of this format, once, and stay beside its own', async () => {
    const root = await createEarlierFolder()
    const files = filesIn(toHistoryFolder(root))
    const [first, second] = [
      await tryRun({ out: root, now: EVENING - DAY }),
      await tryRun({ out: root, now: EVENING }),
    ]
    expect(listNotes(first)).toContainEqual(expect.stringContaining(UNREAD))
    expect(first.report?.outcome).toBe('complete')
    expect(listNotes(second)).toEqual([])
    expect(readFormat(root)).toEqual({ format: 2 })
    expect(filesIn(toHistoryFolder(root))).toMatchObject(files)
    expect(listListedDays(await openHistory(root))).toEqual(['2026-02-11', '2026-02-12'])
    expect(await findDamages(await openHistory(root))).toEqual([])
  })

  it('are named by a question about a day that would have one as its answer, and not by others', async () => {
    const root = temporaryFolder()
    for (const now of [EVENING - 3 * DAY, EVENING]) await tryRun({ out: root, now })
    storeEarlierDays(root, ['2026-02-10', '2026-02-11'])
    const ask = (day: string) => command(root, 'query', 'select count(*) from master', '--as-of', day)
    expect(await ask('2026-02-09')).not.toMatchObject({ text: expect.stringContaining('earlier form') })
    expect(await ask('2026-02-10')).toMatchObject({
      code: 0,
      text: expect.stringContaining('1 day of an earlier form (2026-02-10), not read'),
    })
    expect(await ask('2026-02-11')).toMatchObject({
      text: expect.stringContaining('2 days of an earlier form'),
    })
    expect(await ask('2026-02-12')).not.toMatchObject({ text: expect.stringContaining('earlier form') })
    expect((await command(root, 'diff', '--since', '2026-02-09')).text).toContain('2 days of an earlier form')
  })

  it('keep their bases until the last of them is deleted on request', async () => {
    const root = await createEarlierFolder()
    await tryRun({ out: root, now: EVENING })
    const listEarlier = () =>
      readdirSync(toHistoryFolder(root), { recursive: true }).filter((name) =>
        /\.(?:day|base)$/.test(String(name)),
      )
    const all = listEarlier()
    expect(all).toHaveLength(3)
    await command(root, 'history', 'compact', '--yes')
    expect(listEarlier()).toEqual(all)
    await command(root, 'history', 'delete', '2026-02-09', '--yes')
    expect(listEarlier()).toHaveLength(2)
    await command(root, 'history', 'prune', '2026-02-12', '--yes')
    expect(listEarlier()).toEqual([])
    expect((await command(root, 'history')).text).not.toContain('earlier form')
    expect(await findDamages(await openHistory(root))).toEqual([])
  })
})

describe('a folder of this form that says format 1', () => {
  it.each(['{"format":1}\n', undefined, '{'])(
    'is read as it is, and continued and marked by the next run: %j',
    async (format) => {
      const root = temporaryFolder()
      await tryRun({ out: root, now: EVENING - DAY })
      if (format === undefined) rmSync(toFormatFile(root))
      else writeFileSync(toFormatFile(root), format)
      const { 'views.sql': _views, ...files } = filesIn(toHistoryFolder(root))
      const asked = await command(
        root,
        'query',
        'select count(*) as stocks from master',
        '--as-of',
        '2026-02-11',
      )
      expect(asked).toMatchObject({ code: 0, text: expect.stringContaining('4') })
      for (const args of [['history'], ['verify', '--deep']])
        expect((await command(root, ...args)).text).not.toContain('earlier form')
      expect(existsSync(toFormatFile(root)) ? readFileSync(toFormatFile(root), 'utf8') : undefined).toBe(
        format,
      )
      const run = await tryRun({ out: root, now: EVENING })
      expect(listNotes(run)).toEqual([])
      expect(readFormat(root)).toEqual({ format: 2 })
      expect(filesIn(toHistoryFolder(root))).toMatchObject(files)
      expect(listListedDays(await openHistory(root))).toEqual(['2026-02-11', '2026-02-12'])
    },
  )
})
