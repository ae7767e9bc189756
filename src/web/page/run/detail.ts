import { html, nothing, type TemplateResult } from 'lit-html'
import {
  formatBytes,
  formatCountdown,
  formatDaysIn,
  formatNumber,
  formatPercent,
  formatQuantity,
  formatTime,
} from '../../../model/format.js'
import { groupBy } from '../../../model/map.js'
import { stripBrackets } from '../../../model/script-figures.js'
import type { LiveHost, LivePhase, LiveProblem, LiveRunState, LiveStream } from '../../api/live.js'
import { formatCommand } from '../parts/fetch-json.js'
import { stockLink } from '../parts/stock-link.js'
import { describeLosses, describePause, describeStream } from './words.js'

const STATUS_WORDS: Readonly<Record<string, string>> = {
  success: 'stored',
  empty: 'nothing there',
  skipped: 'up to date',
  rate_limit: 'rate limited',
  error: 'failed',
}

/** Everything about one stream, below the graph. */
export const renderDetail = (
  stream: LiveStream,
  phases: readonly LivePhase[],
  now: number,
  close: () => void,
): TemplateResult => {
  const about = phases.flatMap(({ streams }) => streams).find(({ name }) => name === stream.name)
  const note = describeStream(stream, now)
  const facts: readonly (readonly [string, string])[] = [
    [
      'items',
      `${formatNumber(stream.done)}${stream.total === undefined ? '' : ` of ${formatNumber(stream.total)}`}`,
    ],
    ...Object.entries(stream.statuses).map(
      ([status, count]) => [STATUS_WORDS[status] ?? status.replace('_', ' '), formatNumber(count)] as const,
    ),
    ...(stream.partial > 0 ? [['may lack rows', formatNumber(stream.partial)] as const] : []),
    ['requests', formatNumber(stream.requests)],
    ['retries', formatNumber(stream.retries)],
    ['rate limited', formatNumber(stream.rateLimited)],
    ['open requests', stream.inFlight === undefined ? 'on other machines' : formatNumber(stream.inFlight)],
    ['workers', formatNumber(stream.workers)],
    ['received', stream.received === undefined ? '–' : formatBytes(stream.received)],
    ['files', `${formatNumber(stream.files)}, ${formatBytes(stream.stored)}`],
  ]
  return html`
    <section class="detail" aria-label=${`Details of ${stream.name}`}>
      <h2>${stream.name} <span class=${note.tone}>${note.text}</span><button class="plain" type="button" aria-label="Close the details" @click=${close}>✕</button></h2>
      <p class="soft">${about?.summary ?? nothing}${about?.of && html`; one item for each row of ${about.of}`}</p>
      <dl class="figures">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      ${stream.error === undefined || isAmong(stream.failures, stream.error) ? nothing : html`<p class="failed">${stream.error}</p>`}
      ${stream.pauses.map((pause) => html`<p class="waiting">${describePause(pause, now)}</p>`)}
      ${renderProblems('Failed, or may lack rows', stream.failures)} ${renderProblems('Warnings', stream.warnings)}
    </section>
  `
}

const isAmong = (problems: readonly LiveProblem[], error: string): boolean =>
  problems.some(({ reason }) => reason === error)

/** The only item of a stream that is one list is called so. */
const ONLY = 'all'

const renderProblems = (title: string, problems: readonly LiveProblem[]): TemplateResult | typeof nothing =>
  problems.length === 0
    ? nothing
    : html`<h3>${title}</h3><ul class="problems">${problems.map(({ item, reason }) => html`<li>${item === undefined || item === ONLY ? nothing : html`<b>${item}</b> `}${reason}</li>`)}</ul>`

const SHOWN_ITEMS = 12

/** What the run lacks, by stream, with the reasons; nothing if it lacks nothing. */
export const renderLosses = (
  streams: readonly LiveStream[],
  phases: readonly LivePhase[],
  onChoose: (name: string) => void,
): TemplateResult | typeof nothing => {
  const ofStocks = new Set(
    phases.flatMap((phase) => phase.streams.filter(({ of }) => of === 'master-data').map(({ name }) => name)),
  )

  const lacking = streams.filter(
    ({ lost, partial, state, failures }) =>
      lost > 0 || partial > 0 || state === 'failed' || failures.length > 0,
  )
  if (lacking.length === 0) return nothing
  return html`
    <section class="losses">
      <h2>What is missing, and why</h2>
      ${lacking.map((stream) => {
        const { name, error, failures } = stream
        return html`
          <h3><button class="link" type="button" @click=${() => onChoose(name)}>${name}</button> <span class="failed">${describeLosses(stream)}</span></h3>
          ${error === undefined || isAmong(failures, error) ? nothing : html`<p>${error}</p>`}
          <ul class="problems">${groupByReason(failures).map(({ reason, items }) => html`<li>${reason}${items.length === 0 ? nothing : html`: ${items.slice(0, SHOWN_ITEMS).map((item, place) => html`${place === 0 ? nothing : ', '}${ofStocks.has(name) ? stockLink(item, { list: items }) : html`<b>${item}</b>`}`)}${items.length > SHOWN_ITEMS ? ` and ${formatNumber(items.length - SHOWN_ITEMS)} more` : ''}`}</li>`)}</ul>
        `
      })}
    </section>
  `
}

