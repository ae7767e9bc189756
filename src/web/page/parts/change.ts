import { html, type TemplateResult } from 'lit-html'
import { formatSigned, MISSING } from './format.js'

/** A change in percent: its sign says what its colour says. */
export const changeText = (percent: number | undefined, decimals = 1): TemplateResult => {
  const text = formatSigned(percent, decimals)
  const tone = text.startsWith('+') ? 'up' : text.startsWith('−') ? 'down' : 'soft'
  return html`<span class=${tone}>${text === MISSING ? text : `${text} %`}</span>`
}

/** The same with an arrow, where there is no column of others. */
export const changeArrow = (percent: number | undefined): TemplateResult => {
  const isFlat = percent === undefined || percent === 0
  return html`<span class=${isFlat ? 'soft' : percent > 0 ? 'up' : 'down'}>${isFlat ? '' : percent > 0 ? '▲ ' : '▼ '}${formatSigned(percent, 2)} %</span>`
}
