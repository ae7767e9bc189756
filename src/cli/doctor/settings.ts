import { existsSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { lastValueFrom } from 'rxjs'
import { listTables, type StreamDefinition } from '../../engine/define-stream.js'
import { UsageError } from '../../model/errors.js'
import type { Settings } from '../../model/settings.js'
import { describeFileError, statFile } from '../../storage/file-system.js'
import { readHolidays } from '../../storage/session-days.js'
import { checkSinks, LAKE } from '../export/targets.js'
import { checkShellCommand, describeTarget, isHttpAddress, reachHost } from '../notify/send.js'
import { readWatchlists } from '../options.js'
import { findMissingSdk } from '../run/tracing.js'
import { formatQuantity } from '../terminal/text.js'

/** A check of this machine: a requirement of a run, or useful to know. */
export interface LocalCheck {
  readonly what: string
  readonly result: 'ok' | 'warn' | 'failed'
  readonly found: string
  /** The file with its line, the variable or the option that has the setting. */
  readonly place?: string | undefined
}

/** What a check finds, or nothing to say. */
export type Found = string | undefined | LocalCheck

interface CheckedSettings {
  readonly settings: Settings
  readonly streams: readonly StreamDefinition[]
  readonly env: NodeJS.ProcessEnv
}

/** Tries each setting as a run does at its start. */
export const settingChecks = ({
  settings,
  streams,
  env,
}: CheckedSettings): Readonly<Record<string, () => Found | Promise<Found>>> => ({
  holidays: () =>
    settings.holidays &&
    `${formatQuantity(readHolidays(settings.holidays).size, 'day')} in ${settings.holidays}`,
  sessions: () =>
    Object.entries(settings.sessions)
      .map((session) => session.join(' '))
      .join(', ') || undefined,
  watchlists: () => checkWatchlists(settings),
  watch: () => checkRules(settings, streams),
  queries: () => checkSavedQueries(settings.out, streams),
  lake: () => (settings.lake ? checkLake(settings.out, streams) : undefined),
  fleet: async () => (await import('../fleet.js')).resolveFleet({}, env)?.address.replace(/.*@/, ''),
  logFile: () => settings.logFile && checkLogFile(settings.logFile),
  metricsFile: () => settings.metricsFile && checkMetricsFile(settings.metricsFile),
  traces: () => checkTraces(env),
  notify: () => checkNotify(settings, env),
})

const checkWatchlists = (settings: Settings): string | undefined => {
  const failures: UsageError[] = []
  const lists = Object.entries(readWatchlists(settings, (error) => void failures.push(error)))
  const [first, ...others] = failures
  if (first)
    throw new UsageError([first, ...others].map(({ message }) => message).join('\n'), {
      issues: first.issues,
    })
  return (
    lists.map(([name, symbols]) => `${name} (${formatQuantity(symbols.length, 'symbol')})`).join(', ') ||
    undefined
  )
}

/**
 * The reasons of those that fail, by name, in one error; without what follows the first line, such as the
 * columns of a table.
 */
const tryEach = async <T extends { readonly name: string }>(
  all: readonly T[],
  attempt: (one: T) => Promise<unknown>,
): Promise<void> => {
  const reasons: string[] = []
  for (const one of all)
    await attempt(one).catch(
      ({ message }: Error) => void reasons.push(`${one.name}: ${message.replace(/\n.*/s, '')}`),
    )
  if (reasons.length > 0) throw new UsageError(reasons.join('\n'))
}

const checkRules = async (
  { out, watch, history }: Settings,
  streams: readonly StreamDefinition[],
): Promise<string | undefined> => {
  const { listRules, resolveRule } = await import('../../tables/changes/watch-rules.js')
  const { checkKey } = await import('../../tables/changes/signals.js')
  const { describeQuery } = await import('../../tables/query.js')
  const rules = await listRules(out, watch)
  await tryEach(rules, async (rule) => {
    const { sql, key } = await resolveRule(rule, out)
    checkKey(key, await describeQuery(sql, listTables(streams)))
  })
  if (rules.length > 0 && !history)
    throw new UsageError('rules need a recorded day; the setting "history" is off')
  return rules.length === 0
    ? undefined
    : `${formatQuantity(rules.length, 'rule')}: ${rules.map(({ name }) => name).join(', ')}`
}

const checkSavedQueries = async (
  folder: string,
  streams: readonly StreamDefinition[],
): Promise<string | undefined> => {
  const { listSavedQueries } = await import('../../tables/saved-queries.js')
  const { describeQuery } = await import('../../tables/query.js')
  const queries = await listSavedQueries(folder)
  await tryEach(queries, ({ sql }) => describeQuery(sql, listTables(streams)))
  return queries.length === 0
    ? undefined
    : `${formatQuantity(queries.length, 'saved query').replace(/querys$/, 'queries')}`
}

const checkLake = async (out: string, streams: readonly StreamDefinition[]): Promise<string> => {
  await lastValueFrom(checkSinks([LAKE], { streams }))
  checkWritable(join(out, 'lake'))
  return 'written after each run'
}

/**
 * Opens the log as a run does; an empty file that was not there before goes again. A device or a link stays.
 */
const checkLogFile = async (path: string): Promise<string> => {
  const { openLogFile } = await import('../run/log.js')
  const isNew = !existsSync(path)
  openLogFile(path, 'info')
  if (isNew) rmSync(realpathSync(path))
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

/** Writes a probe, and deletes it. @throws UsageError if the folder cannot be written or created */
export const checkWritable = (folder: string): string => {
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

export const findExistingFolder = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : findExistingFolder(dirname(path))
