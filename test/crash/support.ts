import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { verify } from '../../src/verify/verify.js'
import { streams } from '../../streams/registry.js'
import { endOf, start } from '../e2e/command.js'
import { hashOutputs } from '../support/folders.js'

/** Paths of missing, extra or different files. */
export const differencesOf = (one: string, other: string): readonly string[] => {
  const [seen, wanted] = [hashOutputs(one), hashOutputs(other)]
  return [...new Set([...Object.keys(seen), ...Object.keys(wanted)])].filter(
    (path) => seen[path] !== wanted[path],
  )
}

/** Temporary files of interrupted writes. */
export const temporariesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.tmp') || name.endsWith('.next'),
  )

/** Files that differ from their digest, or have none. */
export const damagedIn = async (folder: string): Promise<readonly string[]> => {
  if (!existsSync(join(folder, 'master_isin_map.json'))) return []
  const { findings } = await verify(folder, {
    streams,
    exchange: 'NSE',
    only: ['files'],
    deep: true,
    limits: {},
  })
  return findings
    .map(({ file, detail }) => `${file}: ${detail}`)
    .filter((text) => /damaged|changed|digest/.test(text))
}

/** A seeded random generator of numbers in [0, 1). */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export interface Attempt {
  /** `undefined` if the run was killed. */
  readonly code: number | null
  readonly stderr: string
}

/** Runs the command and kills it after a delay unless it has ended. */
export const killedAfter = async (
  ms: number,
  args: readonly string[],
  place: { cwd: string; env: Record<string, string> },
): Promise<Attempt> => {
  const child = start(args, place)
  const ended = endOf(child)
  await Promise.race([ended, pause(ms).then(() => child.kill('SIGKILL'))])
  const { code, stderr } = await ended
  return { code, stderr }
}
