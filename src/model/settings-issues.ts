import type { z } from 'zod'
import { UsageError, type UsageIssue } from './errors.js'
import { isRow, omitUndefined, type Row } from './row.js'
import { builtInHosts, explainIssue, goneSettings, hostFields, Settings } from './settings.js'
import { createSettingsSchema, listStreamOptions, type OptionOwners } from './stream-options.js'
import { findClosest, suggest } from './text.js'

export interface SettingsIssue extends UsageIssue {
  /** The setting that the message is about; empty for the settings as a whole. */
  readonly setting: string
  readonly code: 'usage' | 'unknown-setting'
}

/**
 * Everything that is wrong with some settings. A message continues the name of the setting: `must be …, but
 * is "many"`. `known`: the names that a setting may have, of streams or checks. `streams`: those whose own
 * settings may be set.
 */
export const findSettingsIssues = (
  values: Row,
  known: Readonly<Record<string, KnownNames>>,
  streams: OptionOwners,
): readonly SettingsIssue[] => {
  if (!isRow(values)) return [{ path: 'settings', setting: '', code: 'usage', message: 'must be an object' }]
  const issues = (createSettingsSchema(streams).safeParse(values).error?.issues ?? []).flatMap((issue) =>
    describeIssue(issue, values, streams),
  )
  const unknown = Object.entries(known).flatMap(([setting, one]) => {
    const value = values[setting]
    if (value === undefined || issues.some(({ path }) => path === setting)) return []
    const names = isRow(value) ? Object.keys(value) : [value].flat().map(String)
    const found = findUnknownNames(names, one, (name) => (isRow(value) ? `${setting}.${name}` : setting))
    return found.map((issue) => ({
      ...issue,
      setting,
      code: 'usage' as const,
      message: `has an ${issue.message}`,
    }))
  })
  return [...issues, ...unknown]
}

/** What to use instead of a setting that is gone. */
const findSuccessor = (key: string, streams: OptionOwners): string | undefined => {
  const own = listStreamOptions(streams).find(({ name }) => name === key)
  return own ? `write "options": { "${own.stream}": { "${key}": … } }` : goneSettings[key]
}

/** The error of all issues; of one, its message alone. */
export const createSettingsError = (issues: readonly SettingsIssue[]): UsageError => {
  const lines = issues.map(({ message }) => message)
  const code = issues.every((issue) => issue.code === 'unknown-setting') ? 'unknown-setting' : 'usage'
  const message =
    lines.length === 1 ? (lines[0] ?? '') : [`${lines.length} settings are wrong:`, ...lines].join('\n')
  return new UsageError(message, {
    code,
    issues: issues.map(({ path, message, suggestion }) => omitUndefined({ path, message, suggestion })),
  })
}

/** Whether a setting contains base addresses. */
export const isAddressSetting = (setting: unknown): boolean => setting === 'urls' || setting === 'hosts'

const describeIssue = (
  issue: z.core.$ZodIssue,
  values: Row,
  streams: OptionOwners,
): readonly SettingsIssue[] => {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const now = issue.path.length === 0 ? findSuccessor(key, streams) : undefined
      if (now !== undefined)
        return { path: key, setting: key, code: 'unknown-setting', message: `is gone: ${now}` }
      const [setting, path] = [issue.path.join('.'), [...issue.path, key].join('.')]
      const suggestion = findClosest(key, listSettingNames(issue.path, streams))
      const message = `has no setting ${JSON.stringify(key)}${suggest(suggestion)}`
      return omitUndefined({ path, setting, code: 'unknown-setting' as const, message, suggestion })
    })
  const path = findSetting(issue, values)
  const [setting = '', ...names] = issue.path.map(String)
  const isName = issue.code === 'invalid_key'
  const given = isName
    ? names.at(-1)
    : issue.path.reduce<unknown>((value, key) => (isRow(value) ? value[String(key)] : value), values)
  const inside = names.slice(isAddressSetting(setting) ? 1 : 0).filter((name) => name !== 'url')
  const where = inside.length > 0 && !isName && setting !== 'options' ? `(${inside.join('.')}) ` : ''
  const isHidden = isConfidential(setting, given) || names.includes('headers')
  const shown = isHidden ? ' (value not shown)' : `, but is ${formatValue(given, setting)}`
  return [{ path, setting: path, code: 'usage', message: `${where}${explainIssue(issue)}${shown}` }]
}

