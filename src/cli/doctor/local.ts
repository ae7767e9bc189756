import { accessSync, constants, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findProxy } from '../../http/proxy.js'
import { formatError, UsageError } from '../../model/errors.js'
import { listPackageFolders } from '../../model/optional-package.js'
import { isRow } from '../../model/row.js'
import { findAddress, listHosts, type Settings } from '../../model/settings.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { checkRequirements, planRun } from '../../pipeline/plan.js'
import { describeFileError } from '../../storage/file-system.js'
import { describeHolder, findLockHolder } from '../../storage/lock.js'
import { statePaths } from '../../storage/run-state.js'
import { findExistingFolder, findFreeBytes } from '../disk.js'
import { describeTarget } from '../notify/send.js'
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
  readonly env: NodeJS.ProcessEnv
}

export const localChecks = ({ settings, streams, optional, env }: LocalContext): readonly LocalCheck[] => [
  nodeCheck(process.versions.node),
  settingsCheck(streams, settings),
  networkCheck(settings, env),
  ...(env.NODE_EXTRA_CA_CERTS ? [authorityCheck(env.NODE_EXTRA_CA_CERTS)] : []),
  ...(settings.notify === undefined ? [] : [notifyCheck(settings)]),
  ...folderChecks(resolve(settings.out)),
  ...optional.map(packageCheck),
]

const nodeCheck = (version: string): LocalCheck => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNew = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])
  const found = isNew ? version : `${version}; Node ${MIN_NODE.join('.')} or newer is required`
  return { what: 'Node', result: isNew ? 'ok' : 'failed', found }
}

/** Whether the address of any service is set. */
export const hasProvider = ({ urls, hosts }: Settings): boolean => Object.keys({ ...urls, ...hosts }).length > 0

/** What is found, or why it failed. */
const attempt = (what: string, find: () => string, describe: (error: unknown) => string = formatError): LocalCheck => {
  try {
    return { what, result: 'ok', found: find() }
  } catch (error) {
    return { what, result: 'failed', found: describe(error) }
  }
}

const NO_PROVIDER = 'no address of a provider is set; fill in "urls" in scripstream.config.json, which "scripstream init" writes'

const settingsCheck = (streams: readonly StreamDefinition[], settings: Settings): LocalCheck => {
  const check = (): string => {
    if (!hasProvider(settings)) throw new UsageError(`${NO_PROVIDER}\n`)
    checkRequirements(planRun(streams, settings), settings)
    return 'every address is set'
  }
  return attempt('settings', check, (error) => {
    if (!(error instanceof UsageError)) throw error
    return error.message.split('\n').slice(0, -1).join('\n')
  })
}

/** Which services are reached through which proxy. */
const networkCheck = (settings: Settings, env: NodeJS.ProcessEnv): LocalCheck =>
  attempt('network', () => {
    const routes = new Map<string, string[]>()
    for (const host of listHosts(settings)) {
      const address = findAddress(settings, host)
      const proxy = address === undefined ? undefined : findProxy(address, env)
      const route = proxy === undefined ? 'no proxy' : `proxy ${proxy.shown} (${proxy.variable})`
      if (address !== undefined) routes.set(route, [...(routes.get(route) ?? []), host])
    }
    const [only = 'no proxy'] = routes.keys()
    return routes.size < 2 ? only : [...routes].map(([route, some]) => `${route} for ${some.join(', ')}`).join('; ')
  })

/** Node only warns about a file of authorities that it cannot read. */
const authorityCheck = (file: string): LocalCheck => {
  const check = (): string => {
    accessSync(file, constants.R_OK)
    return `also the authorities in ${file} (NODE_EXTRA_CA_CERTS)`
  }
  return attempt('certificates', check, (error) => `NODE_EXTRA_CA_CERTS: ${file} cannot be read: ${describeFileError(error, 'read')}`)
}

/** Without the target: an address or a command may contain secrets. */
const notifyCheck = (settings: Settings): LocalCheck => ({
  what: 'notify',
  result: 'ok',
  found: `${describeTarget(settings)}, on ${settings.notifyOn}${settings.notifySecret === undefined ? '' : ', signed'}`,
})

const folderChecks = (folder: string): readonly LocalCheck[] => {
  const existing = findExistingFolder(folder)
  return [writableCheck(folder, existing, existing === folder), diskCheck(existing), ...(existing === folder ? lockCheck(folder) : [])]
}

const writableCheck = (folder: string, existing: string, isThere: boolean): LocalCheck => {
  const probe = join(existing, `.scripstream-doctor-${process.pid}`)
  const check = (): string => {
    writeFileSync(probe, '', { flag: 'wx' })
    rmSync(probe)
    return `${folder} ${isThere ? 'can be written' : 'does not exist yet and can be created'}`
  }
  return attempt('folder', check, (error) => `${folder} cannot be written: ${describeFileError(error)}`)
}

const diskCheck = (existing: string): LocalCheck => {
  const free = findFreeBytes(existing)
  if (free === undefined) return { what: 'disk', result: 'warn', found: 'the free space is unknown' }
  const isEnough = free >= MIN_FREE_BYTES
  const need = isEnough ? '' : `, a first run of a whole market may need ${formatBytes(MIN_FREE_BYTES)}`
  return { what: 'disk', result: isEnough ? 'ok' : 'warn', found: `${formatBytes(free)} free${need}` }
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
  const manifest = listPackageFolders(name)
    .map((folder) => readManifest(join(folder, name, 'package.json')))
    .find(isRow)
  return { what: name, result: 'ok', found: manifest === undefined ? 'not installed (optional)' : `${manifest.version}` }
}
