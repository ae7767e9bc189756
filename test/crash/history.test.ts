import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { findDamages } from '../../src/storage/history/check.js'
import { createListReader } from '../../src/storage/history/lists.js'
import { type History, openHistory, type StoredRecord } from '../../src/storage/history/record.js'
import { temporaryFolder } from '../support/folders.js'
import { seeded, temporariesIn } from './support.js'

/** The number of kills; set it with `npm run test:crash -- 1000`. */
const KILLS = Number(process.env.KILLS ?? 8)
/** A kill comes at most so many milliseconds after the first record, or before so many calls for files: those of two recordings. */
const RECORDING = { ms: 150, calls: 50 }
/** Records that are read after each kill; all are read at the end. */
const RECENT = 5

interface Kill {
  /** Milliseconds after it has begun. */
  readonly ms: number
  /** Before which call for a file. */
  readonly call?: number
}

/** Every second kill is at a random moment, the others before a random step. */
const chooseKill = (index: number, random: () => number, { ms, calls }: typeof RECORDING): Kill =>
  index % 2 === 0 ? { ms: random() * ms } : { ms: 0, call: 1 + Math.floor(random() * calls) }

/** Runs a script until it is killed, or ends. Resolves to what it printed, and whether it was killed. */
const runUntilKilled = async (script: string, args: readonly string[], { ms, call }: Kill, begun: string) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, script), ...args, ...(call === undefined ? [] : [String(call)])])
  const ended = once(child, 'close')
  const lines: string[] = []
  const errors: string[] = []
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  child.stderr.on('data', (text) => errors.push(String(text)))
  if (call === undefined) {
    while (!lines.some((line) => line.startsWith(begun))) await Promise.race([once(reader, 'line'), ended])
    await Promise.race([pause(ms), ended])
    child.kill('SIGKILL')
  }
  const [code, signal] = (await ended) as [number | null, string | null]
  expect([code, signal, errors.join('')]).toEqual(signal === null ? [0, null, ''] : [null, 'SIGKILL', ''])
  return { lines, isKilled: signal !== null }
}

/** What is wrong with a history; what the next run writes anew is not. */
const listDamages = async (history: History): Promise<readonly string[]> =>
  (await findDamages(history))
    .filter(({ detail }) => !detail.endsWith('the next run rewrites it'))
    .map(({ file, detail }) => `${file}: ${detail}`)

/** The state of a record. Its lists are whole, and both of the same state. */
const readState = async (history: History, record: StoredRecord): Promise<number> => {
  const read = createListReader(history)
  const lists = await Promise.all(Object.values(record.lists).map((list) => read(list)))
  expect(lists.map((rows) => rows.length)).toEqual([500, 500])
  const states = lists.map((rows) => rows.find(({ symbol }) => symbol === 'S0')?.version)
  expect(`state ${states[0]}`).toBe(record.run)
  expect(states[1]).toBe(states[0])
  return Number(states[0])
}

const count = (figures: Record<string, number>, lines: readonly string[]): void => {
  const last = lines.at(-1) ?? ''
  const where = last.startsWith('killed') ? last : last.startsWith('recording') ? 'during a recording' : 'at any other moment'
  figures[where] = (figures[where] ?? 0) + 1
}

describe(`recording that is killed ${KILLS} times`, () => {
  it(
    'loses no record, leaves none by halves, and is continued',
    async () => {
      const root = temporaryFolder()
      const random = seeded(3)
      const figures: Record<string, number> = {}
      const digests = new Map<string, string>()
      let version = 2
      for (let kills = 0; kills < KILLS; kills++) {
        const { lines, isKilled } = await runUntilKilled(
          'record-forever.js',
          [root, String(version)],
          chooseKill(kills, random, RECORDING),
          'recorded',
        )
        expect(isKilled).toBe(true)
        const history = await openHistory(root)
        expect(history.damages).toEqual([])
        const stored = new Set(history.records.map(({ run }) => run))
        for (const line of lines) if (line.startsWith('recorded')) expect(stored).toContain(line.replace('recorded', 'state'))
        for (const record of history.records.slice(-RECENT)) await readState(history, record)
        for (const [name, digest] of digests) expect(history.records.find((one) => one.name === name)?.digest).toBe(digest)
        for (const { name, digest } of history.records) digests.set(name, digest)
        if (kills % 10 === 9) expect(await listDamages(history)).toEqual([])
        version = Number(lines.findLast((line) => line.startsWith('recording'))?.split(' ')[1] ?? version) + 1
        // The next recording deletes those of the last kill.
        expect(temporariesIn(root).length).toBeLessThanOrEqual(2)
        count(figures, lines)
      }
      await runUntilKilled('record-forever.js', [root, String(version)], { ms: 0, call: 0 }, 'recorded')
      const history = await openHistory(root)
      expect(await findDamages(history)).toEqual([])
      const states = await history.records.reduce(
        async (all, record) => [...(await all), await readState(history, record)],
        Promise.resolve<readonly number[]>([]),
      )
      expect(states).toEqual([...states].sort((one, other) => one - other))
      process.stdout.write(`${JSON.stringify({ kills: KILLS, ...figures, records: states.length })}\n`)
    },
    KILLS * 5_000,
  )
})