/** What else the run and its streams say: not a loss, but candles that end a day early, for example. */
export const renderWarnings = ({
  streams,
  notes = [],
}: Pick<LiveRunState, 'streams' | 'notes'>): TemplateResult | typeof nothing =>
  renderProblems('Warnings', [
    ...streams.flatMap(({ name, warnings }) =>
      warnings.map(({ reason }) => ({ item: name, reason: formatDaysIn(reason) })),
    ),
    ...notes.map((reason) => ({ reason })),
  ])

/** Failures with the same reason, as one. */
const groupByReason = (
  problems: readonly LiveProblem[],
): readonly { readonly reason: string; readonly items: readonly string[] }[] => {
  const groups = groupBy(problems, ({ reason }) => stripBrackets(reason))
  return [...groups].map(([reason, all]) => ({
    reason,
    items: all.flatMap(({ item = ONLY }) => (item === ONLY ? [] : [item])),
  }))
}

/** The workers of a fleet, with their share of the items. */
export const renderFleet = ({ fleet }: Pick<LiveRunState, 'fleet'>): TemplateResult | typeof nothing => {
  if (fleet === undefined) return nothing
  const all = fleet.workers.reduce((sum, { items }) => sum + items, 0)
  return html`
    <section>
      <h2>Workers ${fleet.isAway ? html`<span class="waiting">Redis is down: waiting for it</span>` : nothing}</h2>
      ${fleet.workers.length === 0 ? html`<p class="waiting">No worker is connected: start "${formatCommand('worker')}" with the same engine and blobs.</p>` : nothing}
      <div class="scroll"><table>
        <thead><tr><th>worker</th><th class="number">items</th><th class="number">share</th><th class="number">per second</th><th>state</th></tr></thead>
        <tbody>${fleet.workers.map(
          ({ name, items, perSecond, isThere }) => html`<tr>
            <td>${name}</td><td class="number">${formatNumber(items)}</td><td class="number">${formatPercent(all === 0 ? 0 : (items * 100) / all)}</td>
            <td class="number">${formatNumber(perSecond, 1)}</td><td class=${isThere ? 'ok' : 'failed'}>${isThere ? '✔ connected' : '✕ gone'}</td>
          </tr>`,
        )}</tbody>
      </table></div>
      ${fleet.others ? html`<p class="waiting">Of another build than this driver (${fleet.others.build}), and without items: ${fleet.others.workers.join(', ')}. Install the same on both.</p>` : nothing}
      ${fleet.stalled > 0 ? html`<p class="soft">${formatQuantity(fleet.stalled, 'item')} moved to another worker, because the first was gone or stalled.</p>` : nothing}
    </section>
  `
}

/** What each host allows: the rate limiter, in words. Nothing while no host has refused anything. */
export const renderHosts = (
  { hosts = [], streams }: Pick<LiveRunState, 'hosts' | 'streams'>,
  now: number,
): TemplateResult | typeof nothing => {
  if (hosts.length === 0) return nothing
  const pauses = new Map(streams.flatMap((stream) => stream.pauses).map((pause) => [pause.what, pause]))
  return html`<section class="hosts"><h2>Rate limits</h2><ul class="problems">${hosts.map((host) => {
    const pause = pauses.get(host.what)
    return html`<li><b>${host.what}</b> ${describeLimits(host)}${pause && html` <span class="waiting">held since ${formatTime(pause.since)}, next request in ${formatCountdown(pause.until - now)}</span>`}</li>`
  })}</ul></section>`
}

/** `at most 0.7 a second and 5 at once; 3 open, 12 waiting`. */
const describeLimits = ({ inFlight, waiting, maxInFlight, maxPerSecond }: LiveHost): string => {
  const limits = [
    ...(maxPerSecond === undefined
      ? []
      : [`${formatNumber(maxPerSecond, maxPerSecond < 9.95 ? 1 : 0)} a second`]),
    ...(maxInFlight === undefined ? [] : [`${formatNumber(maxInFlight)} at once`]),
  ]
  return `${limits.length === 0 ? '' : `at most ${limits.join(' and ')}; `}${formatNumber(inFlight)} open, ${formatNumber(waiting)} waiting`
}
