import { html, nothing, type TemplateResult } from 'lit-html'
import {
  formatCrore,
  formatDay,
  formatDaysIn,
  formatNumber,
  formatPercent,
  formatPrice,
  formatSigned,
} from '../../../../model/format.js'
import { hasNotTraded } from '../../../../model/trading-day.js'
import type {
  Holding,
  PriceFacts,
  Quarter,
  StockAnswer,
  StockEvent,
  StockFindings,
} from '../../../../show/answers.js'
import { formatCommand } from '../../parts/fetch-json.js'
import {
  changeArrow,
  changeText,
  dealValue,
  documentTitle,
  emptyLine,
  panel,
  sentences,
  sentimentText,
} from '../../parts/panel.js'
import { rangeBar, shareBar, sparkLine } from '../../parts/small-charts.js'
import { readOwnList, toggleOwn } from '../../parts/storage.js'
import type { PageContext } from '../../view.js'

/** Name, price, and what one must know before a trade: band, surveillance, circuit. */
export const stockHead = (
  { symbol, name, isin, oldSymbol, problem, price, facts }: StockAnswer,
  page: PageContext,
): TemplateResult => html`
  <div class="instrument">
    <div class="title">
      <h1><bdi>${name || symbol}</bdi></h1>
      <span><bdi>${symbol}</bdi></span> <span class="soft">${isin}</span> ${followButton(symbol, page)}
      ${oldSymbol && html`<span class="problem">${oldSymbol} is now ${symbol}</span>`}
    </div>
    ${price && priceLine(price, formatPrice(price.close))}
    <p class="watch">
      ${facts.surveillance.map((stage) => html`<span class="tag waiting" title="The exchange watches it: ASM, additional, or GSM, graded surveillance measure">${stage}</span> `)}
      ${facts.circuit && html`<span class="tag waiting">at its ${facts.circuit} limit${describeAtLimit(facts, price)}</span> `}
      ${facts.bandChange && html`<span class="tag waiting">price band ${facts.bandChange}</span> `}
      ${[...listStockFacts(facts), ...(facts.surveillance.length === 0 && facts.problems.length === 0 && problem === undefined ? ['no surveillance'] : [])].join(' · ')}
      ${[...(problem === undefined ? [] : [problem]), ...facts.problems].map((text) => html`<span class="problem">${text}</span>`)}
    </p>
  </div>
`

/** Puts a stock on the list of this browser, which Today shows. */
const followButton = (symbol: string, page: PageContext): TemplateResult => {
  const isOwn = readOwnList().includes(symbol)
  const toggle = (): void => {
    toggleOwn(symbol)
    page.update()
  }
  return html`<button type="button" class="plain" aria-pressed=${isOwn} title="Your stocks, on Today" @click=${toggle}>${isOwn ? '★ followed' : '☆ follow'}</button>`
}

/** The day of the tag and its price, where the price line is of another day. */
const describeAtLimit = (
  { listDay, atLimit }: StockAnswer['facts'],
  price: PriceFacts | undefined,
): string => {
  if (listDay === undefined || listDay === price?.day) return ''
  const change = atLimit?.changePct === undefined ? '' : ` (${formatSigned(atLimit.changePct, 2)} %)`
  return ` on ${formatDay(listDay)}${atLimit?.price === undefined ? '' : `, ${formatPrice(atLimit.price)}${change}`}`
}

const listStockFacts = ({
  band,
  bandChange,
  hasDerivatives,
  sector,
  industry,
  series,
  listedOn,
}: StockAnswer['facts']): readonly string[] =>
  [
    band === undefined || bandChange !== undefined
      ? ''
      : /%/.test(band)
        ? `price band ${band}`
        : band.replace('no b', 'no price b'),
    hasDerivatives ? 'F&O' : '',
    sector ?? '',
    industry === sector ? '' : (industry ?? ''),
    series === undefined ? '' : `series ${series}`,
    listedOn === undefined ? '' : `listed ${formatDay(listedOn)}`,
  ].filter((text) => text !== '')

