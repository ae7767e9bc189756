import { type Figure, isMet, median } from '../harness/figure.js'
import type { ScalePoint } from './results.js'

/** A table in Markdown. */
export const markdownTable = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

/** A table of figures with their goals, and with earlier figures if there are any. */
export const formatTable = (figures: readonly Figure[], before: readonly Figure[] = []): string => {
  const hasBefore = before.length > 0
  const machines = listMachines(figures)
  const rows = figures.map((figure) => {
    const earlier = before.find(({ name }) => name === figure.name)
    return [
      figure.name +
        (figure.remark === undefined ? '' : ` (${figure.remark})`) +
        MARKS.charAt(machines.indexOf(figure.machine) - 1),
      ...(hasBefore ? [earlier === undefined ? '' : formatValue(median(earlier.values), earlier.unit)] : []),
      formatValue(median(figure.values), figure.unit),
      formatSpread(figure),
      String(figure.values.length),
      figure.goal === undefined
        ? ''
        : `${figure.atLeast ? '≥' : '≤'} ${formatValue(figure.goal, figure.unit)}`,
      formatVerdict(figure),
    ]
  })
  return markdownTable(
    ['figure', ...(hasBefore ? ['before'] : []), 'median', 'min – max', 'runs', 'goal', 'verdict'],
    rows,
  )
}

const MARKS = '¹²³⁴⁵⁶⁷⁸⁹'

/** The machines of the figures, sorted by their number of figures. */
const listMachines = (figures: readonly Figure[]): readonly (string | undefined)[] => {
  const count = (machine: string | undefined): number =>
    figures.filter((figure) => figure.machine === machine).length
  return [...new Set(figures.map(({ machine }) => machine))].sort((one, other) => count(other) - count(one))
}

/** A sentence with the machines of the figures. */
export const formatMachines = (figures: readonly Figure[]): string => {
  const [most, ...others] = listMachines(figures)
  return [
    `Measured on ${most}`,
    ...others.map((machine, place) => `rows with ${MARKS.charAt(place)} on ${machine}`),
  ]
    .join('; ')
    .concat('.')
}

export const formatScaleTable = (points: readonly ScalePoint[]): string =>
  markdownTable(
    ['latency', 'stocks', 'wall', 'bound', 'wall ÷ bound', 'CPU', 'peak RSS', 'requests a second'],
    points.map(({ latencyMs, stocks, wallS, boundS, cpuS, peakRssMb, requests }) => [
      `${latencyMs} ms`,
      stocks.toLocaleString('en'),
      `${formatPlain(wallS)} s`,
      `${formatPlain(boundS)} s`,
      `${formatPlain(wallS / boundS)} ×`,
      `${formatPlain(cpuS)} s`,
      `${formatPlain(peakRssMb)} MB`,
      Math.round(requests / wallS).toLocaleString('en'),
    ]),
  )

/** A sentence with the maximum throughput of one process; empty without measurements. */
export const formatCapacity = (points: readonly ScalePoint[]): string => {
  const [most] = [...points].sort((one, other) => other.requests / other.wallS - one.requests / one.wallS)
  if (most === undefined) return ''
  const { stocks, latencyMs, requests, outputMb, wallS, cpuS } = most
  const rates = `${Math.round(requests / wallS).toLocaleString('en')} requests and ${formatPlain(outputMb / wallS)} MB of outputs a second`
  const where = `${stocks.toLocaleString('en')} stocks at ${latencyMs} ms`
  return `Maximum of one process: ${rates} (${where}), with ${formatPlain((cpuS / stocks) * 1_000)} ms of CPU per stock.`
}

const formatVerdict = (figure: Figure): string => {
  const met = isMet(figure)
  return met === undefined ? '' : met ? 'met' : 'missed'
}

const formatSpread = ({ values }: Figure): string =>
  values.length < 2 ? '' : `${formatPlain(Math.min(...values))} – ${formatPlain(Math.max(...values))}`

const formatValue = (value: number, unit: Figure['unit']): string => `${formatPlain(value)} ${unit}`

const formatPlain = (value: number): string => {
  if (Number.isInteger(value)) return value.toLocaleString('en')
  return Math.abs(value) >= 100
    ? value.toFixed(0)
    : Math.abs(value) >= 10
      ? value.toFixed(1)
      : value.toFixed(2)
}
