import { firstValueFrom, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { memory } from '../../sinks/memory.js'
import type { Stored } from '../../src/engine/storage.js'
import { readStoredLines, rejectShrunk, type ShrinkOptions } from '../../src/market/list-rules.js'
import { RefusedError } from '../../src/market/refusal-policy.js'
import { StorageError } from '../../src/model/errors.js'
import { createResult, type ItemResult } from '../../src/model/outcome.js'
import { failureOf } from '../http/support.js'
import { arrayOf, withFile } from '../streams/support.js'

const FILE = 'list.json'
const records = (count: number): readonly object[] => Array.from({ length: count }, (_, place) => ({ place }))

interface Checking extends ShrinkOptions {
  readonly text?: string
  readonly now: number
  readonly accepted?: boolean
  readonly stored?: Stored
}

const checking = ({ text, now, accepted = false, stored, ...counting }: Checking) => {
  const notices: string[] = []
  const tools = {
    stored: stored ?? memory(text === undefined ? new Map() : withFile(FILE, text)).stored,
    accepts: () => accepted,
    warn: (warn: string) => void notices.push(warn),
  }
  return {
    notices,
    found$: of<ItemResult>(createResult(records(now))).pipe(rejectShrunk(FILE, tools, counting)),
  }
}

const passes = async (given: Checking): Promise<readonly string[]> => {
  const { found$, notices } = checking(given)
  expect((await firstValueFrom(found$)).rows).toHaveLength(given.now)
  return notices
}

describe('a list', () => {
  it.each([
    [2_775, 1_943],
    [2_775, 2_775],
    [2_775, 9_999],
    [10, 7],
    [0, 0],
    [0, 5],
  ])('of %i records may become one of %i', async (then, now) => {
    expect(await passes({ text: arrayOf(...records(then)), now })).toEqual([])
  })

  it.each([
    [2_775, 1_942, 'shrink: 1,942 records, the stored file has 2,775'],
    [2_775, 0, 'shrink: 0 records, the stored file has 2,775'],
    [10, 6, 'shrink: 6 records, the stored file has 10'],
    [1, 0, 'shrink: 0 records, the stored file has 1'],
  ])('of %i records must not become one of %i', async (then, now, says) => {
    const failure = await failureOf(checking({ text: arrayOf(...records(then)), now }).found$)
    expect(failure).toBeInstanceOf(RefusedError)
    expect(failure).toMatchObject({ status: 'error', verdict: 'give-up', message: `${says}` })
  })

  it('may shrink with a warning if the run accepts it', async () => {
    expect(await passes({ text: arrayOf(...records(2_775)), now: 3, accepted: true })).toEqual([
      'accepted although shrunk: 3 records, the stored file has 2,775',
    ])
  })

  it('passes if no file is stored', async () => expect(await passes({ now: 1 })).toEqual([]))

  it.each(['[{"place":', '{"data":[]}', '7', 'null', ''])(
    'passes with a warning if the stored file is %j',
    async (text) => {
      expect(await passes({ text, now: 1 })).toEqual([expect.stringContaining(`${FILE} is damaged`)])
    },
  )

  it('is compared by the records that count', async () => {
    const countOf = (rows: readonly unknown[]): number => rows.length % 10
    expect(await passes({ text: arrayOf(...records(100)), now: 1, countRecords: countOf })).toEqual([])
    expect(
      await failureOf(checking({ text: arrayOf(...records(9)), now: 20, countRecords: countOf }).found$),
    ).toBeInstanceOf(RefusedError)
    const known = (rows: readonly unknown[], earlier: readonly unknown[]): number =>
      rows === earlier ? 10 : earlier.length
    expect(await passes({ text: arrayOf(...records(7)), now: 1, countRecords: known })).toEqual([])
    expect(
      await failureOf(checking({ text: arrayOf(...records(6)), now: 99, countRecords: known }).found$),
    ).toBeInstanceOf(RefusedError)
  })

  it('is compared line by line if it is a text', async () => {
    const text = 'header\n1\n2\n3\n4\n5\n6\n7\n8\n9\n'
    expect(await passes({ text, now: 7, readStored: readStoredLines })).toEqual([])
    expect(await failureOf(checking({ text, now: 6, readStored: readStoredLines }).found$)).toBeInstanceOf(
      RefusedError,
    )
    expect(await passes({ now: 1, readStored: readStoredLines })).toEqual([])
  })

  it('does not pass if the stored file cannot be opened', async () => {
    const stored = folderThatFails()
    expect(await failureOf(checking({ now: 1, stored }).found$)).toBeInstanceOf(StorageError)
  })
})

const folderThatFails = (): Stored => {
  const fail = () => {
    throw new StorageError('permission denied')
  }
  return { ...memory().stored, document: () => of(0).pipe(fail) }
}
