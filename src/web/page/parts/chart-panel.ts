import { html, nothing, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import type { CandlesAnswer } from '../../../show/answers.js'
import type { PageContext } from '../view.js'
import { formatDay, formatLarge, formatNumber } from './format.js'
import { aboutLine, changeText, choices, emptyLine } from './panel.js'
import type { ChartContent, HoveredSession, PriceChart } from './price-chart.js'

const RANGES = ['1M', '6M', '1Y', '5Y', 'max'].map((range) => [range, range] as const)
export const DEFAULT_RANGE = '1Y'

/** The chart of a stock or an index, for as long as its view is shown. */
export interface ChartPanel {
  readonly render: (content: Omit<ChartContent, 'range' | 'day' | 'hidden'>, page: PageContext) => TemplateResult
  readonly leave: () => void
}

/** Loads the chart library when it is first needed. `change` is called when the pointer is at another session. */
export const createChartPanel = (page: PageContext): ChartPanel => {
  let chart: PriceChart | undefined
  let place: Element | undefined
  let content: ChartContent | undefined
  let hovered: HoveredSession | undefined
  const callbacks = {
    hover: (session: HoveredSession | undefined): void => {
      if (session?.index === hovered?.index) return
      hovered = session
      page.update()
    },
    choose: (day: string): void => page.setQuery({ day: page.place.query.get('day') === day ? undefined : day }),
  }
  const mount = (element: Element | undefined): void => {
    if (element === place) return
    chart?.remove()
    chart = undefined
    place = element
    if (element === undefined) return
    void import('./price-chart.js').then(({ createPriceChart }) => {
      if (place !== element) return
      chart = createPriceChart(element as HTMLElement, callbacks)
      if (content !== undefined) chart.show(content)
    })
  }
  return {
    render: (shown, { place: { query } }) => {
      content = {
        ...shown,
        range: query.get('range') ?? DEFAULT_RANGE,
        day: query.get('day') ?? undefined,
        hidden: query.get('hide') ?? '',
      }
      chart?.show(content)
      return renderChart(content, { page, hovered, mount })
    },
    leave: () => mount(undefined),
  }
}

interface ChartState {
  readonly page: PageContext
  readonly hovered: HoveredSession | undefined
  readonly mount: (element: Element | undefined) => void
}

const renderChart = ({ candles, range, events, hidden }: ChartContent, { page, hovered, mount }: ChartState): TemplateResult => {
  const index = hovered?.index ?? candles.days.length - 1
  const isAdjusted = page.place.query.get('adjusted') !== '0'
  return html`
    <section class="chart" aria-label="Chart">
      <div class="head">
        ${choices('Range', RANGES, { chosen: range, choose: (value) => page.setQuery({ range: value === DEFAULT_RANGE ? undefined : value }) })}
        ${candles.isAdjusted ? html`<label title="For splits and bonuses"><input type="checkbox" .checked=${isAdjusted} @change=${() => page.setQuery({ adjusted: isAdjusted ? '0' : undefined })}> adjusted</label>` : nothing}
        <p class="candle">${candles.days.length === 0 ? nothing : describeCandle(candles, index)}</p>
        ${aboutLine({ ...candles.about, ...describeCleaned(candles) })}
      </div>
      ${
        candles.days.length === 0
          ? html`<div class="canvas">${emptyLine('There are no candles of it in this folder.')}</div>`
          : html`<div class="canvas" role="img" aria-label=${describeAll(candles)} ${ref(mount)}></div>`
      }
      ${legend(events, hidden, page)}
      <p class="hovered line">${(hovered?.events ?? []).slice(0, 3).map(({ mark, title }) => html`<span class="tag">${mark}</span> <bdi>${title}</bdi> `)}</p>
      <p class="attribution soft">Charts: <a href="https://www.tradingview.com/" target="_blank" rel="noreferrer">TradingView</a> Lightweight Charts™, © 2025 TradingView, Inc.</p>
    </section>
  `
}

const MARKS = [
  ['D', 'dividend'],
  ['S', 'split, bonus'],
  ['B', 'deal'],
  ['F', 'filing'],
  ['N', 'news'],
  ['A', 'announcement'],
] as const

/** What the marks mean; a click hides those of one kind, or shows them again. */
const legend = (events: ChartContent['events'], hidden: string, page: PageContext): TemplateResult => html`
  <div class="marks" role="group" aria-label="Marks on the chart">
    ${MARKS.filter(([mark]) => events.some((event) => event.mark === mark)).map(([mark, word]) => {
      const isHidden = hidden.includes(mark)
      const toggle = (): void => page.setQuery({ hide: (isHidden ? hidden.replace(mark, '') : hidden + mark) || undefined })
      return html`<button type="button" class="plain" aria-pressed=${!isHidden} @click=${toggle}><span class="tag">${mark}</span> ${word}</button>`
    })}
    ${events.some(({ mark }) => /[FNA]/.test(mark)) ? html`<span class="soft">• filings, news (zoom in for letters)</span>` : nothing}
  </div>
`

const describeCleaned = ({ cleaned, about }: CandlesAnswer): { readonly problem?: string } => {
  const texts = [...(about.problem === undefined ? [] : [about.problem]), ...cleaned]
  return texts.length === 0 ? {} : { problem: texts.join('; ') }
}

const describeCandle = ({ days, open, high, low, close, volume }: CandlesAnswer, index: number): TemplateResult => {
  const before = close[index - 1]
  const now = close[index] ?? 0
  const change = before === undefined || before === 0 ? undefined : 100 * (now / before - 1)
  const part = (name: string, value: number | undefined): TemplateResult =>
    html`<span><span class="soft">${name}</span> ${formatNumber(value, 2)}</span> `
  return html`<span>${formatDay(days[index])}</span> ${part('O', open[index])}${part('H', high[index])}${part('L', low[index])}${part('C', now)}${changeText(change, 2)}
    ${(volume[index] ?? 0) > 0 ? html`<span><span class="soft">Vol</span> ${formatLarge(volume[index])}</span>` : nothing}`
}

const describeAll = ({ days, close }: CandlesAnswer): string =>
  `Candles from ${formatDay(days[0])} to ${formatDay(days.at(-1))}; the last close is ${formatNumber(close.at(-1), 2)}`
