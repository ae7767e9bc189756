import {
  type CandlestickData,
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  HistogramSeries,
  type IChartApi,
  type SeriesMarker,
} from 'lightweight-charts'
import type { CandlesAnswer, StockEvent } from '../../api/stock.js'
import { formatDay, formatLarge, formatNumber } from './format.js'
import { readColour } from './theme.js'

/** What the chart shows. */
export interface ChartContent {
  readonly candles: CandlesAnswer
  /** Newest first. */
  readonly events: readonly StockEvent[]
  /** Such as `1Y`. */
  readonly range: string
  /** The day that the reader has chosen. */
  readonly day: string | undefined
}

export interface ChartCallbacks {
  /** The session under the pointer, with its events; undefined outside. */
  readonly hover: (session: HoveredSession | undefined) => void
  readonly choose: (day: string) => void
}

export interface HoveredSession {
  readonly index: number
  readonly events: readonly StockEvent[]
}

export interface PriceChart {
  readonly show: (content: ChartContent) => void
  readonly remove: () => void
}

/** Months of each range; all days without one. */
const MONTHS: Readonly<Record<string, number>> = { '1M': 1, '6M': 6, '1Y': 12, '5Y': 60 }
/** Filings and news would cover the candles of more sessions; splits, dividends and deals are always marked. */
const MAX_SESSIONS_WITH_ALL_MARKS = 300
const RARE_MARKS = ['D', 'S', 'B']

/** Draws candles, volume and the marks of events. The library would add a style element for its logo, which the page forbids: the page names it itself. */
export const createPriceChart = (element: HTMLElement, { hover, choose }: ChartCallbacks): PriceChart => {
  const chart = createChart(element, {
    autoSize: true,
    layout: { attributionLogo: false },
    localization: { locale: 'en-IN', timeFormatter: (time: unknown) => formatDay(String(time)) },
  })
  const candles = chart.addSeries(CandlestickSeries, {
    priceFormat: { type: 'custom', formatter: (price: number) => (price < 0 ? '' : formatNumber(price, 2)), minMove: 0.01 },
  })
  const volume = chart.addSeries(HistogramSeries, {
    ...{ priceScaleId: 'volume', lastValueVisible: false, priceLineVisible: false },
    priceFormat: { type: 'custom', formatter: (value: number) => formatLarge(value), minMove: 1 },
  })
  chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } })
  candles.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.22 } })
  const marks = createSeriesMarkers(candles, [])
  let shown: ChartContent | undefined
  let bySession: ReadonlyMap<string, readonly StockEvent[]> = new Map()
  const draw = (): void => {
    if (shown === undefined) return
    const colours = applyColours(chart)
    candles.applyOptions(candleColours(colours))
    candles.setData(toCandles(shown.candles))
    volume.setData(shown.candles.days.map((time, index) => ({ time, value: shown?.candles.volume[index] ?? 0, color: colours.faint })))
    drawMarks()
  }
  const drawMarks = (): void => {
    const visible = chart.timeScale().getVisibleLogicalRange()
    const sessions = visible === null ? 0 : visible.to - visible.from
    marks.setMarkers(toMarkers(bySession, { hasAll: sessions <= MAX_SESSIONS_WITH_ALL_MARKS, day: shown?.day }))
  }
  chart.timeScale().subscribeVisibleLogicalRangeChange(drawMarks)
  chart.subscribeCrosshairMove(({ time }) => {
    const index = time === undefined ? -1 : (shown?.candles.days.indexOf(String(time)) ?? -1)
    hover(index < 0 ? undefined : { index, events: bySession.get(String(time)) ?? [] })
  })
  chart.subscribeClick(({ time }) => {
    if (time !== undefined) choose(String(time))
  })
  addEventListener('themechange', draw)
  return {
    show: (content) => {
      const before = shown
      shown = content
      if (before?.candles !== content.candles || before.events !== content.events) {
        bySession = groupBySession(content)
        draw()
      }
      if (before?.range !== content.range || before.candles.days.length !== content.candles.days.length) showRange(chart, content)
      if (before?.day !== content.day) showDay(chart, content)
      drawMarks()
    },
    remove: () => {
      removeEventListener('themechange', draw)
      chart.remove()
    },
  }
}

