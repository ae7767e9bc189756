import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { formatError, UsageError } from '../../model/errors.js'
import { isRow } from '../../model/row.js'
import type { Settings } from '../../model/settings.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { checkRequirements, planRun } from '../../pipeline/plan.js'
import { describeHolder, findLockHolder } from '../../storage/lock.js'
import { statePaths } from '../../storage/run-state.js'
import { findExistingFolder, readFreeBytes } from '../disk.js'
import { formatBytes } from '../terminal/format.js'

/** A check of this machine: a requirement of a run, or useful to know. */
export interface LocalCheck {
  readonly what: string
  readonly result: 'ok' | 'warn' | 'failed'
  readonly found: string
}

const MIN_NODE = [20, 19] as const
/** About the size of a first run of the whole market. */
const MIN_FREE_BYTES = 1e9

interface LocalContext {
  readonly settings: Settings
  readonly streams: readonly StreamDefinition[]
  /** Packages that are used if installed. */
  readonly optional: readonly string[]
}

export const localChecks = ({ settings, streams, optional }: LocalContext): readonly LocalCheck[] => [
  nodeCheck(process.versions.node),
  settingsCheck(streams, settings),
  ...folderChecks(resolve(settings.out)),
  ...optional.map(packageCheck),
]

const nodeCheck = (version: string): LocalCheck => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])
  return {
    what: 'Node',
    result: isNew ? 'ok' : 'failed',
    found: isNew ? version : `${version}; Node ${MIN_NODE.join('.')} or newer is required`,
  }
}

const settingsCheck = (streams: readonly StreamDefinition[], settings: Settings): LocalCheck => {
  try {
    checkRequirements(planRun(streams, settings), settings)
    return { what: 'settings', result: 'ok', found: 'every address is set' }
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return { what: 'settings', result: 'failed', found: error.message.split('\n').slice(0, -1).join('\n') }
  }
}

const folderChecks = (folder: string): readonly LocalCheck[] => {
  const existing = findExistingFolder(folder)
  const isThere = existing === folder
  return [writableCheck(folder, existing, isThere), diskCheck(existing), ...(isThere ? lockCheck(folder) : [])]
}

const writableCheck = (folder: string, existing: string, isThere: boolean): LocalCheck => {
  const probe = join(existing, `.scripstream-doctor-${process.pid}`)
  try {
    writeFileSync(probe, '', { flag: 'wx' })
    return { what: 'folder', result: 'ok', found: `${folder} ${isThere ? 'can be written' : 'does not exist yet and can be created'}` }
  } catch (error) {
    return { what: 'folder', result: 'failed', found: `${folder} cannot be written: ${formatError(error)}` }
  } finally {
    rmSync(probe, { force: true })
  }
}

const diskCheck = (existing: string): LocalCheck => {
  try {
    const free = readFreeBytes(existing)
    const isEnough = free >= MIN_FREE_BYTES
    return {
      what: 'disk',
      result: isEnough ? 'ok' : 'warn',
      found: `${formatBytes(free)} free${isEnough ? '' : `, a first run of a whole market may need ${formatBytes(MIN_FREE_BYTES)}`}`,
    }
  } catch (error) {
    return { what: 'disk', result: 'warn', found: `the free space is unknown: ${formatError(error)}` }
  }
}

/** Which process holds the lock of the folder, if any. */
const lockCheck = (folder: string): readonly LocalCheck[] => {
  const holder = findLockHolder(statePaths(folder).lock)
  if (holder === undefined) return []
  if (holder === 'stale') return [{ what: 'lock', result: 'ok', found: 'left over from a killed run; the next run takes it over' }]
  return [{ what: 'lock', result: 'warn', found: `held by ${describeHolder(holder)}` }]
}

const readManifest = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** Looks for a package without loading it. */
const packageCheck = (name: string): LocalCheck => {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  const manifest = folders.map((folder) => readManifest(join(folder, name, 'package.json'))).find(isRow)
  return {
    what: name,
    result: 'ok',
    found: manifest === undefined ? 'not installed (optional)' : `${manifest.version}`,
  }
}
