import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { DamagedFileError } from '../../../src/model/errors.js'
import { findDamages } from '../../../src/storage/history/check.js'
import { findAnswer } from '../../../src/storage/history/choose.js'
import { deleteDays } from '../../../src/storage/history/delete.js'
import { createListReader } from '../../../src/storage/history/lists.js'
import { openHistory } from '../../../src/storage/history/record.js'
import { digestRows } from '../../../src/storage/table-rows.js'
import { seeded } from '../../crash/support.js'
import { temporaryFolder } from '../../support/folders.js'
import { HISTORY, record, storeSessions, storeVersion, toHistoryFolder } from './support.js'

const DAYS = [
  '2026-03-27',
  '2026-03-30',
  '2026-03-31',
  '2026-04-01',
  '2026-04-02',
  '2026-04-06',
  '2026-04-07',
] as const
const DELETED = '2026-03-27'
/** This day has a second record, with other rows. */
const TWICE = '2026-04-01'
const DAMAGES = 60

/**
 * A history with everything in it: two quarters, changes and whole lists, a second and a late record, a
 * deleted day, further files.
 */
const createHistory = async (): Promise<string> => {
  const root = temporaryFolder()
  for (const [version, day] of DAYS.entries()) {
    storeVersion(root, version + 1)
    await record(
      root,
      day,
      day === TWICE ? { rewritten: { prices: [{ item: 'A', reason: 'a split' }] } } : {},
    )
  }
  storeVersion(root, 50)
  await record(root, TWICE, { at: `${TWICE}T16:00:00.000Z` })
  storeSessions(root, DAYS)
  storeVersion(root, 60)
  await record(root, '2026-03-31', { at: '2026-04-07T16:00:00.000Z', history: { isLateAllowed: true } })
  await deleteDays(root, { day: DELETED }, 0)
  return root
}

const listFiles = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort()

/** The rows that answer for each list on each day, as one text; or that there is none, or an error. */
const readAnswers = async (root: string): Promise<ReadonlyMap<string, string>> => {
  const history = await openHistory(root)
  const readList = createListReader(history)
  const answers = new Map<string, string>()
  for (const table of HISTORY.tables.map((one) => one.table))
    for (const day of DAYS) {
      const read = async (): Promise<string> => {
        const found = findAnswer(history, table.name, { day, warn: () => undefined })
        return found?.record.day === day ? `rows ${digestRows(table, await readList(found.list))}` : 'none'
      }
      answers.set(
        `${day} ${table.name}`,
        await read().catch((error: unknown) => (error instanceof DamagedFileError ? 'error' : String(error))),
      )
    }
  return answers
}

type Random = () => number
const pick = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T

