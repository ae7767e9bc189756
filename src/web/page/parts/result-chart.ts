import { html, nothing, svg, type TemplateResult } from 'lit-html'
import { formatDay, formatNumber } from '../../../model/format.js'
import type { QueryAnswer } from '../../api/query.js'
import type { PageContext } from '../view.js'
import { placeOf } from './column-format.js'
import { contentWidth } from './small-charts.js'

const CHART_HEIGHT = 320
const LEFT_MARGIN = 88
const BOTTOM = 24
const MAX_BARS = 60
const STARTS_WITH_DAY = /^\d{4}-\d\d-\d\d/

type Result = Pick<QueryAnswer, 'columns' | 'rows'>

/** The columns of a drawing. */
interface Axes {
  readonly x: number
  readonly y: number
}

/**
 * The columns that are wished for by name. Without a wish, x is the first column, and y the first one of
 * numbers beside it.
 */
const findAxes = ({ columns }: Pick<Result, 'columns'>, wished: URLSearchParams): Axes => {
  const x = Math.max(0, placeOf(columns, wished.get('x')))
  const y = placeOf(columns, wished.get('y'))
  return {
    x,
    y: columns[y]?.isNumber ? y : columns.findIndex(({ isNumber }, place) => place !== x && isNumber),
  }
}

/** What a result is drawn as: the column of x decides. */
interface Drawing {
  readonly kind: 'line' | 'bars' | 'points'
  readonly title: string
  readonly points: readonly { readonly x: number; readonly y: number; readonly name: string }[]
}

/** Days make a line, names bars, and two columns of numbers points; undefined for anything else. */
const toDrawing = ({ columns, rows }: Result, { x, y }: Axes): Drawing | undefined => {
  const [across, up] = [columns[x], columns[y]]
  if (across === undefined || up === undefined || rows.length < 2) return undefined
  const title = `${up.name} by ${across.name}`
  const known = rows.flatMap((row) => {
    const [name = null, value = null] = [row[x], row[y]]
    return name === null || value === null ? [] : [{ name, y: Number(value) }]
  })
  if (across.isNumber)
    return { kind: 'points', title, points: known.map(({ name, y }) => ({ name, y, x: Number(name) })) }
  if (known.every(({ name }) => STARTS_WITH_DAY.test(name)))
    return {
      kind: 'line',
      title,
      points: known
        .map(({ name, y }) => ({ name, y, x: Date.parse(name.slice(0, 10)) }))
        .toSorted((one, other) => one.x - other.x),
    }
  return { kind: 'bars', title, points: known.slice(0, MAX_BARS).map(({ name, y }, x) => ({ name, y, x })) }
}

/** A result as a chart, with the values of each point as its title. */
export const resultChart = (answer: QueryAnswer, page: PageContext): TemplateResult => {
  const axes = findAxes(answer, page.place.query)
  const drawing = toDrawing(answer, axes)
  if (drawing === undefined)
    return html`<p class="soft empty">A chart needs two rows, a column of days, names or numbers, and another one of numbers.</p>`
  return html`<div class="axes">${axisChoice(answer, axes, 'x', page)} ${axisChoice(answer, axes, 'y', page)}</div>${renderDrawing(drawing)}`
}

/** The choice of a column, which is kept in the address. */
const axisChoice = (
  { columns }: QueryAnswer,
  axes: Axes,
  axis: keyof Axes,
  { setQuery }: PageContext,
): TemplateResult => html`
  <label>${axis} <select @change=${(event: Event) => setQuery({ [axis]: (event.target as HTMLSelectElement).value })}>
    ${columns.map(({ name, isNumber }, place) => (axis === 'y' && !isNumber ? nothing : html`<option value=${name} .selected=${place === axes[axis]}>${name}</option>`))}
  </select></label>
`

const renderDrawing = ({ kind, title, points }: Drawing): TemplateResult => {
  const width = contentWidth()
  const span = (values: readonly number[]): readonly [number, number] => [
    Math.min(...values),
    Math.max(...values),
  ]
  const [left, right] = span(points.map(({ x }) => x))
  const [low, high] = span([...points.map(({ y }) => y), ...(kind === 'bars' ? [0] : [])])
  const step = (width - LEFT_MARGIN) / points.length
  const toX = (x: number): number =>
    kind === 'bars'
      ? LEFT_MARGIN + (x + 0.5) * step
      : LEFT_MARGIN + ((x - left) / (right - left || 1)) * (width - LEFT_MARGIN - 8)
  const toY = (y: number): number => (CHART_HEIGHT - BOTTOM) * (1 - (y - low) / (high - low || 1)) * 0.94 + 8
  const shapes =
    kind === 'line'
      ? svg`<polyline points=${points.map(({ x, y }) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(' ')} />`
      : points.map(({ x, y, name }) => {
          const about = svg`<title>${name}: ${formatNumber(y, 2)}</title>`
          return kind === 'points'
            ? svg`<circle cx=${toX(x)} cy=${toY(y)} r="3">${about}</circle>`
            : svg`<rect x=${toX(x) - step * 0.4} width=${step * 0.8} y=${Math.min(toY(y), toY(0))} height=${Math.max(1, Math.abs(toY(y) - toY(0)))}>${about}</rect>`
        })
  const ends =
    kind === 'points'
      ? [formatNumber(left, 2), formatNumber(right, 2)]
      : [points[0]?.name, points.at(-1)?.name].map((name = '') => formatDay(name))
  return html`<svg class=${`result-chart ${kind}`} width=${width} height=${CHART_HEIGHT} role="img" aria-label=${title}>
    ${[low, (low + high) / 2, high].map((y) => svg`<path class="grid" d=${`M${LEFT_MARGIN} ${toY(y)}H${width}`} /><text class="soft" x=${LEFT_MARGIN - 8} y=${toY(y) + 4} text-anchor="end">${formatNumber(y, 2)}</text>`)}
    ${shapes}
    <text class="soft" x=${LEFT_MARGIN} y=${CHART_HEIGHT - 4}>${ends[0]}</text><text class="soft" x=${width - 4} y=${CHART_HEIGHT - 4} text-anchor="end">${ends[1]}</text>
  </svg>`
}
