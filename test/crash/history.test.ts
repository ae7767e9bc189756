import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { listDays, readRecordedDay } from '../../src/storage/history/history-folder.js'
import { createHistoryReader } from '../../src/storage/history/history-reader.js'
import { temporaryFolder } from '../support/folders.js'
import { seeded, temporariesIn } from './support.js'

/** The number of kills; set it with `npm run test:crash -- 1000`. */
const KILLS = Number(process.env.KILLS ?? 20)
const MAX_MS = 150
/** Calls for files in two recordings. */
const MAX_CALLS = 40
/** Days that are read after each kill; all are read at the end. */
const RECENT_DAYS = 5

interface StateRow {
  readonly Day: string
  readonly Version: number
}

/** The state that each of some days has. The files of a day are of one state. */
const readVersions = async (root: string, days: readonly string[]): Promise<ReadonlyMap<string, number>> => {
  const reader = createHistoryReader(root, join(root, 'reading'))
  const versions = new Map<string, number>()
  try {
    for (const day of days) {
      const lists: StateRow[][] = []
      for (const entry of Object.values((await readRecordedDay(root, day))?.entries ?? {}))
        lists.push((await json(reader.read(entry))) as StateRow[])
      expect(lists.map((rows) => rows.length)).toEqual([2_000, 2_000])
      const states = new Set(lists.flat().map((row) => `${row.Day} ${row.Version}`))
      expect([...states]).toEqual([`${day} ${lists[0]?.[0]?.Version}`])
      versions.set(day, lists[0]?.[0]?.Version ?? 0)
    }
  } finally {
    await reader.close()
  }
  return versions
}

/** Records from a state on until it is killed: after a while, or before a call for a file. Resolves to what it printed. */
const recordUntilKilled = async (root: string, version: number, { ms, call }: { readonly ms: number; readonly call?: number }) => {
  const args = [join(import.meta.dirname, 'record-forever.js'), root, String(version), ...(call === undefined ? [] : [String(call)])]
  const child = spawn(process.execPath, args)
  const ended = once(child, 'close')
  const lines: string[] = []
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  if (call === undefined) {
    while (!lines.some((line) => line.startsWith('recorded'))) await once(reader, 'line')
    await pause(ms)
    child.kill('SIGKILL')
  }
  expect(await ended).toEqual([null, 'SIGKILL'])
  return lines
}

describe(`recording that is killed ${KILLS} times`, () => {
  it(
    'leaves the earlier state of the day or the new one, whole, and all other days',
    async () => {
      const root = temporaryFolder()
      const random = seeded(3)
      const figures: Record<string, number> = {}
      const known = new Map<string, number>()
      let version = 2
      for (let kills = 0; kills < KILLS; kills++) {
        // Every second kill is at a random moment, the others before a random step of a recording.
        const kill = kills % 2 === 0 ? { ms: random() * MAX_MS } : { ms: 0, call: 1 + Math.floor(random() * MAX_CALLS) }
        const lines = await recordUntilKilled(root, version, kill)
        for (const [, state, day = ''] of lines.map((line) => line.split(' ')).filter(([what]) => what === 'recorded'))
          known.set(day, Number(state))
        const days = await listDays(root)
        const recent = await readVersions(root, days.slice(-RECENT_DAYS))
        version = Number(lines.findLast((line) => line.startsWith('recording'))?.split(' ')[1]) + 1
        for (const [day, state] of recent) {
          expect(state, day).toBeGreaterThanOrEqual(known.get(day) ?? 0)
          expect(state).toBeLessThan(version)
          known.set(day, state)
        }
        expect(days).toEqual([...known.keys()].sort())
        // The next recording deletes those of the last kill.
        expect(temporariesIn(root).length).toBeLessThanOrEqual(2)
        const where = describeKill(lines)
        figures[where] = (figures[where] ?? 0) + 1
      }
      expect(await readVersions(root, await listDays(root))).toEqual(known)
      const bases = readdirSync(join(root, '.scripstream/history/bases'))
      const counts = { days: known.size, bases: bases.length, chainedBases: bases.filter(isChained).length }
      process.stdout.write(`${JSON.stringify({ kills: KILLS, ...figures, ...counts })}\n`)
      expect(counts.chainedBases).toBeGreaterThan(KILLS / 4)
    },
    KILLS * 5_000,
  )
})

const isChained = (name: string): boolean => /[\da-f]{16}-[\da-f]{16}\.base$/.test(name)

const describeKill = (lines: readonly string[]): string => {
  const last = lines.at(-1) ?? ''
  if (last.startsWith('recording')) return 'during a recording'
  if (!last.startsWith('killed')) return 'between recordings'
  const [step = '', target] = last.split(', ')
  return target === undefined ? step : `${step}${isChained(target) ? ', chained' : ''}`
}
