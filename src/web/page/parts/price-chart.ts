import {
  type CandlestickData,
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  type HistogramData,
  HistogramSeries,
  type IChartApi,
  LineSeries,
  PriceScaleMode,
  TickMarkType,
} from 'lightweight-charts'
import { formatDay, formatNumber } from '../../../model/format.js'
import type { CandlesAnswer, StockEvent } from '../../../show/answers.js'
import { findSession, groupBySession, toMarkers } from './chart-marks.js'
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
  /** The letters of the marks that are not shown. */
  readonly hidden: string
  /** Whether prices that differ by the same share are at the same distance. */
  readonly isLog: boolean
  /** Another stock or an index: both are shown as changes in percent. */
  readonly other?: CandlesAnswer | undefined
}

export interface ChartCallbacks {
  /** The session under the pointer, with its events; undefined outside. */
  readonly hover: (session: HoveredSession | undefined) => void
  readonly choose: (day: string) => void
  /** The first and the last candle in view. */
  readonly see: (first: number, last: number) => void
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
const RANGE_MONTHS: Readonly<Record<string, number>> = { '1M': 1, '6M': 6, '1Y': 12, '5Y': 60 }
/** `6 Nov` for a day on the time axis, where the library writes a bare `6`; null keeps its text. */
const nameDay = (time: unknown, kind: TickMarkType): string | null =>
  kind === TickMarkType.DayOfMonth ? formatDay(String(time)).slice(0, -5) : null

/**
 * Draws candles, volume and the marks of events. The library would add a style element for its logo, which
 * the page forbids: the page names it itself.
 */
export const createPriceChart = (
  element: HTMLElement,
  { hover, choose, see }: ChartCallbacks,
): PriceChart => {
  const chart = createChart(element, {
    autoSize: true,
    layout: { attributionLogo: false },
    timeScale: { tickMarkFormatter: nameDay },
    localization: { locale: 'en-IN', timeFormatter: (time: unknown) => formatDay(String(time)) },
  })
  const { candles, volume, averages, other } = addSeries(chart)
  const marks = createSeriesMarkers(candles, [])
  let shown: ChartContent | undefined
  let bySession: ReadonlyMap<string, readonly StockEvent[]> = new Map()
  const draw = (): void => {
    if (shown === undefined) return
    const colours = applyColours(chart)
    candles.applyOptions(candleColours(colours))
    candles.setData(toCandleData(shown.candles))
    volume.setData(toVolumeData(shown.candles, colours.faint))
    drawLines(averages, other, { shown, colours })
    candles.priceScale().applyOptions({ mode: chooseMode(shown) })
    drawMarks()
  }
  const drawMarks = (): void =>
    marks.setMarkers(toMarkers(bySession, { ...shown, ...readMarkOptions(chart) }))
  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
    drawMarks()
    const end = (shown?.candles.days.length ?? 0) - 1
    if (range !== null && end >= 0)
      see(Math.min(end, Math.max(0, Math.ceil(range.from))), Math.max(0, Math.min(end, Math.floor(range.to))))
  })
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
      if (DRAWN.some((part) => before?.[part] !== content[part])) {
        bySession = groupBySession(content.candles.days, content.events)
        draw()
      }
      if (before?.range !== content.range || before?.candles.days.length !== content.candles.days.length)
        showRange(chart, content, element.clientWidth)
      if (before?.day !== content.day) showDay(chart, content)
      drawMarks()
    },
    remove: () => {
      removeEventListener('themechange', draw)
      chart.remove()
    },
  }
}

/** What is drawn again when it changes. */
const DRAWN = ['candles', 'events', 'other', 'isLog'] as const

const chooseMode = ({ other, isLog }: ChartContent): PriceScaleMode =>
  other ? PriceScaleMode.Percentage : isLog ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal

