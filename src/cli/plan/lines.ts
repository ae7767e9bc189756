import type { Settings } from '../../model/settings.js'
import { formatBytes, formatCount, formatDuration, formatQuantity } from '../format.js'
import { groupByPhase } from '../phases.js'
import { measureWidest, renderTable, type TextColumn } from '../table.js'
import type { Style, TextLine } from '../terminal.js'
import { clean, cut, wrap } from '../text.js'
import { type Bounds, sumBounds } from './bounds.js'
import type { Forecast, StreamForecast } from './forecast.js'
import { forecastHosts, type HostForecast } from './hosts.js'
import { explainForecast } from './notes.js'

export interface PlanContext {
  readonly settings: Settings
  readonly columns: number
  /** Free bytes at the output folder, if the system reports them. */
  readonly free: number | undefined
}

/** Formats a plan for people: each stream, each service, and how the figures are computed. */
export const formatPlan = (forecast: Forecast, { settings, columns, free }: PlanContext): readonly TextLine[] => {
  const wrapped = (text: string): readonly TextLine[] => wrap(clean(text), columns).map((line): TextLine => [[line]])
  const { finishedBefore } = forecast.resume
  if (finishedBefore !== undefined) {
    const upToDate = `Up to date: ${settings.out} is complete since ${formatIndianMinute(Date.parse(finishedBefore))}, all files present.`
    return [...wrapped(upToDate), ...wrapped('A run would send no request. For a run from scratch: plan --fresh.')]
  }
  return [
    ...wrapped(`Plan of a run into ${settings.out} as of ${formatIndianMinute(forecast.asOf)}. No request was sent.`),
    [],
    ...streamTable(forecast, columns),
    [],
    ...renderTable(hostColumns(columns), forecastHosts(forecast, settings)),
    [],
    ...explainForecast(forecast, free).flatMap(wrapped),
  ]
}

/** `2026-02-12 20:00 in India` */
const formatIndianMinute = (instant: number): string =>
  `${new Date(instant + IST_OFFSET_MS).toISOString().slice(0, 16).replace('T', ' ')} in India`

const IST_OFFSET_MS = 5.5 * 3_600_000

interface PlanRow {
  readonly name: string
  readonly requests: string
  readonly services: string
  readonly workers: string
  readonly time: string
  readonly disk: string
  readonly kind: 'stream' | 'title' | 'total'
}

const streamTable = (forecast: Forecast, columns: number): readonly TextLine[] => {
  const { streams } = forecast
  const rows = groupByPhase(streams.map(({ stream }) => stream)).flatMap(({ title, members }): readonly PlanRow[] => [
    { name: title, kind: 'title', requests: '', services: '', workers: '', time: '', disk: '' },
    ...streams.filter(({ stream }) => members.includes(stream)).map(toStreamRow),
  ])
  const all = [...rows, toTotalRow(forecast)]
  const room = columns - measureWidest(renderTable(FIGURE_COLUMNS, all)) - 2
  const services: TextColumn<PlanRow> = {
    title: 'services',
    align: 'left',
    cell: (row) => cut(row.services, Math.max(8, room)),
    style: () => 'dim',
  }
  return renderTable([...FIGURE_COLUMNS, services], all)
}

const toStreamRow = ({ stream, demand, requests, workers, time, footprint }: StreamForecast): PlanRow => ({
  kind: 'stream',
  name: `  ${stream.name}`,
  requests: formatBounds(requests, formatCount),
  services: [...new Set([...demand.calls].filter(([, { most }]) => most > 0).map(([{ host }]) => host))].join(', '),
  workers: formatCount(workers),
  time: formatBounds(time, formatDuration),
  disk: footprint === undefined ? '?' : formatBytes(footprint.bytes),
})

const toTotalRow = ({ streams, time }: Forecast): PlanRow => ({
  kind: 'total',
  name: formatQuantity(streams.length, 'stream'),
  requests: formatBounds(sumBounds(streams.map(({ requests }) => requests)), formatCount),
  services: '',
  workers: '',
  time: formatBounds(time, formatDuration),
  disk: formatBytes(streams.reduce((total, { footprint }) => total + (footprint?.bytes ?? 0), 0)),
})

/** One text if both bounds read the same. */
const formatBounds = ({ least, most }: Bounds, textOf: (value: number) => string): string => {
  const [low, high] = [textOf(least), textOf(most)]
  return low === high ? low : `${low}-${high}`
}

const styleIfTotal = ({ kind }: PlanRow): Style | undefined => (kind === 'total' ? 'bold' : undefined)

const FIGURE_COLUMNS: readonly TextColumn<PlanRow>[] = [
  {
    title: 'stream',
    align: 'left',
    cell: ({ name }) => name,
    style: ({ kind }) => (kind === 'stream' ? 'cyan' : 'bold'),
  },
  { title: 'requests', align: 'right', cell: ({ requests }) => requests, style: styleIfTotal },
  { title: 'workers', align: 'right', cell: ({ workers }) => workers },
  { title: 'time', align: 'right', cell: ({ time }) => time, style: styleIfTotal },
  { title: 'disk', align: 'right', cell: ({ disk }) => disk, style: styleIfTotal },
]

const hostColumns = (columns: number): readonly TextColumn<HostForecast>[] => [
  { title: 'service', align: 'left', cell: ({ service }) => service },
  { title: 'requests', align: 'right', cell: ({ requests }) => formatBounds(requests, formatCount) },
  { title: 'address', align: 'left', cell: ({ at }) => (at === undefined ? 'not set' : cut(clean(at), columns - 32)), style: () => 'dim' },
]
