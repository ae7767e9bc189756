import { html, nothing, type TemplateResult } from 'lit-html'
import { formatDaysIn, formatInstant, formatNumber, formatQuantity } from '../../../model/format.js'
import type { ChecksSummary, RunChecks } from '../../api/runs.js'
import type { FolderChanges } from '../../api/state.js'
import { formatCommand } from '../parts/fetch-json.js'
import { sentences } from '../parts/panel.js'
import { listLinked, runPath, stockLink } from '../parts/stock-link.js'
import type { PageContext } from '../view.js'

const SHOWN_STOCKS = 15

/** What the last run changed, stock by stock; the rarest changes first. */
export const renderChanges = (
  changes: FolderChanges | Error | undefined,
  { place, setQuery }: Pick<PageContext, 'place' | 'setQuery'>,
): TemplateResult | typeof nothing => {
  if (changes === undefined || changes instanceof Error || changes.stocks.length + changes.notes.length === 0)
    return nothing
  const shown = place.query.has('all') ? changes.stocks : changes.stocks.slice(0, SHOWN_STOCKS)
  const list = listLinked(changes.stocks)
  const more = changes.stocks.length - shown.length
  return html`
    <section id="changes">
      <h2>What changed <span class="soft">rarest first</span></h2>
      <div class="scroll"><table class="changes">
        <tbody>${shown.map(
          ({ symbol, hasNoPage, changes: own }) => html`<tr>
            <th scope="row">${stockLink(symbol, { hasNoPage, list })}</th>
            <td>${own.map(({ section, detail }, index) => html`${index === 0 ? nothing : html`<br>`}<span class="soft">${section}</span> ${formatDaysIn(detail)}`)}</td>
          </tr>`,
        )}</tbody>
      </table></div>
      ${more > 0 ? html`<button class="link" type="button" @click=${() => setQuery({ all: '1' })}>${formatQuantity(more, 'stock')} more</button>` : nothing}
      ${sentences(changes.notes, 'soft')}
    </section>
  `
}

/** What is known of the data checks in a sentence, as a link to them. */
export const renderChecksLine = ({ tone, text }: ChecksSummary, href: string): TemplateResult =>
  html`<p>Data checks: <a class=${tone === 'soft' ? '' : tone} href=${href}>${formatDaysIn(text)}</a></p>`

/** What the checks of `verify` found, by kind; the first few of each. */
export const renderChecks = (checks: RunChecks | Error | undefined): TemplateResult => {
  if (checks === undefined)
    return section(
      html`<p class="soft" role="status">The files are being checked, which takes up to half a minute …</p>`,
    )
  if (checks instanceof Error) return section(html`<p class="failed">${checks.message}</p>`)
  const { tone, text, checkedAt, kinds, notes, present } = checks
  return section(html`
    <p class=${tone} role="status">${formatDaysIn(text)}</p>
    ${checkedAt && html`<p class="soft">Checked ${formatInstant(Date.parse(checkedAt))}; "${formatCommand('verify')}" checks again and lists all.</p>`}
    ${present && html`<p><a href=${runPath(present)}>Data checks of the files present</a></p>`}
    <div class="scroll"><table class="changes"><tbody>${kinds.map(renderKind)}</tbody></table></div>
    ${sentences(notes, 'soft')}
  `)
}

const section = (content: TemplateResult): TemplateResult =>
  html`<section id="checks"><h2>Data checks</h2>${content}</section>`

const renderKind = ({ check, about, count, findings }: RunChecks['kinds'][number]): TemplateResult => html`
  <tr>
    <th scope="row" title=${about}>${check} <span class="soft">${formatNumber(count)}</span></th>
    <td>
      ${findings.map(
        ({ subject = '', hasPage, isNew, detail }) =>
          html`${isNew ? html`<b class="waiting">new</b> ` : nothing}${hasPage ? stockLink(subject) : html`<bdi>${subject}</bdi>`} ${formatDaysIn(detail)}<br>`,
      )}
      ${count > findings.length ? html`<span class="soft">and ${formatNumber(count - findings.length)} more</span>` : nothing}
    </td>
  </tr>
`