/** The close and its change, the range of 52 weeks, and the returns. */
export const priceLine = (
  { about, day, changePct, volume, volumeTimes, high52, low52, place52Pct, returns }: PriceFacts,
  shown: string,
): TemplateResult => html`
  <div class="price">
    <span class="close">${shown}</span> ${hasNotTraded(day, about.day) ? html`<span class="problem">no trade since ${formatDay(day)}</span>` : html`${changeArrow(changePct)} <span class="soft">${formatDay(day)}</span>`}
    ${low52 === undefined || high52 === undefined ? nothing : html`<span class="of52"><span class="soft">52 weeks</span> ${formatNumber(low52, 2)} ${place52Pct === undefined ? nothing : rangeBar(place52Pct)} ${formatNumber(high52, 2)}</span>`}
    ${Object.entries(returns).map(([name, value]) => html`<span><span class="soft">${name}</span> ${changeText(value)}</span>`)}
    ${volume > 0 ? html`<span><span class="soft">volume</span> ${formatNumber(volume)}${volumeTimes === undefined ? nothing : html` <span class="soft">${formatNumber(volumeTimes, 1)} × usual</span>`}</span>` : nothing}
  </div>
`

const SHOWN_QUARTERS = 5

/** Results and shareholding. */
export const figuresPanels = (stock: StockAnswer): TemplateResult =>
  html`${quartersPanel(stock)}${holdersPanel(stock)}`

const QUARTER_ROWS = [
  ['Sales ₹ crore', ({ salesCr }: Quarter) => salesCr, 0],
  ['Profit ₹ crore', ({ profitCr }: Quarter) => profitCr, 0],
  ['Margin %', ({ marginPct }: Quarter) => marginPct, 1],
  ['EPS ₹', ({ eps }: Quarter) => eps, 2],
] as const

const quartersPanel = ({ quarters: { about, basis, rows } }: StockAnswer): TemplateResult => {
  const shown = rows.slice(0, SHOWN_QUARTERS).toReversed()
  const [newest] = rows
  return panel({
    title: basis === undefined ? 'Quarters' : `Quarters, ${basis}`,
    about,
    content:
      newest === undefined
        ? emptyLine('No results are known.', about)
        : html`<table class="quarters">
            <thead><tr><th></th>${shown.map(({ quarter }, place) => html`<th class=${numberClass(place)}>${quarter}</th>`)}</tr></thead>
            <tbody>${QUARTER_ROWS.map(([title, read, decimals]) => figureRow(title, shown.map(read), decimals))}</tbody>
          </table>
          <p class="soft note">Against the year before: sales ${changeText(newest.salesGrowthPct)}, net profit ${changeText(newest.profitGrowthPct)}</p>`,
  })
}

/** On a phone there is no room for the oldest of five quarters. */
const numberClass = (place: number): string => (place < SHOWN_QUARTERS - 4 ? 'number optional' : 'number')

const figureRow = (
  title: string,
  values: readonly (number | undefined)[],
  decimals: number,
): TemplateResult => html`
  <tr><th scope="row">${title}</th>${values.map((value, place) => html`<td class=${numberClass(place)}>${formatNumber(value, value !== undefined && Math.abs(value) >= 100 ? 0 : decimals)}</td>`)}</tr>
`

const HOLDER_ROWS = [
  ['promoters', 'Promoters', ({ promoterPct }: Holding) => promoterPct],
  ['foreign', 'Foreign institutions', ({ fiiPct }: Holding) => fiiPct],
  ['domestic', 'Domestic institutions', ({ diiPct }: Holding) => diiPct],
  ['public', 'Public', ({ publicPct }: Holding) => publicPct],
] as const

const holdersPanel = ({ shareholding: { about, rows } }: StockAnswer): TemplateResult => {
  const [newest, before] = rows
  const quarters = rows.slice(0, SHOWN_QUARTERS).toReversed()
  return panel({
    title: newest?.day === undefined ? 'Shareholding' : `Shareholding, ${formatDay(newest.day)}`,
    about,
    content:
      newest === undefined
        ? emptyLine('No shareholding is known.', about)
        : html`${shareBar(HOLDER_ROWS.map(([name, , read]) => [name, read(newest) ?? 0]))}
          <table>
            <thead><tr><th>Holder</th><th class="optional">${formatNumber(quarters.length)} quarters</th><th class="number">Share</th><th class="number" title="Against the quarter before, percentage points">Change, pp</th></tr></thead>
            <tbody>
              ${HOLDER_ROWS.map(([name, title, read]) => {
                const [now, then] = [read(newest), before && read(before)]
                const line = quarters.map(read).filter((value) => value !== undefined)
                return html`<tr><td><i class=${`key ${name}`}></i>${title}</td><td class="optional">${sparkLine(line, { width: 64, height: 20 })}</td>
                  <td class="number">${formatPercent(now, 1)}</td><td class="number">${now === undefined || then === undefined ? '–' : formatSigned(now - then, 2)}</td></tr>`
              })}
            </tbody>
          </table>`,
  })
}