/** The names that are known at a place of the settings. */
const listSettingNames = (
  [group, name]: z.core.$ZodIssue['path'],
  streams: OptionOwners,
): readonly string[] => {
  if (group === 'urls') return builtInHosts
  if (group === 'hosts') return hostFields
  if (group === undefined) return Object.keys(Settings.shape)
  return name === undefined
    ? streams.map((stream) => stream.name)
    : Object.keys(streams.find((stream) => stream.name === name)?.options ?? {})
}

const findSetting = ({ path }: z.core.$ZodIssue, values: Row): string => {
  const [setting = '', host] = path.map(String)
  if (setting === 'options') return path.join('.')
  return isAddressSetting(setting) && host !== undefined && isRow(values[setting])
    ? `${setting}.${host}`
    : setting
}

/** Whether the value of a setting may identify the user: it is not shown. */
export const isConfidential = (setting: string, value: unknown): boolean =>
  ['headers', 'notify', 'notifySecret'].includes(setting) ||
  (setting === 'options' && !['number', 'boolean'].includes(typeof value))

const formatValue = (given: unknown, setting: string): string => {
  const text = JSON.stringify(given)
  return isAddressSetting(setting) ? text.replace(/^.*@/s, '"…@').replace(/[?#].*(?=")/s, '?…') : text
}

/** What names may be: the word for one, and all of them. */
export interface KnownNames {
  readonly what: string
  readonly names: readonly string[]
  /** Those that a message lists; all if absent. */
  readonly shown?: readonly string[]
}

/**
 * An issue for each name that is unknown, with the known one that it most likely means. `toPath` says where
 * the name is.
 */
export const findUnknownNames = (
  given: readonly string[],
  { what, names, shown = names }: KnownNames,
  toPath: (name: string) => string,
): readonly UsageIssue[] =>
  given
    .filter((name) => !names.includes(name))
    .map((name) => {
      const suggestion = findClosest(name, names)
      const message = `unknown ${what}: ${JSON.stringify(name)}${suggest(suggestion)}; ${what}s: ${shown.join(', ')}`
      return { path: toPath(name), message, ...(suggestion === undefined ? {} : { suggestion }) }
    })

/** @throws UsageError with all issues, if there are any; its message is that of the first one */
export const rejectIssues = (issues: readonly UsageIssue[], place = ''): void => {
  const [first] = issues
  if (first) throw new UsageError(`${place}${first.message}`, { issues })
}

/** @throws UsageError for an option that is not one of the known ones */
export const checkOptionNames = (options: object, known: Readonly<Record<string, unknown>>): void => {
  rejectIssues(
    findUnknownNames(Object.keys(options), { what: 'option', names: Object.keys(known) }, (name) => name),
  )
}

/** The checked value. @throws UsageError that begins with `head` and says what is wrong, part by part */
export const parseOptions = <T>(schema: z.ZodType<T>, given: unknown, head: string): T => {
  const { data, error } = schema.safeParse(given)
  if (error === undefined) return data
  const lines = error.issues.map((issue) => {
    const value = issue.path.reduce<unknown>(
      (all, key) => (all as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key],
      given,
    )
    const meant =
      issue.code === 'invalid_value' ? findClosest(String(value), issue.values.map(String)) : undefined
    return `${issue.path.join('.')} ${explainIssue(issue)}${suggest(meant)}`.trim()
  })
  throw new UsageError([head, ...lines].join('\n'))
}
