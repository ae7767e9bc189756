import { html, nothing, type TemplateResult } from 'lit-html'
import { formatDay, formatDayOf, formatTime } from '../../../model/format.js'
import type { RecordedDay } from '../../api/state.js'
import type { PageContext, Place } from '../view.js'
import { findDays, listKnownDays } from './days.js'

/** The key of the day in the address. */
export const AS_OF = 'as-of'

/** A path of the API, as of the day of a place. */
export const asOfPath = (path: string, { query }: Pick<Place, 'query'>): string => {
  const day = query.get(AS_OF)
  return day === null ? path : `${path}${path.includes('?') ? '&' : '?'}${AS_OF}=${encodeURIComponent(day)}`
}

/** A choice of the day as of which everything is shown, as it was known then. */
export const dayPicker = (page: PageContext): TemplateResult | typeof nothing => {
  const days = findDays(page.update)
  const day = page.place.query.get(AS_OF)
  if (days.length < 2 && day === null) return nothing
  const choose = (next: string | undefined): void => page.setQuery({ [AS_OF]: next }, true)
  const newest = days[0]?.day
  const current = day ?? newest ?? ''
  const before = days.find((one) => one.day < current)?.day
  const after = days.findLast((one) => one.day > current)?.day
  const shown = day === null || days.some((one) => one.day === day) ? days : [{ day }, ...days]
  const step = (text: string, label: string, to: string | undefined): TemplateResult =>
    html`<button type="button" class="plain" aria-label=${label} ?disabled=${to === undefined} @click=${() => choose(to === newest ? undefined : to)}>${text}</button>`
  return html`<div class="day-picker">
    ${step('◂', 'The recorded day before', before)}
    <select aria-label="As known on" @change=${(event: Event) => choose((event.target as HTMLSelectElement).value || undefined)}>
      <option value="" .selected=${day === null}>now</option>
      ${shown.map((one) => html`<option value=${one.day} .selected=${one.day === day}>${formatDay(one.day)}</option>`)}
    </select>
    ${day === null ? nothing : step('▸', 'The recorded day after', after)}
  </div>`
}

/** Says that what is shown is not of now, and when it was known. */
export const asOfLine = ({ query }: Pick<Place, 'query'>): TemplateResult | typeof nothing => {
  const asked = query.get(AS_OF)
  if (asked === null) return nothing
  const found = listKnownDays().find((one) => one.day <= asked)
  return html`<p class="as-of" role="status">${found ? describeKnown(found, asked) : html`As of <b>${formatDay(asked)}</b>.`}
    Prices are divided by later splits and bonuses; of filings and news only documents that the newest files still have.</p>`
}

const describeKnown = ({ day, knownAt, timing, early = [] }: RecordedDay, asked: string): TemplateResult => {
  const at = Date.parse(knownAt)
  const about = {
    final: 'after the session',
    session: 'during the session',
    late: `too late for ${formatDay(day)}`,
  }[timing]
  return html`${day === asked ? '' : `No record of ${formatDay(asked)}. `}As known at ${formatTime(at).slice(0, 5)} IST on <b>${formatDayOf(at)}</b>, ${about}.${early.map((note) => ` ${note}.`)}`
}
