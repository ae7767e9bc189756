import { defer, finalize, map, takeUntil, timer, toArray } from 'rxjs'
import { createRedirect } from '../../http/redirects.js'
import { openConnections } from '../../http/undici.js'
import { createRedactor } from '../../model/redact.js'
import type { Command } from '../dependencies.js'
import { driftText } from '../drift.js'
import { type ProviderChoice, resolveSettings, withProvider } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { formatBytes, formatCount, formatQuantity } from '../terminal/format.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, renderTable, type Style, type TextColumn, type TextLine } from '../terminal/terminal.js'
import { clean, cut, wrap } from '../terminal/text.js'
import { type LocalCheck, localChecks } from './local.js'
import type { Probe } from './probe.js'
import { probeEndpoints } from './probes.js'

export interface DoctorFlags extends ProviderChoice {
  readonly out?: string | undefined
  readonly json?: boolean
}

/** The time limit of all probes together. */
const MAX_DOCTOR_MS = 60_000

/** 1 if something does not work, 3 if everything works but answers have changed. */
const chooseExitCode = (checks: readonly LocalCheck[], probes: readonly Probe[]): number => {
  const results = [...checks, ...probes].map(({ result }) => result)
  if (results.includes('failed') || results.includes('unasked')) return 1
  return results.includes('drift') ? 3 : 0
}

/** Checks this machine, sends one request to each endpoint, and prints the results; emits the exit code. */
export const doctorCommand: Command<DoctorFlags> = ({ json, ...choice }, io, dependencies) =>
  defer(() =>
    withProvider(choice, { settings: resolveSettings(choice, io, dependencies), dependencies }, ({ settings }) => {
      const { streams, optionalPackages: optional } = dependencies
      const checks = localChecks({ settings, streams, optional })
      const clock = (): number => io.scheduler.now()
      const { send: transport, close } = openConnections({ redirect: createRedirect(settings) })
      const wanted = streams.filter(({ phase }) => settings.fetchOhlcv || phase !== 'candles')
      const context = { settings, transport, clock, redact: createRedactor(settings), asOf: choice.asOf ?? clock() }
      return probeEndpoints(wanted, context).pipe(
        takeUntil(timer(MAX_DOCTOR_MS, io.scheduler)),
        toArray(),
        map((probes) => {
          const missing = new Set(wanted.flatMap(({ endpoints }) => endpoints)).size - probes.length
          const late: readonly LocalCheck[] =
            missing > 0
              ? [{ what: 'time', result: 'failed', found: `${missing} endpoints were not reached within ${MAX_DOCTOR_MS / 1_000} s` }]
              : []
          return { checks: [...checks, ...late], probes }
        }),
        finalize(close),
      )
    }),
  ).pipe(
    untilSignal(io.signal$),
    map((found) => {
      if (typeof found === 'string') return toExitCode(found)
      const { checks, probes } = found
      const code = chooseExitCode(checks, probes)
      if (json) printJson({ ok: code === 0, checks, calls: probes }, io.stdout)
      else printLines(doctorLines(found, readSize(io.stdout).columns), io.stdout)
      return code
    }),
  )

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
