import { html, nothing, type TemplateResult } from 'lit-html'
import type { StockFinding } from '../../../api/stock.js'
import { formatDay } from '../../parts/format.js'
import { emptyLine, panel } from '../../parts/panel.js'

/** What the checks of the candles found. Comparisons with other stocks are made by the command. */
export const findingsPanel = (findings: readonly StockFinding[], isChecked: boolean): TemplateResult =>
  panel({
    ...{ title: 'Data checks of the candles', about: {} },
    ...(findings.length === 0 ? {} : { total: findings.length }),
    content: html`
      ${findings.length === 0 ? emptyLine(isChecked ? 'Nothing found in its candles.' : 'Without candles there is nothing to check.') : nothing}
      <ul class="documents">${findings.slice(0, MAX_SHOWN).map(
        ({ severity, check, day, detail, isAccepted }) => html`<li>
          <p class="line"><span class=${severity === 'error' ? 'failed' : severity === 'warning' ? 'waiting' : 'soft'}>${severity}</span> ${check} <span class="soft">${day === undefined ? '' : formatDay(day)}</span>
            ${isAccepted ? html`<span class="tag">accepted</span>` : nothing}</p>
          <p class="text">${detail}</p>
        </li>`,
      )}</ul>
      <p class="soft note">Comparisons with other stocks: <code>scripstream verify</code></p>
    `,
  })

const MAX_SHOWN = 8
