import type { Settings } from '../../model/settings.js'
import { formatBytes, formatCount, formatDuration, formatQuantity } from '../format.js'
import { byPhase } from '../phases.js'
import { type Column, tableOf, widestOf } from '../table.js'
import type { Line, Style } from '../terminal.js'
import { clean, cut, wrap } from '../text.js'
import type { Forecast, StreamForecast } from './forecast.js'
import { type HostForecast, hostsOf } from './hosts.js'
import { notesOf } from './notes.js'
import { type Span, sumOf } from './span.js'

export interface Printing {
  readonly settings: Settings
  readonly columns: number
  /** Free bytes at the output folder, if the system reports them. */
  readonly free: number | undefined
}

/** Formats a plan for people: each stream, each service, and how the figures are computed. */
export const planLines = (forecast: Forecast, { settings, columns, free }: Printing): readonly Line[] => {
  const wrapped = (text: string): readonly Line[] => wrap(clean(text), columns).map((line): Line => [[line]])
  const { finishedBefore } = forecast.resume
  if (finishedBefore !== undefined) {
    const upToDate = `Up to date: ${settings.out} is complete since ${minuteOf(Date.parse(finishedBefore))}, all files present.`
    return [...wrapped(upToDate), ...wrapped('A run would send no request. For a run from scratch: plan --fresh.')]
  }
  return [
    ...wrapped(`Plan of a run into ${settings.out} as of ${minuteOf(forecast.asOf)}. No request was sent.`),
    [],
    ...streamTable(forecast, columns),
    [],
    ...tableOf(hostColumns(columns), hostsOf(forecast, settings)),
    [],
    ...notesOf(forecast, free).flatMap(wrapped),
  ]
}

/** `2026-02-12 20:00 in India` */
const minuteOf = (instant: number): string => `${new Date(instant + INDIA_MS).toISOString().slice(0, 16).replace('T', ' ')} in India`

const INDIA_MS = 5.5 * 3_600_000

interface Row {
  readonly name: string
  readonly requests: string
  readonly services: string
  readonly workers: string
  readonly time: string
  readonly disk: string
  readonly kind: 'stream' | 'title' | 'total'
}

const streamTable = (forecast: Forecast, columns: number): readonly Line[] => {
  const { streams } = forecast
  const rows = byPhase(streams.map(({ stream }) => stream)).flatMap(({ title, members }): readonly Row[] => [
    { name: title, kind: 'title', requests: '', services: '', workers: '', time: '', disk: '' },
    ...streams.filter(({ stream }) => members.includes(stream)).map(rowOf),
  ])
  const all = [...rows, totalOf(forecast)]
  const room = columns - widestOf(tableOf(FIGURES, all)) - 2
  const services: Column<Row> = {
    title: 'services',
    align: 'left',
    cell: (row) => cut(row.services, Math.max(8, room)),
    style: () => 'dim',
  }
  return tableOf([...FIGURES, services], all)
}

const rowOf = ({ stream, demand, requests, workers, time, footprint }: StreamForecast): Row => ({
  kind: 'stream',
  name: `  ${stream.name}`,
  requests: spanText(requests, formatCount),
  services: [...new Set([...demand.calls].filter(([, { most }]) => most > 0).map(([{ host }]) => host))].join(', '),
  workers: formatCount(workers),
  time: spanText(time, formatDuration),
  disk: footprint === undefined ? '?' : formatBytes(footprint.bytes),
})

const totalOf = ({ streams, time }: Forecast): Row => ({
  kind: 'total',
  name: formatQuantity(streams.length, 'stream'),
  requests: spanText(sumOf(streams.map(({ requests }) => requests)), formatCount),
  services: '',
  workers: '',
  time: spanText(time, formatDuration),
  disk: formatBytes(streams.reduce((total, { footprint }) => total + (footprint?.bytes ?? 0), 0)),
})

/** One text if both bounds read the same. */
const spanText = ({ least, most }: Span, textOf: (value: number) => string): string => {
  const [low, high] = [textOf(least), textOf(most)]
  return low === high ? low : `${low}-${high}`
}

const inTotal = ({ kind }: Row): Style | undefined => (kind === 'total' ? 'bold' : undefined)

const FIGURES: readonly Column<Row>[] = [
  {
    title: 'stream',
    align: 'left',
    cell: ({ name }) => name,
    style: ({ kind }) => (kind === 'stream' ? 'cyan' : 'bold'),
  },
  { title: 'requests', align: 'right', cell: ({ requests }) => requests, style: inTotal },
  { title: 'workers', align: 'right', cell: ({ workers }) => workers },
  { title: 'time', align: 'right', cell: ({ time }) => time, style: inTotal },
  { title: 'disk', align: 'right', cell: ({ disk }) => disk, style: inTotal },
]

const hostColumns = (columns: number): readonly Column<HostForecast>[] => [
  { title: 'service', align: 'left', cell: ({ service }) => service },
  { title: 'requests', align: 'right', cell: ({ requests }) => spanText(requests, formatCount) },
  { title: 'address', align: 'left', cell: ({ at }) => (at === undefined ? 'not set' : cut(clean(at), columns - 32)), style: () => 'dim' },
]
