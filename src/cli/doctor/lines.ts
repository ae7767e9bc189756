import { flattenSettings } from '../../config.js'
import { groupBy } from '../../model/map.js'
import { createRedactor } from '../../model/redact.js'
import type { Settings } from '../../model/settings.js'
import { isConfidential } from '../../model/settings-issues.js'
import { driftText } from '../drift.js'
import { formatBytes, formatCount, formatQuantity } from '../terminal/format.js'
import { columnsOf, renderFittingTable, type Style, type TextColumn, type TextLine, wrapLines, wrapTitled } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import type { LocalCheck } from './local.js'
import type { Probe } from './probe.js'

const STYLES: Readonly<Record<string, Style>> = { ok: 'green', warn: 'yellow', drift: 'yellow', skipped: 'yellow', failed: 'red' }

interface DoctorResults {
  readonly checks: readonly LocalCheck[]
  readonly settings: readonly SettingInUse[]
  readonly probes: readonly Probe[]
}

/** Formats the results for people: this machine, the settings, a table of endpoints, and for each problem the cause and what to do. */
export const doctorLines = ({ checks, settings, probes }: DoctorResults, columns: number): readonly TextLine[] => {
  const provider = [
    ...[[], [['The provider', 'bold']] as TextLine],
    ...wrapLines(`  one request to each of ${formatQuantity(probes.length, 'endpoint')}`, columns),
    ...renderFittingTable(PROBE_COLUMNS, probes, columns),
    ...formatProblems(probes, columns),
  ]
  const count = (...results: readonly string[]): number => [...checks, ...probes].filter(({ result }) => results.includes(result)).length
  const [broken, changed] = [count('failed', 'skipped'), count('drift')]
  const [sum, style]: readonly [string, Style] =
    broken > 0
      ? [`${formatQuantity(broken, 'problem')} found.`, 'red']
      : changed > 0
        ? [`Everything works, but the answers of ${formatQuantity(changed, 'endpoint')} have changed.`, 'yellow']
        : ['Everything works.', 'green']
  return [
    [['This machine', 'bold']],
    ...checks.flatMap((check) => formatCheck(check, columns)),
    ...[[], ...settingLines(settings, columns)],
    ...(probes.length === 0 ? [] : provider),
    ...[[], ...wrapLines(sum, columns, style)],
  ]
}

const formatCheck = ({ what, result, found }: LocalCheck, columns: number): readonly TextLine[] => {
  const [head = '', ...others] = found.split('\n').map(clean)
  const mark = result === 'ok' ? '' : `${result}: `
  return [
    ...wrapTitled([`  ${mark}`, STYLES[result]], `${what}: ${head}`, columns),
    ...others.flatMap((line) => wrapLines(`    ${line}`, columns)),
  ]
}

/** Endpoints of several streams may have the same name. */
const PROBE_COLUMNS: readonly TextColumn<Probe>[] = [
  { title: 'endpoint', align: 'left', cell: ({ endpoint }) => endpoint },
  { title: 'stream', drop: 4, align: 'left', cell: ({ stream }) => stream },
  { title: 'result', align: 'left', cell: ({ result }) => result, style: ({ result }) => STYLES[result] },
  { title: 'status', drop: 3, align: 'right', cell: ({ status }) => (status === undefined ? '-' : String(status)) },
  { title: 'time', drop: 5, align: 'right', cell: ({ ms }) => (ms === undefined ? '-' : `${formatCount(ms)} ms`) },
  { title: 'size', drop: 2, align: 'right', cell: ({ bytes: size }) => (size === undefined ? '-' : formatBytes(size)) },
  { title: 'request', drop: 1, align: 'left', cell: ({ method, host, path }) => `${method} ${host} ${path}`, style: () => 'dim' },
]

const listDetails = ({ reason, advice, drift = [] }: Probe): readonly string[] => [
  ...drift.map((one) => driftText(one)),
  ...(reason === undefined ? [] : [clean(reason)]),
  ...(advice === undefined ? [] : [`do: ${advice}`]),
]

/** One block for each cause, and the endpoints that it concerns. */
const formatProblems = (probes: readonly Probe[], columns: number): readonly TextLine[] => {
  const problems = probes.filter(({ result }) => result !== 'ok')
  return [...groupBy(problems, (probe) => JSON.stringify([probe.result, ...listDetails(probe)])).values()].flatMap((group) => {
    const [first] = group as [Probe, ...Probe[]]
    const list = (name: 'endpoint' | 'stream'): string => [...new Set(group.map((probe) => probe[name]))].join(', ')
    return [
      [],
      ...wrapLines(`${list('endpoint')} ${first.result} (${list('stream')})`, columns, STYLES[first.result]),
      ...listDetails(first).flatMap((detail) => wrapLines(`  ${detail}`, columns)),
    ]
  })
}

interface SettingInUse {
  readonly name: string
  readonly value: string
  /** The file, variable or option that sets it; `default` or `simulator`. */
  readonly from: string
}

/** All settings that have a value, and where it comes from: `loaded` are those of file, environment and options. Confidential values are not shown. */
export const listSettings = (
  settings: Settings,
  { loaded, origins }: { readonly loaded: Settings; readonly origins: ReadonlyMap<string, string> },
): readonly SettingInUse[] => {
  const before = new Map(flattenSettings(loaded))
  const redact = createRedactor(settings)
  return flattenSettings(settings)
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => ({
      name,
      value: isConfidential(name.replace(/\..*/, '')) ? '(not shown)' : typeof value === 'string' ? value : redact(JSON.stringify(value)),
      from: before.get(name) === value ? (origins.get(name)?.replace(`${name} in `, '') ?? 'default') : 'simulator',
    }))
}

export const settingLines = (settings: readonly SettingInUse[], columns: number): readonly TextLine[] => {
  const own = settings.flatMap(({ name, from, value }) => (from === 'default' ? [] : [[name, from, value].map(clean)]))
  const titles = columnsOf({ setting: undefined, from: undefined, value: 1 }, 3)
  const defaults = settings.filter(({ from }) => from === 'default').map(({ name, value }) => `${name} ${value}`)
  return [
    [['Settings', 'bold']],
    ...(own.length === 0 ? [] : renderFittingTable(titles, own, columns)),
    ...(defaults.length === 0 ? [] : wrapLines(`default: ${defaults.join(', ')}`, columns)),
  ]
}
