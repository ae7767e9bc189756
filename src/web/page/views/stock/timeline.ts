import { html, nothing, type TemplateResult } from 'lit-html'
import type { StockAnswer, StockEvent } from '../../../../show/answers.js'
import { formatDay, formatNumber, formatSigned } from '../../parts/format.js'
import { emptyLine, sentimentText } from '../../parts/panel.js'
import type { PageContext } from '../../view.js'

const SHOWN_EVENTS = 9

/** What happened to a stock: the newest events, or those of the day that is chosen in the chart and before. */
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
      ${sentiment === undefined ? nothing : sentimentText(sentiment)}
      ${valueCr === undefined ? nothing : html`<span class=${valueCr < 0 ? 'down' : 'up'}>₹ ${formatSigned(valueCr, 1)} cr</span>`}
    </p>
    <p class="text"><bdi>${url === undefined ? title : html`<a href=${url} target="_blank" rel="noreferrer">${title}</a>`}</bdi>
      ${detail === undefined ? nothing : html`<bdi class="soft">${detail}</bdi>`}</p>
  </li>`
}
