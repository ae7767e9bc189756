import { html, nothing, type TemplateResult } from 'lit-html'
import type { PriceFacts, StockAnswer } from '../../../api/stock.js'
import { changeArrow, changeText } from '../../parts/change.js'
import { formatDay, formatLarge, formatNumber, formatPrice } from '../../parts/format.js'
import { rangeBar } from '../../parts/small-charts.js'

/** Name, price, and what one must know before a trade: band, surveillance, circuit. */
export const stockHead = ({ symbol, name, isin, oldSymbol, price, facts }: StockAnswer): TemplateResult => html`
  <div class="instrument">
    <div class="title">
      <h1><bdi>${symbol}</bdi></h1>
      <span><bdi>${name}</bdi></span> <span class="soft">${isin}</span>
      ${oldSymbol === undefined ? nothing : html`<span class="problem">${oldSymbol} is now ${symbol}</span>`}
    </div>
    ${price === undefined ? nothing : priceLine(price, formatPrice(price.close))}
    <p class="watch">
      ${facts.surveillance.map((stage) => html`<span class="tag waiting" title="The exchange watches it: ASM, additional, or GSM, graded surveillance measure">${stage}</span> `)}
      ${facts.circuit === undefined ? nothing : html`<span class="tag waiting">at its ${facts.circuit} limit</span> `}
      ${facts.bandChange === undefined ? nothing : html`<span class="tag waiting">price band ${facts.bandChange}</span> `}
      ${[...listFacts(facts), ...(facts.surveillance.length === 0 && facts.problems.length === 0 ? ['no surveillance'] : [])].join(' · ')}
      ${facts.problems.map((problem) => html`<span class="problem">${problem}</span>`)}
    </p>
  </div>
`

const listFacts = ({ band, bandChange, hasDerivatives, sector, industry, series, listedOn }: StockAnswer['facts']): readonly string[] =>
  [
    band === undefined || bandChange !== undefined ? '' : /%/.test(band) ? `price band ${band}` : band.replace('no b', 'no price b'),
    hasDerivatives ? 'F&O' : '',
    sector ?? '',
    industry === sector ? '' : (industry ?? ''),
    series === undefined ? '' : `series ${series}`,
    listedOn === undefined ? '' : `listed ${toSentenceDay(listedOn)}`,
  ].filter((text) => text !== '')

/** `06-OCT-2008` as `6 Oct 2008`. */
const toSentenceDay = (text: string): string => {
  const [date = '', month = '', year] = text.split('-')
  return year === undefined ? text : `${Number(date)} ${month.slice(0, 1)}${month.slice(1).toLowerCase()} ${year}`
}

/** The close and its change, the range of 52 weeks, and the returns. */
export const priceLine = (
  { close, day, changePct, volume, volumeTimes, high52, low52, returns }: PriceFacts,
  shown: string,
): TemplateResult => html`
  <div class="price">
    <span class="close">${shown}</span> ${changeArrow(changePct)} <span class="soft">${formatDay(day)}</span>
    <span class="of52"><span class="soft">52 weeks</span> ${formatNumber(low52, 2)} ${rangeBar(low52, high52, close)} ${formatNumber(high52, 2)}</span>
    ${Object.entries(returns).map(([name, value]) => html`<span><span class="soft">${name}</span> ${changeText(value)}</span>`)}
    ${volume > 0 ? html`<span><span class="soft">volume</span> ${formatLarge(volume)}${volumeTimes === undefined ? nothing : html` <span class="soft">${formatNumber(volumeTimes, 1)} × usual</span>`}</span>` : nothing}
  </div>
`
