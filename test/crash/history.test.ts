import { spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { isRow } from '../../src/model/row.js'
import { readRecordedDay } from '../../src/storage/history/history-folder.js'
import { temporaryFolder } from '../support/folders.js'
import { readEntryRows } from '../support/history.js'
import { seeded, temporariesIn } from './support.js'

/** The number of kills; set it with `npm run test:crash -- 1000`. */
const KILLS = Number(process.env.KILLS ?? 20)
const MAX_MS = 150

/** The state in a record of both files, which a run stores together. */
const versionsIn = async (root: string): Promise<readonly unknown[]> => {
  const record = await readRecordedDay(root, '2026-02-10')
  if (record === undefined) return []
  const lists = await Promise.all(
    Object.entries(record.entries).map(([file, entry]) => readEntryRows(root, file, entry) as Promise<readonly unknown[]>),
  )
  expect(lists.map((rows) => rows.length)).toEqual([2_000, 2_000])
  return [...new Set(lists.flat().map((row) => (isRow(row) ? row.Version : row)))]
}

describe(`recording that is killed ${KILLS} times at random moments`, () => {
  it(
    'leaves the earlier state of the day or the new one, whole',
    async () => {
      const root = temporaryFolder()
      const random = seeded(3)
      const seen = new Set<unknown>()
      for (let kills = 0; kills < KILLS; kills++) {
        const child = spawn(process.execPath, [join(import.meta.dirname, 'record-forever.js'), root, String(1 + kills * 1_000)])
        const ended = once(child, 'exit')
        const lines = on(createInterface(child.stdout), 'line')
        await lines.next()
        // Every second kill waits for a whole recording, so that there is a state to keep on a slow machine, too.
        if (kills % 2 === 1) await lines.next()
        await pause(random() * MAX_MS)
        child.kill('SIGKILL')
        expect(await ended).toEqual([null, 'SIGKILL'])
        const versions = await versionsIn(root)
        expect(versions.length).toBeLessThanOrEqual(1)
        for (const version of versions) seen.add(version)
        // The next recording deletes those of the last kill.
        expect(temporariesIn(root).length).toBeLessThanOrEqual(2)
      }
      expect(seen.size).toBeGreaterThanOrEqual(Math.floor(KILLS / 2))
    },
    KILLS * 2_000,
  )
})
