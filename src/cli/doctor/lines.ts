import { driftText } from '../drift.js'
import { formatBytes, formatCount, formatQuantity } from '../format.js'
import { type Column, tableOf } from '../table.js'
import type { Line, Style } from '../terminal.js'
import { clean, cut, wrap } from '../text.js'
import type { Canary } from './canary.js'
import type { Check } from './local.js'

const STYLES: Readonly<Record<string, Style>> = { ok: 'green', warn: 'yellow', drift: 'yellow', unasked: 'yellow', failed: 'red' }

/** Formats the results for people: this machine, a table of endpoints, and for each problem the cause and what to do. */
export const doctorLines = (
  { checks, probes }: { readonly checks: readonly Check[]; readonly probes: readonly Canary[] },
  columns: number,
): readonly Line[] => [
  [['This machine', 'bold']],
  ...checks.flatMap((check) => checkLines(check, columns)),
  [],
  [['The provider', 'bold'], [` (one request to each of ${formatQuantity(probes.length, 'endpoint')})`]],
  ...tableOf(columnsFor(columns, probes), probes),
  ...probes.flatMap((probe) => troubleLines(probe, columns)),
  [],
  verdictOf(checks, probes),
]

const checkLines = ({ what, result, found }: Check, columns: number): readonly Line[] => {
  const [first = '', ...more] = found.split('\n').flatMap((line) => wrap(clean(line), columns - 4))
  return [
    [['  '], [result === 'ok' ? '' : `${result}: `, STYLES[result]], [`${what}: ${first}`]],
    ...more.map((line): Line => [[`    ${line}`]]),
  ]
}

const columnsFor = (columns: number, probes: readonly Canary[]): readonly Column<Canary>[] => {
  const widest = Math.max(...probes.map(({ endpoint }) => endpoint.length), 8)
  const room = Math.max(12, columns - widest - 2 * 6 - 'unasked'.length - 'status'.length - 9 - 8)
  return [
    { title: 'endpoint', align: 'left', cell: ({ endpoint }) => endpoint },
    { title: 'result', align: 'left', cell: ({ result }) => result, style: ({ result }) => STYLES[result] },
    { title: 'status', align: 'right', cell: ({ status }) => (status === undefined ? '-' : String(status)) },
    { title: 'time', align: 'right', cell: ({ ms }) => (ms === undefined ? '-' : `${formatCount(ms)} ms`) },
    { title: 'size', align: 'right', cell: ({ bytes: size }) => (size === undefined ? '-' : formatBytes(size)) },
    { title: 'request', align: 'left', cell: ({ method, host, path }) => cut(`${method} ${host} ${path}`, room), style: () => 'dim' },
  ]
}

const troubleLines = (probe: Canary, columns: number): readonly Line[] => {
  const { endpoint, stream, result, reason, advice, drift = [] } = probe
  if (result === 'ok') return []
  const details = [
    ...drift.map((one) => driftText(one)),
    ...(reason === undefined ? [] : [clean(reason)]),
    ...(advice === undefined ? [] : [`do: ${advice}`]),
  ]
  return [
    [],
    [
      [`${endpoint} ${result}`, STYLES[result]],
      [` (${stream})`, 'dim'],
    ],
    ...details.flatMap((detail) => wrap(`  ${detail}`, columns)).map((line): Line => [[line]]),
  ]
}

const verdictOf = (checks: readonly Check[], probes: readonly Canary[]): Line => {
  const broken = [...checks, ...probes].filter(({ result }) => result === 'failed' || result === 'unasked').length
  const drifted = probes.filter(({ result }) => result === 'drift').length
  if (broken > 0) return [[`${formatQuantity(broken, 'problem')} found.`, 'red']]
  if (drifted > 0) return [[`Everything works, but the answers of ${formatQuantity(drifted, 'endpoint')} have changed.`, 'yellow']]
  return [['Everything works.', 'green']]
}