interface Colours {
  readonly paper: string
  readonly soft: string
  readonly line: string
  readonly faint: string
  readonly up: string
  readonly down: string
}

const applyColours = (chart: IChartApi): Colours => {
  const [paper = '', soft = '', line = '', faint = '', up = '', down = ''] = [
    '--paper',
    '--soft',
    '--line',
    '--faint',
    '--up',
    '--down',
  ].map(readColour)
  chart.applyOptions({
    layout: { background: { type: ColorType.Solid, color: paper }, textColor: soft, fontSize: 12 },
    grid: { vertLines: { visible: false }, horzLines: { color: line } },
    rightPriceScale: { borderVisible: false },
    timeScale: { borderColor: line, rightOffset: 2, minBarSpacing: 0.02 },
    crosshair: { vertLine: { color: soft, labelBackgroundColor: soft }, horzLine: { color: soft, labelBackgroundColor: soft } },
  })
  return { paper, soft, line, faint, up, down }
}

const candleColours = ({ up, down }: Colours) => ({
  ...{ upColor: up, borderUpColor: up, wickUpColor: up },
  ...{ downColor: down, borderDownColor: down, wickDownColor: down },
})

const toCandles = ({ days, open, high, low, close }: CandlesAnswer): CandlestickData[] =>
  days.map((time, index) => ({ time, open: open[index] ?? 0, high: high[index] ?? 0, low: low[index] ?? 0, close: close[index] ?? 0 }))

/** The first session from a day on: what comes on a holiday moves the price of the next session. Undefined if it lies ahead. */
const findSession = (days: readonly string[], day: string): string | undefined => {
  let [from, to] = [0, days.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((days[middle] as string) < day) from = middle + 1
    else to = middle
  }
  return days[from]
}

const groupBySession = ({ candles: { days }, events }: ChartContent): ReadonlyMap<string, readonly StockEvent[]> => {
  const groups = new Map<string, StockEvent[]>()
  const first = days[0] ?? ''
  for (const event of events) {
    const session = event.day < first ? undefined : findSession(days, event.day)
    if (session !== undefined) groups.set(session, [...(groups.get(session) ?? []), event])
  }
  return groups
}

/** One mark for each session: the letters of its events. */
const toMarkers = (
  sessions: ReadonlyMap<string, readonly StockEvent[]>,
  { hasAll, day }: { readonly hasAll: boolean; readonly day: string | undefined },
): SeriesMarker<string>[] => {
  const [accent, soft] = [readColour('--accent'), readColour('--soft')]
  return [...sessions]
    .flatMap(([time, events]): SeriesMarker<string>[] => {
      const letters = [...new Set(events.map(({ mark }) => mark))].filter((mark) => hasAll || RARE_MARKS.includes(mark)).sort()
      if (letters.length === 0) return []
      const isRare = letters.some((mark) => RARE_MARKS.includes(mark))
      return [
        {
          time,
          position: 'aboveBar',
          shape: 'circle',
          size: time === day ? 1 : isRare ? 0.4 : 0,
          color: isRare || time === day ? accent : soft,
          text: letters.join(''),
        },
      ]
    })
    .sort((one, other) => (one.time < other.time ? -1 : 1))
}

const showRange = (chart: IChartApi, { candles: { days }, range }: ChartContent): void => {
  const [first, last] = [days[0], days.at(-1)]
  const months = MONTHS[range]
  if (first === undefined || last === undefined) return
  if (months === undefined) {
    chart.timeScale().fitContent()
    return
  }
  const start = new Date(`${last}T00:00:00Z`)
  start.setUTCMonth(start.getUTCMonth() - months)
  const from = findSession(days, start.toISOString().slice(0, 10)) ?? first
  chart.timeScale().setVisibleLogicalRange({ from: days.indexOf(from) - 0.5, to: days.length + 1.5 })
}

/** Moves a chosen day into view. */
const showDay = (chart: IChartApi, { candles: { days }, day }: ChartContent): void => {
  const session = day === undefined ? undefined : findSession(days, day)
  const visible = chart.timeScale().getVisibleLogicalRange()
  if (session === undefined || visible === null) return
  const index = days.indexOf(session)
  if (index >= visible.from && index <= visible.to) return
  const half = (visible.to - visible.from) / 2
  chart.timeScale().setVisibleLogicalRange({ from: index - half, to: index + half })
}
