import { html, type TemplateResult } from 'lit-html'
import type { Panel } from '../../../api/about.js'
import type { Announcement, DocumentsAnswer, NewsRow } from '../../../api/market.js'
import { formatNumber } from '../../parts/format.js'
import { emptyLine, panel } from '../../parts/panel.js'
import { stockLink } from '../../parts/stock-link.js'

const SENTIMENTS = ['negative', 'mixed', 'positive', 'neutral']
const rankOf = ({ sentiment }: NewsRow): number => (SENTIMENTS.indexOf(sentiment) + SENTIMENTS.length + 1) % (SENTIMENTS.length + 1)

/** How a sentiment is shown: by a word, and a colour where it matters. */
export const sentimentText = (sentiment: string): TemplateResult => {
  const tone = sentiment === 'negative' ? 'down' : sentiment === 'positive' ? 'up' : 'soft'
  return html`<span class=${tone}>${sentiment}</span>`
}

/** The news of the day, negative ones first. */
export const newsPanel = ({ news: { about, rows, total }, sentiments }: DocumentsAnswer): TemplateResult => {
  const sorted = rows.toSorted((one, other) => rankOf(one) - rankOf(other))
  const counts = Object.entries(sentiments).map(([name, count]) => `${formatNumber(count)} ${name}`)
  return panel({
    ...{ title: 'News', about, total, room: 13 },
    content:
      rows.length === 0
        ? emptyLine('No news of that day.', about)
        : html`<p class="soft">${counts.join(' · ')}</p>${documentList(sorted, ({ sentiment }) => sentimentText(sentiment))}`,
  })
}

export const filingsPanel = ({ about, rows, total }: Panel<Announcement>): TemplateResult =>
  panel({
    ...{ title: 'Filings', about, total, room: 13 },
    content:
      rows.length === 0
        ? emptyLine('No filing of that day.', about)
        : documentList(rows, ({ kind }) => html`<bdi class="soft">${kind}</bdi>`),
  })

export const announcementsPanel = ({ about, rows, total }: Panel<Announcement>): TemplateResult =>
  panel({
    ...{ title: 'Announcements', about, total, room: 13 },
    content:
      rows.length === 0
        ? emptyLine('No announcement of that day.', about)
        : documentList(rows, ({ kind }) => html`<bdi class="soft">${kind}</bdi>`),
  })

const documentList = <R extends Announcement>(rows: readonly R[], note: (row: R) => TemplateResult): TemplateResult => {
  const list = rows.map(({ symbol }) => symbol)
  return html`<ul class="documents">${rows.map(
    (row) => html`<li>
      <p class="line"><time class="soft">${row.at.slice(11)}</time> ${stockLink(row.symbol, { name: row.name, list })} ${note(row)}</p>
      <p class="text"><bdi>${row.url === undefined ? row.title : html`<a href=${row.url} target="_blank" rel="noreferrer">${row.title}</a>`}</bdi></p>
    </li>`,
  )}</ul>`
}
