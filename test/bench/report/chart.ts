import type { ScalePoint } from './results.js'

const COLOURS = ['#1b6ca8', '#c8553d', '#3a7d44', '#7b4b94'] as const
const HEIGHT = 340
const PANEL = { width: 380, left: 56, right: 16, top: 44, bottom: 44 }

/** One curve of a panel; `least` is the optional dashed lower bound. */
interface Curve {
  readonly label: string
  readonly points: readonly { readonly stocks: number; readonly value: number; readonly least?: number }[]
}

interface Panel {
  readonly title: string
  readonly isLogarithmic: boolean
  readonly curves: readonly Curve[]
}

/** Wall time and peak memory by number of stocks, with one curve per latency. */
export const drawChart = (scale: readonly ScalePoint[]): string => {
  const curves = (
    read: (point: ScalePoint) => { readonly value: number; readonly least?: number },
  ): readonly Curve[] =>
    [...new Set(scale.map(({ latencyMs }) => latencyMs))].map((latency) => ({
      label: `${latency} ms`,
      points: scale
        .filter(({ latencyMs }) => latencyMs === latency)
        .map((point) => ({ stocks: point.stocks, ...read(point) })),
    }))
  const panels: readonly Panel[] = [
    {
      title: 'wall, seconds (dashed: the bound)',
      isLogarithmic: true,
      curves: curves(({ wallS, boundS }) => ({ value: wallS, least: boundS })),
    },
    {
      title: 'peak RSS, MB',
      isLogarithmic: false,
      curves: curves(({ peakRssMb }) => ({ value: peakRssMb })),
    },
  ]
  const width = PANEL.width * panels.length
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#333">`,
    `<title>A full run by the number of stocks and the provider’s latency</title>`,
    `<rect width="${width}" height="${HEIGHT}" fill="#fff"/>`,
    ...panels.map(
      (panel, place) => `<g transform="translate(${place * PANEL.width} 0)">\n${drawPanel(panel)}\n</g>`,
    ),
    '</svg>',
    '',
  ].join('\n')
}

const drawPanel = (panel: Panel): string => {
  const { title, curves } = panel
  const all = curves.flatMap(({ points }) => points)
  const stocks = [...new Set(all.map((point) => point.stocks))].sort((one, other) => one - other)
  const x = createAxis(stocks, true, [PANEL.left + 20, PANEL.width - PANEL.right - 20])
  const values = all.flatMap(({ value, least }) => [value, least ?? value])
  const ticks = panel.isLogarithmic ? listPowers(values) : listSteps(Math.max(...values))
  const y = createAxis(ticks, panel.isLogarithmic, [HEIGHT - PANEL.bottom, PANEL.top])
  return [
    `<text x="${PANEL.left}" y="20" font-weight="bold">${title}</text>`,
    ...ticks.map((tick) => drawGridLine(tick, y(tick))),
    ...stocks.map(
      (count) =>
        `<text x="${formatNumber(x(count))}" y="${HEIGHT - 24}" text-anchor="middle">${count.toLocaleString('en')}</text>`,
    ),
    `<text x="${formatNumber((PANEL.left + PANEL.width - PANEL.right) / 2)}" y="${HEIGHT - 6}" text-anchor="middle">stocks</text>`,
    ...curves.map((curve, place) =>
      drawCurve(curve, { x, y, colour: COLOURS[place % COLOURS.length] as string, place }),
    ),
  ].join('\n')
}

type Axis = (value: number) => number

const createAxis = (
  values: readonly number[],
  isLogarithmic: boolean,
  [from, to]: readonly [number, number],
): Axis => {
  const scaled = (value: number): number => (isLogarithmic ? Math.log(value) : value)
  const [least, most] = [scaled(Math.min(...values)), scaled(Math.max(...values))]
  return (value) => from + ((to - from) * (scaled(value) - least)) / (most - least || 1)
}

const listPowers = (values: readonly number[]): readonly number[] => {
  const [least, most] = [
    Math.floor(Math.log10(Math.min(...values))),
    Math.ceil(Math.log10(Math.max(...values))),
  ]
  return Array.from({ length: most - least + 1 }, (_, place) => 10 ** (least + place))
}

const listSteps = (most: number): readonly number[] => {
  const step = [20, 50, 100, 200, 500, 1_000].find((size) => most / size <= 6) ?? 2_000
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, place) => place * step)
}

const drawGridLine = (tick: number, y: number): string =>
  `<line x1="${PANEL.left}" x2="${PANEL.width - PANEL.right}" y1="${formatNumber(y)}" y2="${formatNumber(y)}" stroke="#ddd"/>` +
  `<text x="${PANEL.left - 6}" y="${formatNumber(y + 4)}" text-anchor="end">${tick.toLocaleString('en')}</text>`

interface Pen {
  readonly x: Axis
  readonly y: Axis
  readonly colour: string
  readonly place: number
}

const drawCurve = ({ label, points }: Curve, { x, y, colour, place }: Pen): string => {
  const path = (read: (point: Curve['points'][number]) => number): string =>
    points.map((point) => `${formatNumber(x(point.stocks))},${formatNumber(y(read(point)))}`).join(' ')
  const legend = PANEL.left + 8 + place * 70
  return [
    ...(points.some(({ least }) => least !== undefined)
      ? [
          `<polyline points="${path(({ value, least }) => least ?? value)}" fill="none" stroke="${colour}" stroke-dasharray="4 3"/>`,
        ]
      : []),
    `<polyline points="${path(({ value }) => value)}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...points.map(
      (point) =>
        `<circle cx="${formatNumber(x(point.stocks))}" cy="${formatNumber(y(point.value))}" r="3" fill="${colour}"/>`,
    ),
    `<rect x="${legend}" y="28" width="10" height="3" fill="${colour}"/><text x="${legend + 14}" y="34">${label}</text>`,
  ].join('\n')
}

const formatNumber = (value: number): string => value.toFixed(1)
