import { readFileSync, statfsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { StreamDefinition } from '../../engine/define-stream.js'
import { checkRequirements, planRun } from '../../engine/plan.js'
import { findProxy } from '../../http/proxy.js'
import { CollectError, formatError, UsageError } from '../../model/errors.js'
import { listPackageFolders } from '../../model/optional-package.js'
import { findAddress, listHosts, type Settings } from '../../model/settings.js'
import { statFile } from '../../storage/file-system.js'
import { describeHolder, findLockHolder } from '../../storage/lock.js'
import { statePaths } from '../../storage/run-state.js'
import type { Dependencies } from '../dependencies.js'
import { adaptInstall, type Origins } from '../hints.js'
import { formatBytes } from '../terminal/text.js'
import { checkWritable, type Found, findExistingFolder, type LocalCheck, settingChecks } from './settings.js'

/** About the size of a first run of the whole market. */
const MIN_FREE_BYTES = 1e9

interface DoctorContext {
  readonly settings: Settings
  readonly dependencies: Pick<Dependencies, 'streams' | 'optionalPackages' | 'storage'>
  readonly env: NodeJS.ProcessEnv
  readonly isSimulated?: boolean
  readonly origins?: Origins | undefined
}

/**
 * Tries what a run does at its start, and what is useful to know. A check that throws has failed, and one
 * that finds nothing is left out. Leaves no file behind.
 */
export const localChecks = async ({
  settings,
  dependencies,
  env,
  origins,
  isSimulated,
}: DoctorContext): Promise<readonly LocalCheck[]> => {
  const { streams, optionalPackages } = dependencies
  const folder = resolve(settings.out)
  const authorities = env.NODE_EXTRA_CA_CERTS
  const checks: Readonly<Record<string, () => Found | Promise<Found>>> = {
    Node: () => process.versions.node,
    settings: () => checkSettings(streams, settings),
    network: () => describeRoutes(settings, env),
    // Node only warns about a file of authorities that it cannot read.
    certificates: () => authorities && checkReadable(authorities),
    folder: () => checkFolder(folder),
    source: async () =>
      isSimulated ? undefined : (await import('../run/source.js')).checkSource(settings, dependencies),
    disk: () => checkDisk(folder),
    lock: () => checkLock(folder),
    ...settingChecks({ settings, streams, env }),
    ...Object.fromEntries(
      optionalPackages.map((name) => [name, () => findVersion(name) ?? 'not installed (optional)']),
    ),
  }
  const found: LocalCheck[] = []
  for (const [what, find] of Object.entries(checks)) {
    const one = await Promise.resolve()
      .then(find)
      .catch((error: unknown) => describeFailedCheck(what, error, origins))
    if (one !== undefined) found.push(typeof one === 'string' ? { what, result: 'ok', found: one } : one)
  }
  return found
}

/** The reason, and where the setting is. A message that begins with the setting does not repeat it. */
const describeFailedCheck = (what: string, error: unknown, origins: Origins = new Map()): LocalCheck => {
  const message = error instanceof CollectError ? adaptInstall(error) : formatError(error)
  const setting = (error instanceof UsageError && error.issues[0]?.path) || what
  const place = origins.get(setting)?.replace(`${setting} in `, '')
  const found = message.startsWith(`${what}: `) ? message.slice(what.length + 2) : message
  return { what, result: 'failed', found, place }
}

export const hasProvider = ({ urls, hosts }: Settings): boolean =>
  Object.keys({ ...urls, ...hosts }).length > 0

const NO_PROVIDER =
  'no address of a provider is set; fill in "urls" in scripstream.config.json, which "scripstream init" writes'

const checkSettings = (streams: readonly StreamDefinition[], settings: Settings): string => {
  if (!hasProvider(settings)) throw new UsageError(NO_PROVIDER)
  try {
    checkRequirements(planRun(streams, settings), settings)
  } catch (error) {
    // Without the last line, which says where to set them.
    throw error instanceof UsageError
      ? new UsageError(error.message.split('\n').slice(0, -1).join('\n'))
      : error
  }
  return 'every address is set'
}

const describeRoutes = (settings: Settings, env: NodeJS.ProcessEnv): string => {
  const routes = new Map<string, string[]>()
  for (const host of listHosts(settings)) {
    const address = findAddress(settings, host)
    const proxy = address === undefined ? undefined : findProxy(address, env)
    const route = proxy === undefined ? 'no proxy' : `proxy ${proxy.shown} (${proxy.variable})`
    if (address !== undefined) routes.set(route, [...(routes.get(route) ?? []), host])
  }
  const [only = 'no proxy'] = routes.keys()
  return routes.size < 2
    ? only
    : [...routes].map(([route, some]) => `${route} for ${some.join(', ')}`).join('; ')
}

/** The state of runs may belong to another user than the folder. */
const checkFolder = (folder: string): string => {
  const found = checkWritable(folder)
  checkWritable(statePaths(folder).folder)
  return found
}

const checkReadable = (file: string): string => {
  if (statFile(file) === undefined) throw new UsageError(`NODE_EXTRA_CA_CERTS: no file ${file}`)
  return `also the authorities in ${file}`
}

const checkDisk = (folder: string): LocalCheck => {
  const free = findFreeBytes(folder)
  if (free === undefined) return { what: 'disk', result: 'warn', found: 'the free space is unknown' }
  const isEnough = free >= MIN_FREE_BYTES
  const need = isEnough ? '' : `, a first run of a whole market may need ${formatBytes(MIN_FREE_BYTES)}`
  return { what: 'disk', result: isEnough ? 'ok' : 'warn', found: `${formatBytes(free)} free${need}` }
}

const checkLock = (folder: string): LocalCheck | string | undefined => {
  const holder = findLockHolder(statePaths(folder).lock)
  if (holder === 'stale') return 'left over from a killed run; the next run takes it over'
  return holder && { what: 'lock', result: 'warn', found: `held by ${describeHolder(holder)}` }
}

const findVersion = (name: string): string | undefined => {
  for (const folder of listPackageFolders(name))
    try {
      return (
        JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')) as { readonly version: string }
      ).version
    } catch {
      // It is not in this folder.
    }
  return undefined
}

/**
 * Free bytes, for this user, at a folder that may not exist yet; undefined if the system does not report
 * them.
 */
export const findFreeBytes = (path: string): number | undefined => {
  try {
    const { bavail, bsize } = statfsSync(findExistingFolder(path))
    return bavail * bsize
  } catch {
    return undefined
  }
}
