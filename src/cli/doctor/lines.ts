import { flattenSettings } from '../../config.js'
import { groupBy } from '../../model/map.js'
import { createRedactor } from '../../model/redact.js'
import type { Settings } from '../../model/settings.js'
import { isConfidential } from '../../model/settings-issues.js'
import {
  type AnswerLine,
  columnsOf,
  fitTable,
  type Style,
  type TextColumn,
  type TextSpan,
  titledPart,
} from '../terminal/terminal.js'
import { clean, formatBytes, formatCount, formatQuantity } from '../terminal/text.js'
import { driftText } from '../verify/drift.js'
import type { Probe } from './probe.js'
import type { LocalCheck } from './settings.js'

const STYLES: Readonly<Record<string, Style>> = {
  ok: 'green',
  warn: 'yellow',
  limited: 'yellow',
  drift: 'yellow',
  skipped: 'yellow',
  failed: 'red',
}

export const doctorLines = (
  checks: readonly LocalCheck[],
  settings: readonly SettingInUse[],
  probes: readonly Probe[],
): readonly AnswerLine[] => {
  const asked = `  one request to each of ${formatQuantity(probes.length, 'endpoint')}`
  return [
    [['This machine', 'bold']],
    ...checks.flatMap(checkLines),
    '',
    ...settingLines(settings),
    ...(probes.length === 0
      ? []
      : [...titledPart('The provider', [asked, fitTable(PROBE_COLUMNS, probes)]), ...causeLines(probes)]),
    '',
    [describeVerdict(checks, probes)],
  ]
}

/** Problems that are named at the end. */
const MAX_NAMED = 8

/** What works, in a sentence. */
export const describeVerdict = (checks: readonly LocalCheck[], probes: readonly Probe[]): TextSpan => {
  const named = [...checks, ...probes.map(({ endpoint, result }) => ({ what: endpoint, result }))]
  const list = (...wanted: readonly string[]) =>
    named.filter(({ result }) => wanted.includes(result)).map(({ what }) => what)
  const [broken, changed] = [list('failed', 'skipped'), list('drift').length]
  const more = broken.length > MAX_NAMED ? `, and ${broken.length - MAX_NAMED} more` : ''
  if (broken.length > 0)
    return [
      `${formatQuantity(broken.length, 'problem')} found: ${broken.slice(0, MAX_NAMED).join(', ')}${more}.`,
      'red',
    ]
  if (changed > 0)
    return [
      `Everything works, but the answers of ${formatQuantity(changed, 'endpoint')} have changed.`,
      'yellow',
    ]
  return list('limited').length > 0
    ? ['Everything works, but the provider limits the rate.', 'yellow']
    : ['Everything works.', 'green']
}

const checkLines = ({ what, result, found, place }: LocalCheck): readonly AnswerLine[] => {
  const [head = '', ...others] = found.split('\n')
  const mark = result === 'ok' ? '' : `${result}: `
  const where = place === undefined ? '' : ` in ${place}`
  return [
    [[`  ${mark}`, STYLES[result]], [`${what}${where}: ${clean(head)}`]],
    ...others.map((line) => `    ${clean(line)}`),
  ]
}

/** Endpoints of several streams may have the same name. */
const PROBE_COLUMNS: readonly TextColumn<Probe>[] = [
  { title: 'endpoint', cell: ({ endpoint }) => endpoint },
  { title: 'stream', drop: 4, cell: ({ stream }) => stream },
  { title: 'result', cell: ({ result }) => result, style: ({ result }) => STYLES[result] },
  {
    title: 'status',
    drop: 3,
    align: 'right',
    cell: ({ status }) => (status === undefined ? '-' : String(status)),
  },
  {
    title: 'time',
    drop: 5,
    align: 'right',
    cell: ({ ms }) => (ms === undefined ? '-' : `${formatCount(ms)} ms`),
  },
  {
    title: 'size',
    drop: 2,
    align: 'right',
    cell: ({ bytes: size }) => (size === undefined ? '-' : formatBytes(size)),
  },
  {
    title: 'request',
    drop: 1,
    cell: ({ method, host, path }) => `${method} ${host} ${path}`,
    style: () => 'dim',
  },
]

const listDetails = ({ reason, advice, drift = [] }: Probe): readonly string[] => [
  ...drift.map((one) => driftText(one)),
  ...(reason === undefined ? [] : [clean(reason)]),
  ...(advice === undefined ? [] : [`do: ${advice}`]),
]

const causeLines = (probes: readonly Probe[]): readonly AnswerLine[] => {
  const problems = probes.filter(({ result }) => result !== 'ok')
  return [
    ...groupBy(problems, (probe) => JSON.stringify([probe.result, ...listDetails(probe)])).values(),
  ].flatMap((group) => {
    const [first] = group as [Probe, ...Probe[]]
    const list = (name: 'endpoint' | 'stream'): string =>
      [...new Set(group.map((probe) => probe[name]))].join(', ')
    const title: TextSpan = [`${list('endpoint')} ${first.result} (${list('stream')})`, STYLES[first.result]]
    return ['', [title], ...listDetails(first).map((detail) => `  ${detail}`)]
  })
}

type SettingInUse = ReturnType<typeof listSettings>[number]

/**
 * All settings that have a value, and where it comes from: `loaded` are those of file, environment and
 * options. Confidential values are not shown.
 */
export const listSettings = (
  settings: Settings,
  { loaded, origins }: { readonly loaded: Settings; readonly origins: ReadonlyMap<string, string> },
) => {
  const before = new Map(flattenSettings(loaded))
  const redact = createRedactor(settings)
  return flattenSettings(settings)
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => ({
      name,
      value: isConfidential(name.replace(/\..*/, ''), value)
        ? '(not shown)'
        : typeof value === 'string'
          ? value
          : redact(JSON.stringify(value)),
      /** The file, variable or option that sets it; `default` or `simulator`. */
      from:
        before.get(name) === value
          ? (origins.get(name)?.replace(`${name} in `, '') ?? 'default')
          : 'simulator',
    }))
}

export const settingLines = (settings: readonly SettingInUse[]): readonly AnswerLine[] => {
  const own = settings.flatMap(({ name, from, value }) =>
    from === 'default' ? [] : [[name, from, value].map(clean)],
  )
  const defaults = settings
    .filter(({ from }) => from === 'default')
    .map(({ name, value }) => `${name} ${value}`)
  return [
    [['Settings', 'bold']],
    ...(own.length === 0
      ? []
      : [fitTable(columnsOf({ setting: undefined, from: undefined, value: 1 }, 3), own)]),
    ...(defaults.length === 0 ? [] : [`default: ${defaults.join(', ')}`]),
  ]
}
