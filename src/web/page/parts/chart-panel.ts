import { html, nothing, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import { formatDay, formatNumber } from '../../../model/format.js'
import type { CandlesAnswer, SearchAnswer } from '../../../show/answers.js'
import type { PageContext } from '../view.js'
import { AS_OF, asOfPath } from './as-of.js'
import { createLater, fetchJson } from './fetch-json.js'
import { aboutLine, changeText, choices, emptyLine } from './panel.js'
import type { ChartContent, HoveredSession, PriceChart, SeenPeriod } from './price-chart.js'

const RANGES = ['1M', '6M', '1Y', '5Y', 'max'].map((range) => [range, range] as const)
export const DEFAULT_RANGE = '1Y'

/** The chart of a stock or an index, for as long as its view is shown. */
export type ChartPanel = ReturnType<typeof createChartPanel>

/**
 * Loads the chart library when it is first needed. `change` is called when the pointer is at another session.
 */
export const createChartPanel = (page: PageContext) => {
  let chart: PriceChart | undefined
  let place: Element | undefined
  let content: ChartContent | undefined
  let hovered: HoveredSession | undefined
  let seen: SeenPeriod | undefined
  const compared = createLater<CandlesAnswer | undefined>(page.update)
  const callbacks = {
    hover: (session: HoveredSession | undefined): void => {
      if (session?.day === hovered?.day) return
      hovered = session
      page.update()
    },
    see: (period: SeenPeriod): void => {
      if (JSON.stringify(period) === JSON.stringify(seen)) return
      seen = period
      page.update()
    },
    choose: (day: string): void =>
      page.setQuery({ day: page.place.query.get('day') === day ? undefined : day }),
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
    render: (shown: Pick<ChartContent, 'candles' | 'events'>, { place: { query } }: PageContext) => {
      const name = query.get('compare') ?? ''
      const other = compared.read(
        `${name} ${query.get('step') ?? ''} ${query.get(AS_OF) ?? ''}`,
        async (signal) => (name === '' ? undefined : loadCompared(name, query, signal)),
      )
      content = {
        ...shown,
        range: query.get('range') ?? DEFAULT_RANGE,
        day: query.get('day') ?? undefined,
        hidden: query.get('marks-off') ?? USUALLY_HIDDEN,
        isLog: query.get('scale') === 'log',
        other: other instanceof Error ? undefined : other,
      }
      chart?.show(content)
      const problem = other instanceof Error ? other.message : undefined
      return renderChart(content, { page, hovered, mount, seen, problem })
    },
    leave: () => {
      mount(undefined)
      compared.stop()
    },
  }
}

/** Filings, news and announcements are only marked if the reader wants them. */
const USUALLY_HIDDEN = 'FNA'

/** The stock or the index of `compare=`, with the same steps. */
const loadCompared = async (
  asked: string,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<CandlesAnswer> => {
  const name = asked.toUpperCase()
  const { found } = await fetchJson<SearchAnswer>(`/api/search?q=${encodeURIComponent(name)}`, { signal })
  const [best] = found.filter(
    ({ symbol, key }) => symbol.toUpperCase() === name || key.toUpperCase() === name,
  )
  if (best === undefined) throw new Error(`${name} is in no list of this folder`)
  const path = `/api/${best.kind}/${encodeURIComponent(best.key)}/candles?step=${query.get('step') ?? ''}`
  return fetchJson<CandlesAnswer>(asOfPath(path, { query }), { signal })
}

interface ChartState {
  readonly page: PageContext
  readonly seen: SeenPeriod | undefined
  /** Why the other instrument is not shown. */
  readonly problem: string | undefined
  readonly hovered: HoveredSession | undefined
  readonly mount: (element: Element | undefined) => void
}

const renderChart = (
  { candles, range, events, hidden, other }: ChartContent,
  { page, hovered, mount, seen, problem }: ChartState,
): TemplateResult => {
  const isAdjusted = page.place.query.get('adjusted') !== '0'
  return html`
    <section class="chart" aria-label="Chart">
      <div class="head">
        ${choices('Range', RANGES, { chosen: range, choose: (value) => page.setQuery({ range: value === DEFAULT_RANGE ? undefined : value }) })}
        ${candles.isAdjusted ? html`<label title="For splits and bonuses"><input type="checkbox" .checked=${isAdjusted} @change=${() => page.setQuery({ adjusted: isAdjusted ? '0' : undefined })}> adjusted</label>` : nothing}
        ${chartTools(page)}
        <p class="candle">${candles.days.length === 0 ? nothing : describeCandle(candles, hovered?.day ?? candles.days.at(-1))}</p>
        ${aboutLine({ ...candles.about, ...describeCleaned(candles) })}
        ${problem && html`<p class="problem">${problem}</p>`}
      </div>
      ${
        candles.days.length === 0
          ? html`<div class="canvas">${emptyLine('There are no candles of it in this folder.')}</div>`
          : html`<div class="canvas" role="img" aria-label=${describeAll(candles)} ${ref(mount)}></div>`
      }
      <p class="seen soft">${describeSeen(candles, seen)} ${
        other === undefined
          ? candles.averages.map(
              ({ length }, place) =>
                html`<span><i class=${`key average-${place + 1}`}></i>average of ${length} days</span> `,
            )
          : html`<span><i class="key average-1"></i>${page.place.query.get('compare')}${seen?.otherFrom === undefined ? '' : ` from ${formatDay(seen.otherFrom)}`}</span>`
      }</p>
      ${legend(events, hidden, page)}
      <p class="hovered line">${hovered?.events.slice(0, 3).map(({ mark, title }) => html`<span class="tag">${mark}</span> <bdi>${title}</bdi> `)}</p>
      <p class="attribution soft">Charts: <a href="https://www.tradingview.com/" target="_blank" rel="noreferrer">TradingView</a> Lightweight Charts™, © 2025 TradingView, Inc.</p>
    </section>
  `
}

const CHART_MARKS = [
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
    ${CHART_MARKS.filter(([mark]) => events.some((event) => event.mark === mark)).map(([mark, word]) => {
      const isHidden = hidden.includes(mark)
      const next = isHidden ? hidden.replace(mark, '') : hidden + mark
      const toggle = (): void => page.setQuery({ 'marks-off': next === USUALLY_HIDDEN ? undefined : next })
      return html`<button type="button" class="plain" aria-pressed=${!isHidden} @click=${toggle}><span class="tag">${mark}</span> ${word}</button>`
    })}
    ${events.some(({ mark }) => USUALLY_HIDDEN.includes(mark) && !hidden.includes(mark)) ? html`<span class="soft">• filings, news (zoom in for letters)</span>` : nothing}
  </div>
`

/** Weeks, a logarithmic scale, and another instrument. */
const chartTools = (page: PageContext): TemplateResult => {
  const { query } = page.place
  const check = (key: string, value: string, text: string): TemplateResult =>
    html`<label><input type="checkbox" .checked=${query.get(key) === value} @change=${() => page.setQuery({ [key]: query.get(key) === value ? undefined : value })}> ${text}</label>`
  return html`${check('step', 'week', 'weeks')} ${check('scale', 'log', 'log')}
    <label>against <input class="compare" placeholder="NIFTY" aria-label="Compare with a stock or an index" .value=${query.get('compare') ?? ''}
      @change=${(event: Event) => page.setQuery({ compare: (event.target as HTMLInputElement).value.trim().toUpperCase() || undefined })}></label>`
}

/** How much the price changed over what is in view. */
const describeSeen = (
  { days, close }: CandlesAnswer,
  { from = '', to = '' }: Partial<SeenPeriod> = {},
): TemplateResult | typeof nothing => {
  const [first, last] = [from, to].map((day) => close[days.indexOf(day)])
  if (!first || last === undefined) return nothing
  return html`<span>${formatDay(from)} to ${formatDay(to)}: ${changeText(100 * (last / first - 1), 1)}</span> `
}

const describeCleaned = ({ cleaned, about }: CandlesAnswer): { readonly problem?: string } => {
  const texts = [...(about.problem === undefined ? [] : [about.problem]), ...cleaned]
  return texts.length === 0 ? {} : { problem: texts.join('; ') }
}

const describeCandle = (
  { days, open, high, low, close, volume }: CandlesAnswer,
  day: string | undefined,
): TemplateResult => {
  const index = days.indexOf(day ?? '')
  if (index < 0) return html`<span>${formatDay(day)}</span> <span class="soft">no candle</span>`
  const before = close[index - 1]
  const now = close[index] ?? 0
  const change = before ? 100 * (now / before - 1) : undefined
  const part = (name: string, value: number | undefined): TemplateResult =>
    html`<span><span class="soft">${name}</span> ${formatNumber(value, 2)}</span> `
  return html`<span>${formatDay(day)}</span> ${part('O', open[index])}${part('H', high[index])}${part('L', low[index])}${part('C', now)}${changeText(change, 2)}
    ${(volume[index] ?? 0) > 0 ? html`<span><span class="soft">Vol</span> ${formatNumber(volume[index])}</span>` : nothing}`
}

const describeAll = ({ days, close }: CandlesAnswer): string =>
  `Candles from ${formatDay(days[0])} to ${formatDay(days.at(-1))}; the last close is ${formatNumber(close.at(-1), 2)}`
