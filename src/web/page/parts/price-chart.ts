import {
  type CandlestickData,
  CandlestickSeries,
  ColorType,
  createChart,
  createSeriesMarkers,
  HistogramSeries,
  type IChartApi,
  type LineData,
  LineSeries,
  PriceScaleMode,
  TickMarkType,
} from 'lightweight-charts'
import { formatDay, formatNumber } from '../../../model/format.js'
import { addMonths } from '../../../model/trading-day.js'
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
  readonly see: (period: SeenPeriod) => void
}

export interface HoveredSession {
  /** A day of the other instrument if only that has a candle there. */
  readonly day: string
  readonly events: readonly StockEvent[]
}

/** The days of the first and the last candle in view, from which the axis counts percents, too. */
export interface SeenPeriod {
  readonly from: string | undefined
  readonly to: string | undefined
  /** The first day in view of the other instrument, unless both begin at the same place. */
  readonly otherFrom: string | undefined
}

export type PriceChart = ReturnType<typeof createPriceChart>

const RANGE_MONTHS: Readonly<Record<string, number>> = { '1M': 1, '6M': 6, '1Y': 12, '5Y': 60 }
/** More than any instrument has. */
const ALL_MONTHS = 1_200
/** `6 Nov` for a day on the time axis, where the library writes a bare `6`; null keeps its text. */
const nameDay = (time: unknown, kind: TickMarkType): string | null =>
  kind === TickMarkType.DayOfMonth ? formatDay(String(time)).slice(0, -5) : null

/**
 * Draws candles, volume and the marks of events. The library would add a style element for its logo, which
 * the page forbids: the page names it itself.
 */
export const createPriceChart = (element: HTMLElement, { hover, choose, see }: ChartCallbacks) => {
  const chart = createChart(element, {
    autoSize: true,
    layout: { attributionLogo: false },
    // The labels of prices change their width, and with it the days in view.
    timeScale: { tickMarkFormatter: nameDay, lockVisibleTimeRangeOnResize: true },
    localization: {
      locale: 'en-IN',
      timeFormatter: (time: unknown) => `${shown?.candles.weeks ? 'week to ' : ''}${formatDay(String(time))}`,
    },
  })
  const series = addSeries(chart)
  const marks = createSeriesMarkers(series.candles, [])
  let shown: ChartContent | undefined
  let bySession: ReadonlyMap<string, readonly StockEvent[]> = new Map()
  const draw = (): void => {
    if (shown === undefined) return
    drawSeries(chart, series, shown)
    look()
  }
  const look = (): void => {
    if (shown === undefined) return
    marks.setMarkers(toMarkers(bySession, { ...shown, ...readMarkOptions(chart, shown) }))
    see(findSeen(chart, series, shown))
  }
  chart.timeScale().subscribeVisibleLogicalRangeChange(look)
  const dayAt = (time: unknown): string | undefined =>
    findDay(shown?.candles, time) ?? findDay(shown?.other, time)
  chart.subscribeCrosshairMove(({ time }) => {
    const day = dayAt(time)
    hover(day ? { day, events: bySession.get(String(time)) ?? [] } : undefined)
  })
  chart.subscribeClick(({ time }) => {
    const day = dayAt(time)
    if (day) choose(day)
  })
  addEventListener('themechange', draw)
  return {
    show: (content: ChartContent): void => {
      const before = shown
      shown = content
      if (DRAWN.some((part) => before?.[part] !== content[part])) {
        bySession = groupBySession(timesOf(content.candles), content.events)
        draw()
      }
      moveView(chart, content, { before, width: element.clientWidth })
      look()
    },
    remove: () => {
      removeEventListener('themechange', draw)
      chart.remove()
    },
  }
}

/** What is drawn again when it changes. */
const DRAWN = ['candles', 'events', 'other', 'isLog'] as const

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

/** Where candles are on the time axis: weeks of two instruments may end on different sessions. */
const timesOf = ({ days, weeks = days }: CandlesAnswer): readonly string[] => weeks

const findDay = (candles: CandlesAnswer | undefined, time: unknown): string | undefined =>
  candles?.days[timesOf(candles).indexOf(String(time))]

type Series = ReturnType<typeof addSeries>

