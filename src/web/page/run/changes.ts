import { html, nothing, type TemplateResult } from 'lit-html'
import type { FolderChanges } from '../../api/state.js'
import { formatChange, formatDaysIn, formatQuantity } from '../parts/format.js'
import { listLinked, stockLink } from '../parts/stock-link.js'
import type { PageContext } from '../view.js'

const SHOWN = 15

/** What the last run changed, stock by stock; the rarest changes first. */
export const renderChanges = (
  changes: FolderChanges | Error | undefined,
  { place, setQuery }: Pick<PageContext, 'place' | 'setQuery'>,
): TemplateResult | typeof nothing => {
  if (changes === undefined || changes instanceof Error || changes.stocks.length + changes.notes.length === 0) return nothing
  const shown = place.query.has('all') ? changes.stocks : changes.stocks.slice(0, SHOWN)
  const list = listLinked(changes.stocks)
  const more = changes.stocks.length - shown.length
  return html`
    <section id="changes">
      <h2>What changed <span class="soft">rarest first</span></h2>
      <div class="scroll"><table class="changes">
        <tbody>${shown.map(
          ({ symbol, hasNoPage, changes: own }) => html`<tr>
            <th scope="row">${stockLink(symbol, { ...(hasNoPage ? { hasNoPage } : {}), list })}</th>
            <td>${own.map(({ section, detail }, index) => html`${index === 0 ? nothing : html`<br>`}<span class="soft">${section}</span> ${formatChange(detail)}`)}</td>
          </tr>`,
        )}</tbody>
      </table></div>
      ${more > 0 ? html`<button class="link" type="button" @click=${() => setQuery({ all: '1' })}>${formatQuantity(more, 'stock')} more</button>` : nothing}
      ${changes.notes.map((note) => html`<p class="soft">${formatDaysIn(note)}</p>`)}
    </section>
  `
}