/** Each changes something in the folder, and resolves to the paths that it changed. */
const KINDS: Readonly<Record<string, (folder: string, random: Random) => readonly string[]>> = {
  'flipped bit': (folder, random) => {
    const name = pick(random, listFiles(folder))
    const bytes = readFileSync(join(folder, name))
    const at = Math.floor(random() * bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
    writeFileSync(join(folder, name), bytes)
    return [name]
  },
  'cut file': (folder, random) => {
    const name = pick(random, listFiles(folder))
    const bytes = readFileSync(join(folder, name))
    writeFileSync(join(folder, name), bytes.subarray(0, Math.floor(random() * bytes.length)))
    return [name]
  },
  'deleted file': (folder, random) => {
    const name = pick(random, listFiles(folder))
    rmSync(join(folder, name))
    return [name]
  },
  'two files in each other’s place': (folder, random) => {
    const [one, other] = [pick(random, listFiles(folder)), pick(random, listFiles(folder))]
    const bytes = readFileSync(join(folder, one))
    if (bytes.equals(readFileSync(join(folder, other)))) return []
    cpSync(join(folder, other), join(folder, one))
    writeFileSync(join(folder, other), bytes)
    return [one, other]
  },
  'two records in each other’s place': (folder, random) => {
    const records = listFiles(folder)
      .filter((name) => name.endsWith('record.json'))
      .map(dirname)
    const [one, other] = [pick(random, records), pick(random, records)]
    if (one === other) return []
    const aside = join(folder, 'aside')
    renameSync(join(folder, one), aside)
    renameSync(join(folder, other), join(folder, one))
    renameSync(aside, join(folder, other))
    return [one, other]
  },
  'deleted record': (folder, random) => {
    const name = dirname(
      pick(
        random,
        listFiles(folder).filter((one) => one.endsWith('record.json')),
      ),
    )
    rmSync(join(folder, name), { recursive: true })
    return [name]
  },
}

describe('a damage anywhere in the record', () => {
  let source: string
  beforeAll(async () => {
    source = await createHistory()
  })
  const copyHistory = (): string => {
    const root = temporaryFolder()
    mkdirSync(join(root, '.scripstream'))
    cpSync(toHistoryFolder(source), toHistoryFolder(root), { recursive: true })
    return root
  }

  it.each(Object.keys(KINDS))('is noticed, and spreads to no other day: %s', async (kind) => {
    const expected = await readAnswers(source)
    expect(await findDamages(await openHistory(source))).toEqual([])
    expect([...expected.values()].filter((answer) => answer.startsWith('rows'))).toHaveLength(
      (DAYS.length - 1) * HISTORY.tables.length,
    )
    const random = seeded(kind.length)
    for (let done = 0; done < DAMAGES / Object.keys(KINDS).length; ) {
      const root = copyHistory()
      const changed = KINDS[kind]?.(toHistoryFolder(root), random) ?? []
      if (changed.length === 0) continue
      done++
      const what = `${kind}: ${changed.join(', ')}`
      expect((await findDamages(await openHistory(root))).length, what).toBeGreaterThan(0)
      const answers = await readAnswers(root)
      for (const [key, answer] of expected) {
        const day = key.slice(0, 10)
        const isOfDay = changed.some((name) => name.startsWith(day))
        // A record that is gone as a whole is no error of its day: another one of it, if any, answers. That
        // was noticed above.
        if (!isOfDay) expect(answers.get(key), `${what}: ${key}`).toBe(answer)
        else if (kind !== 'deleted record')
          expect([answer, 'error', 'none'], `${what}: ${key}`).toContain(answers.get(key))
      }
      rmSync(root, { recursive: true })
    }
  })

  it.each([
    ['timing', '"timing":"final"', '"timing":"late"'],
    ['number', '"number":3', '"number":9'],
    ['rows', '"rows":300', '"rows":301'],
  ])('of the facts of a record is seen by every reader: %s', async (_, text, other) => {
    const root = copyHistory()
    const path = join(
      toHistoryFolder(root),
      listFiles(toHistoryFolder(root)).find((name) => /^2026-03-31.*record\.json$/.test(name)) ?? '',
    )
    writeFileSync(path, readFileSync(path, 'utf8').replace(text, other))
    expect((await openHistory(root)).damages).toMatchObject([
      { day: '2026-03-31', detail: 'its digest is wrong' },
    ])
  })

  it('of a base is survived by its copy, and of both copies is an error of the days that need it', async () => {
    const root = copyHistory()
    const expected = await readAnswers(root)
    const folder = toHistoryFolder(root)
    const base = listFiles(folder).find((name) => name.startsWith('bases/prices-2026-04')) ?? ''
    const bytes = readFileSync(join(folder, base))
    writeFileSync(join(folder, base), 'x')
    expect(await readAnswers(root)).toEqual(expected)
    const [damage] = await findDamages(await openHistory(root))
    expect(damage?.detail).toMatch(
      /it is damaged; \.scripstream\/history\/2026-04-01\/\w+\/prices\.parquet is the same file: copy it/,
    )
    const copy = listFiles(folder).find((name) => readFileSync(join(folder, name)).equals(bytes)) ?? ''
    writeFileSync(join(folder, copy), 'x')
    const answers = await readAnswers(root)
    for (const [key, answer] of expected)
      expect(answers.get(key), key).toBe(key.endsWith('prices') && key >= '2026-04-01' ? 'error' : answer)
  })
})
