import { existsSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { listTables, type StreamDefinition } from '../../engine/define-stream.js'
import { checkRequirements, planRun } from '../../engine/plan.js'
import { findProxy } from '../../http/proxy.js'
import { CollectError, formatError, UsageError } from '../../model/errors.js'
import { listPackageFolders } from '../../model/optional-package.js'
import { omitUndefined } from '../../model/row.js'
import { findAddress, listHosts, type Settings } from '../../model/settings.js'
import { describeFileError, statFile } from '../../storage/file-system.js'
import { describeHolder, findLockHolder } from '../../storage/lock.js'
import { statePaths } from '../../storage/run-state.js'
import { readHolidays } from '../../storage/session-days.js'
import type { Dependencies } from '../dependencies.js'
import { checkSinks, LAKE } from '../export/targets.js'
import { adaptInstall, type Origins } from '../hints.js'
import { checkShellCommand, describeTarget, isHttpAddress, reachHost } from '../notify/send.js'
import { readWatchlists } from '../options.js'
import { openLogFile } from '../run/log.js'
import { findMissingSdk } from '../run/tracing.js'
import { formatBytes, formatQuantity } from '../terminal/text.js'

/** A check of this machine: a requirement of a run, or useful to know. */
export interface LocalCheck {
  readonly what: string
  readonly result: 'ok' | 'warn' | 'failed'
  readonly found: string
  /** The file with its line, the variable or the option that has the setting. */
  readonly place?: string
}

/** About the size of a first run of the whole market. */
const MIN_FREE_BYTES = 1e9

interface DoctorContext {
  readonly settings: Settings
  readonly dependencies: Pick<Dependencies, 'streams' | 'optionalPackages'>
  readonly env: NodeJS.ProcessEnv
  readonly origins?: Origins | undefined
}

type Found = string | undefined | LocalCheck

/**
 * Tries what a run does at its start, and what is useful to know. A check that throws has failed, and one that finds nothing is left out.
 * Leaves no file behind.
 */
export const localChecks = async ({ settings, dependencies, env, origins }: DoctorContext): Promise<readonly LocalCheck[]> => {
  const { streams, optionalPackages } = dependencies
  const folder = resolve(settings.out)
  const authorities = env.NODE_EXTRA_CA_CERTS
  const checks: Readonly<Record<string, () => Found | Promise<Found>>> = {
    Node: () => process.versions.node,
    settings: () => checkSettings(streams, settings),
    network: () => describeRoutes(settings, env),
    // Node only warns about a file of authorities that it cannot read.
    certificates: () => authorities && checkReadable(authorities),
    folder: () => checkWritable(folder),
    disk: () => checkDisk(folder),
    lock: () => checkLock(folder),
    holidays: () => settings.holidays && `${formatQuantity(readHolidays(settings.holidays).size, 'day')} in ${settings.holidays}`,
    watchlists: () => checkWatchlists(settings),
    watch: () => checkRules(settings, streams),
    queries: () => checkSavedQueries(folder, streams),
    lake: () => (settings.lake ? checkLake(streams) : undefined),
    logFile: () => settings.logFile && checkLogFile(settings.logFile),
    metricsFile: () => settings.metricsFile && checkMetricsFile(settings.metricsFile),
    traces: () => checkTraces(env),
    notify: () => checkNotify(settings, env),
    ...Object.fromEntries(optionalPackages.map((name) => [name, () => findVersion(name) ?? 'not installed (optional)'])),
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
  return { what, result: 'failed', found, ...omitUndefined({ place }) }
}

export const hasProvider = ({ urls, hosts }: Settings): boolean => Object.keys({ ...urls, ...hosts }).length > 0

const NO_PROVIDER = 'no address of a provider is set; fill in "urls" in scripstream.config.json, which "scripstream init" writes'

const checkSettings = (streams: readonly StreamDefinition[], settings: Settings): string => {
  if (!hasProvider(settings)) throw new UsageError(NO_PROVIDER)
  try {
    checkRequirements(planRun(streams, settings), settings)
  } catch (error) {
    // Without the last line, which says where to set them.
    throw error instanceof UsageError ? new UsageError(error.message.split('\n').slice(0, -1).join('\n')) : error
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
  return routes.size < 2 ? only : [...routes].map(([route, some]) => `${route} for ${some.join(', ')}`).join('; ')
}

const checkReadable = (file: string): string => {
  if (statFile(file) === undefined) throw new UsageError(`NODE_EXTRA_CA_CERTS: no file ${file}`)
  return `also the authorities in ${file}`
}

const checkWatchlists = (settings: Settings): string | undefined => {
  const failures: UsageError[] = []
  const lists = Object.entries(readWatchlists(settings, (error) => void failures.push(error)))
  const [first, ...others] = failures
  if (first) throw new UsageError([first, ...others].map(({ message }) => message).join('\n'), { issues: first.issues })
  return lists.map(([name, symbols]) => `${name} (${formatQuantity(symbols.length, 'symbol')})`).join(', ') || undefined
}

/** The reasons of those that fail, by name, in one error; without what follows the first line, such as the columns of a table. */
const tryEach = async <T extends { readonly name: string }>(all: readonly T[], attempt: (one: T) => Promise<unknown>): Promise<void> => {
  const reasons: string[] = []
  for (const one of all) await attempt(one).catch(({ message }: Error) => void reasons.push(`${one.name}: ${message.replace(/\n.*/s, '')}`))
  if (reasons.length > 0) throw new UsageError(reasons.join('\n'))
}

const checkRules = async ({ out, watch }: Settings, streams: readonly StreamDefinition[]): Promise<string | undefined> => {
  const { checkRule, listRules } = await import('../../tables/watch/rules.js')
  const rules = await listRules(out, watch)
  await tryEach(rules, (rule) => checkRule(rule, out, listTables(streams)))
  return rules.length === 0 ? undefined : `${formatQuantity(rules.length, 'rule')}: ${rules.map(({ name }) => name).join(', ')}`
}

const checkSavedQueries = async (folder: string, streams: readonly StreamDefinition[]): Promise<string | undefined> => {
  const { listSavedQueries } = await import('../../tables/saved-queries.js')
  const { describeQuery } = await import('../../tables/query.js')
  const queries = await listSavedQueries(folder)
  await tryEach(queries, ({ sql }) => describeQuery(sql, listTables(streams)))
  return queries.length === 0 ? undefined : `${formatQuantity(queries.length, 'saved query').replace(/querys$/, 'queries')}`
}

const checkLake = async (streams: readonly StreamDefinition[]): Promise<string> => {
  await lastValueFrom(checkSinks([LAKE], { streams }))
  return 'written after each run'
}

/** Opens the log as a run does; an empty file that was not there before goes again. */
const checkLogFile = (path: string): string => {
  const isNew = statFile(path) === undefined
  openLogFile(path, 'info')
  if (isNew) rmSync(path)
  return `${path} can be written`
}

const checkMetricsFile = async (path: string): Promise<string> => {
  const { createMetrics } = await import('../../telemetry/prometheus.js')
  createMetrics()
  if (existsSync(path) && statFile(path) === undefined) throw new UsageError(`${path} is no file`)
  checkWritable(dirname(path))
  return `${path} can be written`
}

const checkTraces = (env: NodeJS.ProcessEnv): LocalCheck | undefined => {
  const missing = findMissingSdk(env)
  return missing === undefined ? undefined : { what: 'traces', result: 'warn', found: missing }
}

/** Without the target: an address or a command may contain secrets. */
const checkNotify = async (settings: Settings, env: NodeJS.ProcessEnv): Promise<string | undefined> => {
  const { notify, notifyOn, notifySecret } = settings
  if (notify === undefined) return undefined
  await (isHttpAddress(notify) ? reachHost(notify, env) : checkShellCommand(notify, env))
  return `${describeTarget(settings)}, on ${notifyOn}${notifySecret === undefined ? '' : ', signed'}; "scripstream doctor --notify" sends a test`
}

const checkWritable = (folder: string): string => {
  const existing = findExistingFolder(folder)
  const probe = join(existing, `.scripstream-doctor-${process.pid}`)
  try {
    writeFileSync(probe, '', { flag: 'wx' })
    rmSync(probe)
  } catch (error) {
    throw new UsageError(`${folder} cannot be written: ${describeFileError(error)}`)
  }
  return `${folder} ${existing === folder ? 'can be written' : 'does not exist yet and can be created'}`
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
      return (JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8')) as { readonly version: string }).version
    } catch {
      // It is not in this folder.
    }
  return undefined
}

export const findExistingFolder = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : findExistingFolder(dirname(path))

/** Free bytes, for this user, at a folder that may not exist yet; undefined if the system does not report them. */
export const findFreeBytes = (path: string): number | undefined => {
  try {
    const { bavail, bsize } = statfsSync(findExistingFolder(path))
    return bavail * bsize
  } catch {
    return undefined
  }
}
