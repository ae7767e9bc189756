import { html, nothing, type TemplateResult } from 'lit-html'
import { ref } from 'lit-html/directives/ref.js'
import type { EventKind, StockAnswer, StockEvent } from '../../../../show/answers.js'
import { formatDay, formatNumber, formatSigned } from '../../parts/format.js'
import { emptyLine, sentimentText } from '../../parts/panel.js'
import type { PageContext } from '../../view.js'

const KINDS: readonly (readonly [kind: EventKind, title: string])[] = [
  ['action', 'Actions'],
  ['filing', 'Filings'],
  ['news', 'News'],
  ['deal', 'Deals'],
  ['announcement', 'Announcements'],
]

/** More are shown on demand: a stock may have thousands. */
const STEP = 60

export interface Timeline {
  readonly render: (events: StockAnswer['events'], page: PageContext) => TemplateResult
}

/** What happened to a stock, newest first. */
export const createTimeline = (): Timeline => {
  let room = STEP
  let shownDay: string | undefined
  const scrollTo = (element: Element | undefined, day: string | undefined): void => {
    if (element === undefined || shownDay === day) return
    shownDay = day
    const chosen = element.querySelector<HTMLElement>('[aria-current]')
    if (chosen !== null) element.scrollTop = chosen.offsetTop - (element as HTMLElement).offsetTop
  }
  return {
    render: ({ about, rows }, page) => {
      const kind = KINDS.find(([name]) => name === page.place.query.get('kind'))?.[0]
      const day = page.place.query.get('day') ?? undefined
      const own = kind === undefined ? rows : rows.filter((event) => event.kind === kind)
      // A chosen day that is further down is shown with what comes before it.
      const chosen = day === undefined ? -1 : own.findLastIndex((event) => event.day >= day)
      const shown = own.slice(0, Math.max(room, chosen + STEP / 2))
      const more = (): void => {
        room += STEP * 2
        page.update()
      }
      return html`
        <section class="panel timeline" aria-label="Timeline">
          <div class="head">${kindFilter(rows, kind, page)}${about.map(({ problem }) => html`<p class="problem">${problem}</p>`)}</div>
          <div class="body" tabindex="0" ${ref((element) => queueMicrotask(() => scrollTo(element, day)))}>
            ${own.length === 0 ? emptyLine('Nothing of this kind is known.') : html`<ul class="documents">${shown.map((event) => eventItem(event, day, page))}</ul>`}
            ${shown.length < own.length ? html`<button type="button" class="plain" @click=${more}>${formatNumber(own.length - shown.length)} more</button>` : nothing}
          </div>
        </section>
      `
    },
  }
}

const kindFilter = (rows: readonly StockEvent[], chosen: EventKind | undefined, page: PageContext): TemplateResult => {
  const choose = (kind: string | undefined): void => page.setQuery({ kind })
  const button = (title: string, kind: EventKind | undefined, count: number): TemplateResult =>
    html`<button type="button" class="plain" aria-pressed=${kind === chosen} @click=${() => choose(kind)}>${title} <span class="soft">${formatNumber(count)}</span></button>`
  return html`<div class="choices" role="group" aria-label="Kind of event">
    ${button('All', undefined, rows.length)}
    ${KINDS.map(([kind, title]) => [kind, title, rows.filter((event) => event.kind === kind).length] as const)
      .filter(([kind, , count]) => count > 0 || kind === chosen)
      .map(([kind, title, count]) => button(title, kind, count))}
  </div>`
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
