import { readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { from, lastValueFrom, map, of, toArray } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Journal, SinkItem } from '../../src/engine/storage.js'
import type { Row } from '../../src/model/row.js'
import { createFolderJournal, createJournal, createJournalFile } from '../../src/storage/journal.js'
import { temporaryFolder } from '../support/folders.js'

/** An item with the given rank and the sort keys of its rows. */
type Ranked = readonly [rank: number, keys: readonly string[]]

const facts = { stream: 'news', carriesRows: true, offersRows: false }

const openJournalFile = () => {
  const path = join(temporaryFolder(), 'news.ndjson')
  const file = createJournalFile(path)
  onTestFinished(file.close)
  return { path, file }
}

const noteAll = (
  journal: Journal,
  items: readonly (readonly [rank: number, rows: readonly Row[]])[],
): Promise<unknown> =>
  lastValueFrom(
    from(items).pipe(
      map(
        ([rank, rows], place): SinkItem => ({
          outcome: {
            item: { key: `S${place}`, rank, fileName: `S${place}`, value: '' },
            status: 'success',
            rows,
          },
          files: {},
        }),
      ),
      journal.write,
      toArray(),
    ),
  )

const textOf = (journal: Journal): string =>
  Buffer.concat(Array.from(journal.takeRecords(), (chunk) => Buffer.from(chunk))).toString()

const noted = async (items: readonly Ranked[], isSorted: boolean): Promise<readonly Row[]> => {
  const { file } = openJournalFile()
  const journal = createJournal(
    isSorted ? { ...facts, sortBy: { key: ({ key }) => String(key) } } : facts,
    file,
  )
  await noteAll(
    journal,
    items.map(([rank, keys], item) => [rank, keys.map((key, index) => ({ key, item, index }))]),
  )
  const text = textOf(journal)
  expect(textOf(journal)).toBe('')
  return JSON.parse(`[${text}]`)
}

describe('the records of a journal', () => {
  const key = fc.oneof(
    fc.constantFrom('', '2026-02-12', '2026-02-11', 'é', '\u{1f600}'),
    fc.string({ maxLength: 3 }),
    fc.constantFrom(
      '2026-02-12 09:15',
      '2026-02-12 09:30',
      '2026-02-12 09:15:01',
      '2026-02-12 10:15',
      '2026-02-11 10:15',
    ),
  )
  const items = fc.array(fc.tuple(fc.nat(9), fc.array(key, { maxLength: 6 })), { maxLength: 12 })

  const inRankOrder = (given: readonly Ranked[]) =>
    given
      .map(([rank, keys], item) => ({ rank, rows: keys.map((key, index) => ({ key, item, index })) }))
      .sort((one, other) => one.rank - other.rank)
      .flatMap(({ rows }) => rows)

  it('are sorted by key, rank and position, as one sort of all records would', async () => {
    await fc.assert(
      fc.asyncProperty(items, async (given) => {
        const sorted = inRankOrder(given).sort((one, other) =>
          one.key < other.key ? 1 : one.key > other.key ? -1 : 0,
        )
        expect(await noted(given, true)).toEqual(sorted)
      }),
    )
  })

  it('are in the order of ranks if they have no key', async () => {
    await fc.assert(
      fc.asyncProperty(items, async (given) => {
        expect(await noted(given, false)).toEqual(inRankOrder(given))
      }),
    )
  })

  it('include carried ones, which follow those of an item with the same rank', async () => {
    const { file } = openJournalFile()
    const journal = createJournal(facts, file)
    await lastValueFrom(journal.carryOver(of({ rank: 1, record: { carried: 1 } })))
    await noteAll(journal, [
      [2, [{ item: 0 }]],
      [1, [{ item: 1 }]],
    ])
    await lastValueFrom(journal.carryOver(of({ rank: 0, record: { carried: 0 } })))
    expect(textOf(journal)).toBe('{"carried":0},\n{"item":1},\n{"carried":1},\n{"item":0}')
  })

  it('are lines of JSON in the file', async () => {
    const { path, file } = openJournalFile()
    await noteAll(createJournal(facts, file), [[0, [{ a: 'é' }, { b: 1 }]]])
    expect(readFileSync(path, 'utf8')).toBe(
      '{"item":"S0","status":"success","files":{},"rows":[{"a":"é"},{"b":1}]}\n',
    )
  })

  it('fail if the file is shorter than it was', async () => {
    const { path, file } = openJournalFile()
    const journal = createJournal(facts, file)
    await noteAll(journal, [[0, [{ a: 1 }]]])
    truncateSync(path, 55)
    expect(() => textOf(journal)).toThrow(/news.ndjson is shorter than it was when written/)
  })
})

describe('an item of an unfinished run', () => {
  const reopen = async (change: (output: string) => void): Promise<boolean> => {
    const root = temporaryFolder()
    const [path, output] = [join(root, 'news.ndjson'), join(root, 'TCS.json')]
    const item = { key: 'TCS', rank: 0, fileName: 'TCS', value: '' }
    const own = { ...facts, carriesRows: false }
    writeFileSync(output, '[2]')
    const place = { path, root, timeOf: (file: string) => statSync(join(root, file)).mtimeMs }
    const first = createFolderJournal(own, place)
    await first.open()
    await lastValueFrom(
      first.journal.write(of({ outcome: { item, status: 'success', rows: [] }, files: { 'TCS.json': 3 } })),
    )
    first.close()
    change(output)
    const second = createFolderJournal(own, place)
    await second.open()
    onTestFinished(second.close)
    return second.journal.findStored(item) !== undefined
  }

  it('is stored if its file is as it was written', async () => {
    expect(await reopen(() => undefined)).toBe(true)
  })

  it('is stored if an archive has restored its file with the time in whole seconds', async () => {
    const restore = (output: string): void => {
      const second = Math.floor(statSync(output).mtimeMs / 1_000)
      utimesSync(output, second, second)
    }
    expect(await reopen(restore)).toBe(true)
  })

  it('is requested again if a power cut kept its line and brought an earlier file of the same length back', async () => {
    const bringBack = (output: string): void => {
      writeFileSync(output, '[1]')
      utimesSync(output, 1_770_000_000, 1_770_000_000)
    }
    expect(await reopen(bringBack)).toBe(false)
  })
})
