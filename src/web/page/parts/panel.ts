import { html, nothing, type TemplateResult } from 'lit-html'
import {
  formatCrore,
  formatDay,
  formatDaysIn,
  formatInstant,
  formatNumber,
  formatSigned,
  MISSING,
} from '../../../model/format.js'
import type { About } from '../../../show/answers.js'

/** Of which day data is, when it was fetched, and what is wrong with it. */
export const aboutLine = ({ day, fetchedAt, problem }: About): TemplateResult => {
  const fetched = Date.parse(fetchedAt ?? '')
  const when = Number.isNaN(fetched) ? nothing : `Fetched ${formatInstant(fetched)}`
  return html`
    ${day && html`<span class="about" title=${when}>${formatDay(day)}</span>`}
    ${problem && html`<p class="problem">${formatDaysIn(problem)}</p>`}
  `
}

interface PanelParts {
  readonly title: string
  readonly about: About
  /** How many there are, if the rows are cut. */
  readonly total?: number
  /** Where the whole list is. */
  readonly list?: string
  /** Beside the title, such as buttons. */
  readonly tools?: TemplateResult
  readonly content: TemplateResult
}

/**
 * A part of a view: its title, the day of its data, and its content. Room is kept, so that nothing jumps when
 * data comes.
 */
export const panel = ({ title, about, total, list, tools, content }: PanelParts): TemplateResult => html`
  <section class="panel" aria-label=${title}>
    <div class="head">
      <h2>${list === undefined ? title : html`<a href=${list}>${title}</a>`}${total === undefined || total === 0 ? nothing : html` <span class="soft">${formatNumber(total)}</span>`}</h2>
      ${list && html`<a class="all" href=${list} aria-label=${`All of ${title}`}>all ▸</a>`}
      ${tools ?? nothing}
      ${aboutLine(about)}
    </div>
    <div class="body">${content}</div>
  </section>
`

const WAITING_ROOM = 'min-height:168px'

/**
 * What a list says that has nothing to show; nothing if it is not known, of which the head of the panel has
 * the reason.
 */
export const emptyLine = (text: string, { problem }: About = {}): TemplateResult =>
  problem === undefined ? html`<p class="soft empty">${text}</p>` : html``

/** A panel whose data is on its way, with the room that it will take. */
export const waitingPanel = (title: string): TemplateResult =>
  panel({
    title,
    about: {},
    content: html`<p class="loading empty soft" role="status" .style=${WAITING_ROOM}>Loading …</p>`,
  })

/** Buttons of which one is chosen. */
export const choices = (
  label: string,
  all: readonly (readonly [value: string, text: string])[],
  { chosen, choose }: { readonly chosen: string; readonly choose: (value: string) => void },
): TemplateResult => html`
  <div class="choices" role="group" aria-label=${label}>
    ${all.map(([value, text]) => html`<button type="button" class="plain" aria-pressed=${value === chosen} @click=${() => choose(value)}>${text}</button>`)}
  </div>
`

/** What is wrong, or to be known, a sentence each. */
export const sentences = (
  texts: readonly string[],
  style: 'problem' | 'soft' = 'problem',
): readonly TemplateResult[] => texts.map((text) => html`<p class=${style}>${formatDaysIn(text)}</p>`)

/** A title, with a link to its document if there is one. */
export const documentTitle = (title: string, url: string | undefined): TemplateResult =>
  html`<bdi>${url === undefined ? title : html`<a href=${url} target="_blank" rel="noreferrer">${title}</a>`}</bdi>`

/** What was bought, or sold if it is negative, in the colour of a rise or a fall. */
export const dealValue = (crore: number | undefined): unknown =>
  crore === undefined ? nothing : html`<span class=${crore < 0 ? 'down' : 'up'}>${formatCrore(crore)}</span>`

/** A change in percent: its sign says what its colour says. */
export const changeText = (percent: number | undefined, decimals = 1): TemplateResult => {
  const text = formatSigned(percent, decimals)
  const tone = text.startsWith('+') ? 'up' : text.startsWith('-') ? 'down' : 'soft'
  return html`<span class=${tone}>${text === MISSING ? text : `${text} %`}</span>`
}

/** The same with an arrow, where there is no column of others. */
export const changeArrow = (percent: number | undefined): TemplateResult => {
  const isFlat = percent === undefined || percent === 0
  return html`<span class=${isFlat ? 'soft' : percent > 0 ? 'up' : 'down'}>${isFlat ? '' : percent > 0 ? '▲ ' : '▼ '}${formatSigned(percent, 2)} %</span>`
}

/** How a sentiment is shown: by a word, and a colour where it matters. */
export const sentimentText = (sentiment: string): TemplateResult => {
  const tone = sentiment === 'negative' ? 'down' : sentiment === 'positive' ? 'up' : 'soft'
  return html`<span class=${tone}>${sentiment}</span>`
}

/** A command with a button that copies it. */
export const copyable = (command: string): TemplateResult =>
  html`<code>${command}</code> ${navigator.clipboard && html`<button type="button" @click=${(event: Event) => copyFrom(event, command)}>Copy</button>`}`

/** Copies a text; the button that was clicked says so. */
export const copyFrom = ({ currentTarget }: Event, text: string): void =>
  void navigator.clipboard.writeText(text).then(() => {
    ;(currentTarget as HTMLButtonElement).textContent = 'Copied'
  })