/** Beside the candles the averages; or another instrument instead, because both are then shown as changes. */
const drawSeries = (
  chart: IChartApi,
  { candles, volume, averages, other: line }: Series,
  { candles: shown, other, isLog }: ChartContent,
): void => {
  const [up, down] = [readColour('--up'), readColour('--down')]
  applyColours(chart)
  candles.applyOptions({
    upColor: up,
    borderUpColor: up,
    wickUpColor: up,
    downColor: down,
    borderDownColor: down,
    wickDownColor: down,
  })
  candles.setData(toCandleData(shown))
  volume.applyOptions({ color: readColour('--faint') })
  volume.setData(toLine(shown, shown.volume))
  for (const [place, series] of averages.entries()) {
    series.applyOptions({ color: readColour(place === 0 ? '--accent' : '--waiting') })
    series.setData(other ? [] : toLine(shown, shown.averages[place]?.values ?? []))
  }
  line.applyOptions({ color: readColour('--accent') })
  line.setData(other ? toLine(other, other.close, timesOf(shown)[0]) : [])
  const own = isLog ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal
  candles.priceScale().applyOptions({ mode: other ? PriceScaleMode.Percentage : own })
}

const readMarkOptions = (chart: IChartApi, { candles, day }: ChartContent) => {
  const scale = chart.timeScale()
  const range = scale.getVisibleLogicalRange()
  return {
    visible: range ? range.to - range.from : 0,
    width: scale.width(),
    day: day && findSession(timesOf(candles), day),
    accent: readColour('--accent'),
    soft: readColour('--soft'),
  }
}

const findSeen = (chart: IChartApi, series: Series, { candles, other }: ChartContent): SeenPeriod => {
  const range = chart.timeScale().getVisibleLogicalRange()
  const [own, another] = [series.candles, series.other].map((one) => range && one.barsInLogicalRange(range))
  return {
    from: findDay(candles, own?.from),
    to: findDay(candles, own?.to),
    otherFrom: own?.from === another?.from ? undefined : findDay(other, another?.from),
  }
}

const applyColours = (chart: IChartApi): void => {
  const [soft, line] = [readColour('--soft'), readColour('--line')]
  const hair = { color: soft, labelBackgroundColor: soft }
  chart.applyOptions({
    layout: {
      background: { type: ColorType.Solid, color: readColour('--paper') },
      textColor: soft,
      fontSize: 12,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: line } },
    rightPriceScale: { borderVisible: false },
    timeScale: { borderColor: line, rightOffset: 2, minBarSpacing: 0.02 },
    crosshair: { vertLine: hair, horzLine: hair },
  })
}

const toCandleData = (candles: CandlesAnswer): CandlestickData[] =>
  timesOf(candles).map((time, index) => ({
    time,
    open: candles.open[index] ?? 0,
    high: candles.high[index] ?? 0,
    low: candles.low[index] ?? 0,
    close: candles.close[index] ?? 0,
  }))

const toLine = (candles: CandlesAnswer, values: readonly (number | null)[], from = ''): LineData[] =>
  timesOf(candles).flatMap((time, index) => {
    const value = values[index] ?? null
    return value === null || time < from ? [] : [{ time, value }]
  })

/** Half a label of the time axis, which would be cut at the ends of it. */
const LABEL_PIXELS = 20

/**
 * Shows the chosen range if it is another one, or the days are, and a chosen day that is out of view. Places
 * come from the time axis, which has the days of both instruments.
 */
const moveView = (
  chart: IChartApi,
  { candles, range, day, other }: ChartContent,
  { before, width }: { readonly before: ChartContent | undefined; readonly width: number },
): void => {
  const scale = chart.timeScale()
  const times = timesOf(candles)
  const [last, newest] = [candles.days.at(-1), times.at(-1)]
  if (!last || !newest) return
  const find = (from: string): number => scale.timeToIndex(findSession(times, from) ?? newest) ?? 0
  const isSame =
    before?.range === range && before.other === other && before.candles.days.length === times.length
  if (isSame && before.day === day) return
  const [from, to] = [find(addMonths(last, -(RANGE_MONTHS[range] ?? ALL_MONTHS))), find(newest) + 1]
  const room = (LABEL_PIXELS * (to - from)) / Math.max(1, width)
  // Rounding must not bring the bar before into view, from which the axis would count percents.
  const chosen = { from: from === 0 ? -room : from + 0.05, to: to + Math.max(1.5, room) }
  const view = (isSame && scale.getVisibleLogicalRange()) || chosen
  const place = day === undefined ? view.from : find(day)
  const half = (view.to - view.from) / 2
  const isInView = place >= view.from && place <= view.to
  scale.setVisibleLogicalRange(isInView ? view : { from: place - half, to: place + half })
}