export const valuationPanel = ({ facts, quarters: { about } }: StockAnswer): TemplateResult => {
  const { marketCapCr, peTtm, pe, roePct, rocePct, dividendYieldPct, faceValue } = facts
  const all = {
    'Market cap': formatCrore(marketCapCr),
    'P/E of four quarters': formatNumber(peTtm, 1),
    'P/E of the provider': formatNumber(pe, 1),
    'Return on equity': formatPercent(roePct, 1),
    'Return on capital': formatPercent(rocePct, 1),
    'Dividend yield': formatPercent(dividendYieldPct, 2),
    'Face value': formatPrice(faceValue),
  }
  return panel({
    title: 'Valuation',
    about,
    content: html`<dl class="facts">${Object.entries(all).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`,
  })
}

/** What the checks of the candles found. Comparisons with other stocks are made by the command. */
export const findingsPanel = (
  { rows, problems }: StockFindings,
  isChecked: boolean,
  most = MAX_SHOWN_FINDINGS,
): TemplateResult =>
  panel({
    title: 'Data checks of the candles',
    about: {},
    total: rows.length,
    content: html`
      ${sentences(problems)}
      ${rows.length === 0 ? emptyLine(isChecked ? 'Nothing found in its candles.' : 'Without candles there is nothing to check.') : nothing}
      <ul class="documents">${rows.slice(0, most).map(
        ({ severity, check, day, detail, isAccepted }) => html`<li>
          <p class="line"><span class=${severity === 'error' ? 'failed' : severity === 'warning' ? 'waiting' : 'soft'}>${severity}</span> ${check} <span class="soft">${day === undefined ? '' : formatDay(day)}</span>
            ${isAccepted ? html`<span class="tag">accepted</span>` : nothing}</p>
          <p class="text">${formatDaysIn(detail)}</p>
        </li>`,
      )}</ul>
      ${rows.length > most ? html`<p class="note"><a href="?tab=checks">all ${formatNumber(rows.length)} ▸</a></p>` : nothing}
      <p class="soft note">Not checked here, because it needs all stocks: missing sessions, candles shared with another stock, price bands, leftover files.
        <code>${formatCommand('verify --out DIR')}</code> checks them.</p>
    `,
  })

const MAX_SHOWN_FINDINGS = 8

const SHOWN_EVENTS = 9

/**
 * What happened to a stock: the newest events, or those of the day that is chosen in the chart and before.
 */
export const renderTimeline = ({ about, rows }: StockAnswer['events'], page: PageContext): TemplateResult => {
  const day = page.place.query.get('day') ?? undefined
  const first = day === undefined ? 0 : rows.findIndex((event) => event.day <= day)
  const shown = first < 0 ? [] : rows.slice(first, first + SHOWN_EVENTS)
  return html`
    <section class="panel timeline" aria-label="Timeline">
      <div class="head"><h2><a href="?tab=documents">What happened</a> <span class="soft">${formatNumber(rows.length)}</span></h2>${about.map(({ problem }) => html`<p class="problem">${problem}</p>`)}</div>
      ${shown.length === 0 ? emptyLine('Nothing is known.') : html`<ul class="documents">${shown.map((event) => eventItem(event, day, page))}</ul>`}
    </section>
  `
}

const eventItem = (event: StockEvent, chosen: string | undefined, page: PageContext): TemplateResult => {
  const { day, time, mark, title, detail, sentiment, valueCr, url } = event
  const isChosen = day === chosen
  return html`<li aria-current=${isChosen ? 'date' : nothing}>
    <p class="line">
      <span class="tag">${mark}</span>
      <button type="button" class="plain day" title="Show this day in the chart" @click=${() => page.setQuery({ day: isChosen ? undefined : day })}>${formatDay(day)}${time === undefined ? '' : `, ${time}`}</button>
      ${sentiment && sentimentText(sentiment)}
      ${dealValue(valueCr)}
    </p>
    <p class="text">${documentTitle(title, url)}
      ${detail && html`<bdi class="soft">${detail}</bdi>`}</p>
  </li>`
}
