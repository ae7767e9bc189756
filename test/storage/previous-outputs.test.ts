import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { toDay } from '../../src/model/trading-day.js'
import { disk } from '../../src/storage/disk.js'
import {
  completePreviousOutputs as completePrevious,
  savePreviousOutputs as keepPrevious,
  readPreviousOutputs as previousOutputs,
} from '../../src/storage/previous-outputs.js'
import { filesIn, temporaryFolder } from '../support/folders.js'

const { linkSync: link, copyFileSync: copy } = disk

/** Makes a call fail with a code, from the second file on. */
const failing =
  (act: (from: string, to: string) => void, code: string) =>
  (from: unknown, to: unknown): void => {
    if (String(from).endsWith('one.json')) act(String(from), String(to))
    else throw Object.assign(new Error(`it failed: ${code}`), { code })
  }

const DAY = 86_400_000
const OUTPUTS = ['one.json', 'news/*.json', 'ohlcv_data/*.csv']
const FILES = ['news/A.json', 'news/B.json', 'ohlcv_data/A.csv', 'one.json']

/** A folder with outputs, and the saved outputs of an earlier run. */
const folderToKeep = async (): Promise<{
  readonly root: string
  readonly state: string
  readonly keep: (asOf?: number) => Promise<string | undefined>
}> => {
  const root = temporaryFolder()
  const state = join(root, '.scripstream')
  for (const folder of [state, join(root, 'news'), join(root, 'ohlcv_data')]) mkdirSync(folder)
  for (const file of FILES) writeFileSync(join(root, file), file)
  const keep = (asOf = 0) => keepPrevious(root, { outputs: OUTPUTS, session: toDay(asOf), isGivenUp: false })
  expect(await keep()).toBeUndefined()
  return { root, state, keep }
}

afterEach(() => void vi.restoreAllMocks())

describe('the previous outputs for diff', () => {
  it('are saved as hard links, without candles', async () => {
    const copied = vi.spyOn(disk, 'copyFileSync')
    const { root } = await folderToKeep()
    const previous = await previousOutputs(root)
    expect(Object.keys(filesIn(previous?.root ?? ''))).toEqual([
      'news/A.json',
      'news/B.json',
      'note.json',
      'one.json',
    ])
    expect(statSync(join(root, 'news/A.json')).nlink).toBe(2)
    expect(copied).not.toHaveBeenCalled()
  })

  it('are those of the last run that wrote some, not of one that failed', async () => {
    const { root, state, keep } = await folderToKeep()
    const entry = (run: string, outcome: string) => ({
      run,
      asOf: run,
      outcome,
      startedAt: run,
      finishedAt: run,
      scripts: {},
    })
    const entries = [
      entry('1', 'complete'),
      entry('2', 'partial'),
      entry('3', 'failed'),
      entry('4', 'failed'),
    ]
    const end = (count: number) => {
      writeFileSync(
        join(state, 'runs.ndjson'),
        entries
          .slice(0, count)
          .map((one) => `${JSON.stringify(one)}\n`)
          .join(''),
      )
      writeFileSync(join(state, 'report.json'), JSON.stringify(entries[count - 1]))
    }
    end(2)
    await keep(DAY)
    expect(await previousOutputs(root)).toMatchObject({ run: '2', asOf: '2' })
    end(4)
    await keep(2 * DAY)
    expect(await previousOutputs(root)).toMatchObject({ run: '2', asOf: '2' })
  })

  it.each(['EXDEV', 'EPERM', 'EMLINK'])('are copied where the system cannot link (%s)', async (code) => {
    const { root, keep } = await folderToKeep()
    vi.spyOn(disk, 'linkSync').mockImplementation(failing(link, code))
    expect(await keep()).toBeUndefined()
    const previous = await previousOutputs(root)
    expect(filesIn(previous?.root ?? '')).toMatchObject({
      'one.json': 'one.json',
      'news/A.json': 'news/A.json',
      'news/B.json': 'news/B.json',
    })
    expect(statSync(join(root, 'news/A.json')).nlink).toBe(1)
  })

  it.each(['note.json', 'one.json', 'the renaming'])(
    'are whole after a kill before %s is gone, and the run is resumed',
    async (last) => {
      const { root, keep } = await folderToKeep()
      writeFileSync(join(root, 'one.json'), 'changed')
      const killed = () => {
        throw new TypeError('killed')
      }
      const { unlinkSync, renameSync } = disk
      const unlink = vi
        .spyOn(disk, 'unlinkSync')
        .mockImplementation((path) => (String(path).endsWith(last) ? killed() : unlinkSync(path)))
      const rename = vi
        .spyOn(disk, 'renameSync')
        .mockImplementation((from, to) => (String(to).endsWith('previous') ? killed() : renameSync(from, to)))
      await expect(keep(DAY)).rejects.toThrow('killed')
      unlink.mockRestore()
      rename.mockRestore()
      expect(await completePrevious(root)).toBeUndefined()
      const previous = await previousOutputs(root)
      expect([previous?.savedOn, filesIn(previous?.root ?? '')]).toMatchObject([
        toDay(DAY),
        { 'one.json': 'changed', 'news/A.json': 'news/A.json' },
      ])
    },
  )

  it('pass an error on that no file caused', async () => {
    const { keep } = await folderToKeep()
    vi.spyOn(disk, 'linkSync').mockImplementation(() => {
      throw new TypeError('a bug')
    })
    await expect(keep()).rejects.toThrow('a bug')
  })

  it.each([
    ['linking', () => vi.spyOn(disk, 'linkSync').mockImplementation(failing(link, 'ENOSPC'))],
    [
      'copying',
      () => {
        vi.spyOn(disk, 'linkSync').mockImplementation(failing(link, 'EXDEV'))
        vi.spyOn(disk, 'copyFileSync').mockImplementation(failing(copy, 'ENOSPC'))
      },
    ],
  ])('are deleted with a warning if the disk is full while %s', async (_, fill) => {
    const { root, state, keep } = await folderToKeep()
    fill()
    expect(await keep()).toBe('the previous outputs could not be saved for diff: the disk is full')
    expect(await previousOutputs(root)).toBeUndefined()
    expect(readdirSync(state)).toEqual([])
    expect(Object.keys(filesIn(root))).toEqual(FILES)
  })
})
