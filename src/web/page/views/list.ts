import { html } from 'lit-html'
import { formatDay, formatNumber, formatQuantity } from '../../../model/format.js'
import type { ListTable } from '../../../show/answers.js'
import { asOfPath } from '../parts/as-of.js'
import { dataTable, followScroll, rowKeys } from '../parts/data-table.js'
import { fetchJson } from '../parts/fetch-json.js'
import { sentences } from '../parts/panel.js'
import type { View } from '../view.js'

/** A whole list of the market, of now or of a recorded day. */
export const listView: View<ListTable> = {
  path: '/list/:name',
  title: ({ params }) => params.name ?? 'List',
  hasDays: true,
  load: (place, signal) =>
    fetchJson<ListTable>(asOfPath(`/api/list/${encodeURIComponent(place.params.name ?? '')}`, place), {
      signal,
    }),
  enter: followScroll,
  keys: rowKeys,
  render: (list, page) => {
    const { title, about, rows, isCut, usedDay, warnings, facets, sql } = list
    const count = isCut
      ? `The first ${formatNumber(rows.length)} rows; there are more`
      : formatQuantity(rows.length, 'row')
    return html`
      <div class="list-head">
        <h1>${title}</h1>
        <p class="soft">${about}.${usedDay && ` Its record is that of ${formatDay(usedDay)}.`} <a href=${`/query?sql=${encodeURIComponent(sql)}`}>As a query</a></p>
        ${sentences(warnings)}
      </div>
      ${dataTable(list, page, { file: page.place.params.name ?? 'list', label: title, about: count, facets, isCut, isNamed: true })}
    `
  },
}
