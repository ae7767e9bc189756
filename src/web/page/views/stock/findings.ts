import { html, nothing, type TemplateResult } from 'lit-html'
import type { StockFindings } from '../../../api/stock.js'
import { formatDay, formatFinding } from '../../parts/format.js'
import { emptyLine, panel } from '../../parts/panel.js'

/** What the checks of the candles found. Comparisons with other stocks are made by the command. */
export const findingsPanel = ({ rows, problems }: StockFindings, isChecked: boolean): TemplateResult =>
  panel({
    ...{ title: 'Data checks of the candles', about: {} },
    ...(rows.length === 0 ? {} : { total: rows.length }),
    content: html`
      ${problems.map((problem) => html`<p class="problem">${problem}</p>`)}
      ${rows.length === 0 ? emptyLine(isChecked ? 'Nothing found in its candles.' : 'Without candles there is nothing to check.') : nothing}
      <ul class="documents">${rows.slice(0, MAX_SHOWN).map(
        ({ severity, check, day, detail, isAccepted }) => html`<li>
          <p class="line"><span class=${severity === 'error' ? 'failed' : severity === 'warning' ? 'waiting' : 'soft'}>${severity}</span> ${check} <span class="soft">${day === undefined ? '' : formatDay(day)}</span>
            ${isAccepted ? html`<span class="tag">accepted</span>` : nothing}</p>
          <p class="text">${formatFinding(detail)}</p>
        </li>`,
      )}</ul>
      ${rows.length > MAX_SHOWN ? html`<p class="soft note">Only the first ${MAX_SHOWN} are shown; the command below lists all.</p>` : nothing}
      <p class="soft note">Not checked here, because it needs all stocks: missing sessions, candles shared with another stock, price bands, leftover files.
        <code>scripstream verify</code> checks them.</p>
    `,
  })

const MAX_SHOWN = 8