const addSeries = (chart: IChartApi) => {
  const candles = chart.addSeries(CandlestickSeries, {
    priceFormat: {
      type: 'custom',
      formatter: (price: number) => (price < 0 ? '' : formatNumber(price, 2)),
      minMove: 0.01,
    },
  })
  const volume = chart.addSeries(HistogramSeries, {
    priceScaleId: 'volume',
    lastValueVisible: false,
    priceLineVisible: false,
    priceFormat: { type: 'custom', formatter: (value: number) => formatNumber(value), minMove: 1 },
  })
  chart.priceScale('volume').applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } })
  candles.priceScale().applyOptions({ scaleMargins: { top: 0.08, bottom: 0.22 } })
  const quiet = { lastValueVisible: false, priceLineVisible: false, crosshairMarkerVisible: false } as const
  const averages = [1, 2].map(() => chart.addSeries(LineSeries, { ...quiet, lineWidth: 1 }))
  const other = chart.addSeries(LineSeries, { ...quiet, lineWidth: 2 })
  return { candles, volume, averages, other }
}

type Line = ReturnType<typeof addSeries>['other']

/** The averages; or another instrument instead, because both are then shown as changes. */
const drawLines = (
  averages: readonly Line[],
  line: Line,
  { shown: { candles, other }, colours }: { readonly shown: ChartContent; readonly colours: Colours },
): void => {
  for (const [place, series] of averages.entries()) {
    series.applyOptions({ color: place === 0 ? colours.accent : colours.waiting })
    const { values = [] } = candles.averages[place] ?? {}
    series.setData(
      other
        ? []
        : values.flatMap((value, index) =>
            value === null ? [] : [{ time: candles.days[index] as string, value }],
          ),
    )
  }
  const { days = [], close = [] } = other ?? {}
  const first = candles.days[0] ?? ''
  line.applyOptions({ color: colours.accent })
  line.setData(days.flatMap((time, index) => (time < first ? [] : [{ time, value: close[index] ?? 0 }])))
}

const readMarkOptions = (chart: IChartApi) => {
  const scale = chart.timeScale()
  const range = scale.getVisibleLogicalRange()
  return {
    visible: range ? range.to - range.from : 0,
    width: scale.width(),
    accent: readColour('--accent'),
    soft: readColour('--soft'),
  }
}

const COLOURS = ['paper', 'soft', 'line', 'faint', 'accent', 'waiting', 'up', 'down'] as const
type Colours = Readonly<Record<(typeof COLOURS)[number], string>>

const applyColours = (chart: IChartApi): Colours => {
  const colours = Object.fromEntries(COLOURS.map((name) => [name, readColour(`--${name}`)])) as Colours
  const { paper, soft, line } = colours
  chart.applyOptions({
    layout: { background: { type: ColorType.Solid, color: paper }, textColor: soft, fontSize: 12 },
    grid: { vertLines: { visible: false }, horzLines: { color: line } },
    rightPriceScale: { borderVisible: false },
    timeScale: { borderColor: line, rightOffset: 2, minBarSpacing: 0.02 },
    crosshair: {
      vertLine: { color: soft, labelBackgroundColor: soft },
      horzLine: { color: soft, labelBackgroundColor: soft },
    },
  })
  return colours
}

const candleColours = ({ up, down }: Colours) => ({
  upColor: up,
  borderUpColor: up,
  wickUpColor: up,
  downColor: down,
  borderDownColor: down,
  wickDownColor: down,
})

const toCandleData = ({ days, open, high, low, close }: CandlesAnswer): CandlestickData[] =>
  days.map((time, index) => ({
    time,
    open: open[index] ?? 0,
    high: high[index] ?? 0,
    low: low[index] ?? 0,
    close: close[index] ?? 0,
  }))

const toVolumeData = ({ days, volume }: CandlesAnswer, color: string): HistogramData[] =>
  days.map((time, index) => ({ time, value: volume[index] ?? 0, color }))

/** Half a label of the time axis, which would be cut at the ends of it. */
const LABEL_PIXELS = 20

const showRange = (chart: IChartApi, { candles: { days }, range }: ChartContent, width: number): void => {
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return
  const months = RANGE_MONTHS[range]
  const start = new Date(`${last}T00:00:00Z`)
  start.setUTCMonth(start.getUTCMonth() - (months ?? 0))
  const from =
    months === undefined ? 0 : days.indexOf(findSession(days, start.toISOString().slice(0, 10)) ?? first)
  const room = (LABEL_PIXELS * (days.length - from)) / Math.max(1, width)
  chart.timeScale().setVisibleLogicalRange({
    from: from - (months === undefined ? room : 0.5),
    to: days.length + Math.max(1.5, room),
  })
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
