import { html, type TemplateResult } from 'lit-html'
import type { QueriesAnswer } from '../../../api/query.js'

/** Saved and worked queries: to run, and to start from. */
export const queryList = (queries: QueriesAnswer['queries'], start: (sql: string) => void): TemplateResult => html`
  <section class="panel queries" aria-label="Queries">
    <div class="head"><h2>Queries to start from</h2></div>
    <table><tbody>${queries.map(
      ({ name, about, sql, isSaved }) => html`<tr>
        <td><button type="button" class="plain" title=${sql} @click=${() => start(sql)}><bdi>${name}</bdi></button></td>
        <td class="wide soft">${isSaved ? html`<span class="tag">saved</span> <bdi>${sql}</bdi>` : about}</td>
      </tr>`,
    )}</tbody></table>
  </section>
`

/** What a query may read. */
export const tableList = (tables: QueriesAnswer['tables']): TemplateResult => html`
  <details class="tables">
    <summary>Tables and columns</summary>
    <dl>${tables.map(({ name, about, columns }) => html`<dt>${name}</dt><dd>${about}<br><span class="soft">${columns.join(', ')}</span></dd>`)}</dl>
  </details>
`
