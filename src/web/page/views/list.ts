import { html, nothing } from 'lit-html'
import type { ListTable } from '../../../show/answers.js'
import { dataTable, rowKeys } from '../parts/data-table.js'
import { fetchJson } from '../parts/fetch-json.js'
import { formatDay, formatNumber, formatQuantity } from '../parts/format.js'
import type { View } from '../view.js'

/** A whole list of the market, of now or of a recorded day. */
export const listView: View<ListTable> = {
  path: '/list/:name',
  title: ({ params }) => params.name ?? 'List',
  loadsOn: ['day'],
  load: ({ params, query }, signal) => {
    const day = query.get('day')
    return fetchJson<ListTable>(
      `/api/list/${encodeURIComponent(params.name ?? '')}${day === null ? '' : `?day=${encodeURIComponent(day)}`}`,
      { signal },
    )
  },
  enter: (page) => {
    addEventListener('scroll', page.update, { passive: true })
    return () => removeEventListener('scroll', page.update)
  },
  keys: rowKeys,
  render: (list, page) => {
    const { title, about, rows, isCut, usedDay, warnings = [], facets, sql } = list
    const count = isCut ? `The first ${formatNumber(rows.length)} rows; there are more` : formatQuantity(rows.length, 'row')
    return html`
      <div class="list-head">
        <h1>${title}</h1>
        <p class="soft">${about}.${usedDay === undefined ? nothing : html` <b>As known on ${formatDay(usedDay)}.</b>`} <a href=${`/query?sql=${encodeURIComponent(sql)}`}>As a query</a></p>
        ${warnings.map((warning) => html`<p class="problem">${warning}</p>`)}
      </div>
      ${dataTable(list, page, { file: page.place.params.name ?? 'list', label: title, about: count, facets })}
    `
  },
}
