import { html, nothing, type TemplateResult } from 'lit-html'
import type { SignalRow } from '../../../show/answers.js'
import { asOfPath } from '../parts/as-of.js'
import { createLater, type Later } from '../parts/fetch-json.js'
import { panel } from '../parts/panel.js'
import { stockLink } from '../parts/stock-link.js'
import type { PageContext } from '../view.js'

let own: { readonly page: PageContext; readonly later: Later<readonly SignalRow[]> } | undefined

/** What standing queries found, once it is there; nothing without any. */
export const signalsPanel = (page: PageContext, run = ''): TemplateResult | typeof nothing => {
  if (own?.page !== page) own = { page, later: createLater(page.update, true) }
  const rows = own.later.read(`${asOfPath('/api/signals', page.place)}#${run}`)
  if (rows === undefined || rows instanceof Error || rows.length === 0) return nothing
  return panel({
    ...{ title: 'Signals', about: { day: rows[0]?.day ?? '' }, total: rows.length },
    content: html`<table><tbody>${rows.map(
      ({ rule, subject, text }) => html`<tr><td>${stockLink(subject)}</td><td>${rule}</td><td class="wide"><bdi>${text}</bdi></td></tr>`,
    )}</tbody></table>`,
  })
}
