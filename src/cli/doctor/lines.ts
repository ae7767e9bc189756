import { driftText } from '../drift.js'
import { formatBytes, formatCount, formatQuantity } from '../format.js'
import { renderTable, type TextColumn } from '../table.js'
import type { Style, TextLine } from '../terminal.js'
import { clean, cut, wrap } from '../text.js'
import type { LocalCheck } from './local.js'
import type { Probe } from './probe.js'

const STYLES: Readonly<Record<string, Style>> = { ok: 'green', warn: 'yellow', drift: 'yellow', unasked: 'yellow', failed: 'red' }

/** Formats the results for people: this machine, a table of endpoints, and for each problem the cause and what to do. */
export const doctorLines = (
  { checks, probes }: { readonly checks: readonly LocalCheck[]; readonly probes: readonly Probe[] },
  columns: number,
): readonly TextLine[] => [
  [['This machine', 'bold']],
  ...checks.flatMap((check) => formatCheck(check, columns)),
  [],
  [['The provider', 'bold'], [` (one request to each of ${formatQuantity(probes.length, 'endpoint')})`]],
  ...renderTable(createProbeColumns(columns, probes), probes),
  ...probes.flatMap((probe) => formatProblem(probe, columns)),
  [],
  summarizeChecks(checks, probes),
]

const formatCheck = ({ what, result, found }: LocalCheck, columns: number): readonly TextLine[] => {
  const [first = '', ...more] = found.split('\n').flatMap((line) => wrap(clean(line), columns - 4))
  return [
    [['  '], [result === 'ok' ? '' : `${result}: `, STYLES[result]], [`${what}: ${first}`]],
    ...more.map((line): TextLine => [[`    ${line}`]]),
  ]
}

const createProbeColumns = (columns: number, probes: readonly Probe[]): readonly TextColumn<Probe>[] => {
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

const formatProblem = (probe: Probe, columns: number): readonly TextLine[] => {
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
    ...details.flatMap((detail) => wrap(`  ${detail}`, columns)).map((line): TextLine => [[line]]),
  ]
}

const summarizeChecks = (checks: readonly LocalCheck[], probes: readonly Probe[]): TextLine => {
  const broken = [...checks, ...probes].filter(({ result }) => result === 'failed' || result === 'unasked').length
  const drifted = probes.filter(({ result }) => result === 'drift').length
  if (broken > 0) return [[`${formatQuantity(broken, 'problem')} found.`, 'red']]
  if (drifted > 0) return [[`Everything works, but the answers of ${formatQuantity(drifted, 'endpoint')} have changed.`, 'yellow']]
  return [['Everything works.', 'green']]
}
