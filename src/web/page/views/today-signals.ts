import { html, nothing, type TemplateResult } from 'lit-html'
import type { SignalRow } from '../../../show/answers.js'
import { asOfPath } from '../parts/as-of.js'
import { fetchJson } from '../parts/fetch-json.js'
import { panel } from '../parts/panel.js'
import { stockLink } from '../parts/stock-link.js'
import type { PageContext } from '../view.js'

let shown: { readonly key: string; rows: readonly SignalRow[] } | undefined

/** What standing queries found, once it is there; nothing without any. */
export const signalsPanel = (page: PageContext, run: string | undefined): TemplateResult | typeof nothing => {
  const path = asOfPath('/api/signals', page.place)
  const key = `${path} ${run}`
  if (shown?.key !== key) {
    const mine = { key, rows: shown?.rows ?? [] }
    shown = mine
    // Without an answer there is nothing to show.
    void fetchJson<readonly SignalRow[]>(path).then(
      (rows) => {
        mine.rows = rows
        page.update()
      },
      () => undefined,
    )
  }
  const { rows } = shown
  if (rows.length === 0) return nothing
  return panel({
    ...{ title: 'Signals', about: { day: rows[0]?.day ?? '' }, total: rows.length },
    content: html`<table><tbody>${rows.map(
      ({ rule, subject, text }) => html`<tr><td>${stockLink(subject)}</td><td>${rule}</td><td class="wide"><bdi>${text}</bdi></td></tr>`,
    )}</tbody></table>`,
  })
}
