import { html, nothing, type TemplateResult } from 'lit-html'
import { PageError } from './fetch-json.js'

/** A place where there is nothing to show: why, and what to do. */
export const emptyState = (title: string, advice: unknown): TemplateResult => html`
  <div class="state"><h1>${title}</h1><p>${advice}</p></div>
`

/** What went wrong, with a way to try again. */
export const errorState = (error: unknown, retry: () => void): TemplateResult => {
  const isMissing = error instanceof PageError && error.status === 404
  return html`
    <div class="state" role="alert">
      <h1>${isMissing ? 'Not found' : 'This could not be loaded'}</h1>
      <p>${(error as Error).message}</p>
      ${isMissing ? nothing : html`<button type="button" @click=${retry}>Try again</button>`}
    </div>
  `
}

/**
 * A part of a view: what it shows once it is there, and until then that it is on its way, or why it is not
 * there.
 */
export const whenThere = <T extends object>(
  part: T | Error | undefined,
  show: (part: T) => TemplateResult,
): TemplateResult => {
  if (part === undefined) return html`<p class="loading empty soft" role="status">Loading …</p>`
  return part instanceof Error ? html`<p class="problem" role="alert">${part.message}</p>` : show(part)
}

/** Grey lines where data will be; they are seen only after 300 ms. */
export const loadingState = (): TemplateResult => html`
  <div class="loading" role="status" aria-label="Loading">${[62, 94, 88, 91, 70].map((width) => html`<div .style=${`width:${width}%`}></div>`)}</div>
`
