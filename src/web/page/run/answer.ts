import { html, nothing, type TemplateResult } from 'lit-html'
import {
  formatAgo,
  formatBytes,
  formatCountdown,
  formatDay,
  formatDayOf,
  formatDaysIn,
  formatDuration,
  formatInstant,
  formatNumber,
  formatPart,
  formatQuantity,
  formatTime,
} from '../../../model/format.js'
import type { LiveRunState, LiveStream } from '../../api/live.js'
import type { FolderChanges, FolderState } from '../../api/state.js'
import { formatCommand } from '../parts/fetch-json.js'
import { copyable } from '../parts/panel.js'
import { runPath } from '../parts/stock-link.js'
import { renderChecksLine } from './changes.js'

const TONE_MARKS = { ok: '✔', waiting: '!', failed: '✕' } as const

const RUNNING: readonly string[] = ['success', 'partial', 'failed', 'interrupted']

/** The first thing on the page: is the data complete and fresh, and what changed? */
export const renderAnswer = (
  { answer, last, checks }: FolderState,
  changes: FolderChanges | Error | 'elsewhere' | undefined,
  now: number,
): TemplateResult => html`
  <section class="answer">
    <h1><span class=${answer.tone} aria-hidden="true">${TONE_MARKS[answer.tone]}</span> ${answer.word}</h1>
    <p role="status">
      ${formatDaysIn(answer.text)}${answer.day && html` ${formatDay(answer.day)}.`}
      ${last && describeLast(last, now)}
    </p>
    ${last === undefined || changes === 'elsewhere' ? nothing : html`<p class="changed">${describeChanges(changes)}</p>`}
    ${checks && renderChecksLine(checks, runPath(checks.run))}
  </section>
`

const describeLast = (last: LiveRunState, now: number): TemplateResult => {
  const ran = last.streams.filter(({ state }) => RUNNING.includes(state))
  const whole = ran.filter(({ state }) => state === 'success').length
  const took = last.at - last.startedAt
  return html`${formatQuantity(last.stocks, 'stock')}, ${formatPart(whole, ran.length, 'stream')} complete, as of
    <b>${formatInstant(last.asOf)}</b>. The run took ${formatDuration(took)} and ended ${formatAgo(last.at, now)}.`
}

/** What a run changed, in numbers. */
export const describeChanges = (
  changes: FolderChanges | Error | undefined,
  path = '',
): TemplateResult | string => {
  if (changes === undefined) return 'What changed is being compared …'
  if (changes instanceof Error) return `What changed could not be compared: ${changes.message}`
  const { since, reason = '', sections, notes } = changes
  if (since === null) return `Nothing to compare with: ${formatDaysIn(reason)}.`
  const before = since.asOf === undefined ? 'the run before' : formatDayOf(Date.parse(since.asOf))
  const links = [
    ...sections.map(
      (one) => html`<a href=${path === '' ? '#changes' : path} title=${one.about}>${countSection(one)}</a>`,
    ),
    ...(notes.length > 0 ? [html`<a href=${path === '' ? '#changes' : path}>not all compared</a>`] : []),
  ]
  return html`${sections.length === 0 ? 'No change found since' : 'Changed since'} ${before}${links.map((link, index) => html`${index === 0 ? ': ' : ' · '}${link}`)}`
}

/** Such as `6 price bands`. */
const countSection = ({ section, count }: FolderChanges['sections'][number]): string => {
  const words = SECTION_WORDS[section] ?? section
  return `${formatNumber(count)}\u00a0${count === 1 ? words.replace(/s(?=$| with)/, '') : words}`
}

/** Sections whose names say little after a number. */
const SECTION_WORDS: Readonly<Record<string, string>> = {
  surveillance: 'surveillance changes',
  bands: 'price bands',
  circuits: 'circuit moves',
  actions: 'corporate actions',
  filings: 'stocks with filings',
  news: 'stocks with news',
}

/** The first thing while a run is active. `before` is what the folder holds until it ends. */
export const renderProgress = (
  run: LiveRunState,
  before: FolderState | undefined,
  now: number,
): TemplateResult => {
  const { share, done, total, leftMs, step, startedAt, isContinued, isRemainder } = run
  const percent = Math.floor(share * 100)
  const left = leftMs === undefined ? step : `${formatCountdown(leftMs)} left`
  const kind = isContinued
    ? 'Resumes an unfinished run. '
    : isRemainder
      ? 'Fetches what the last run lacked. '
      : ''
  return html`
    <section class="answer">
      <h1><span class="accent" aria-hidden="true">▸</span> Running: ${percent} %${left === undefined ? '' : `, ${left}`}</h1>
      <progress max="100" value=${share * 100} aria-label="Progress of the run">${percent} %</progress>
      <p>
        ${kind}${formatNumber(done)}${total === undefined ? nothing : html` of ${formatNumber(total)}`} items since ${formatTime(startedAt)}
        (${formatCountdown(now - startedAt)}), as of ${formatInstant(run.asOf)}.
      </p>
      <p class="changed">
        ${
          before?.last === undefined
            ? 'This is the first run of the folder.'
            : html`Until it ends, the folder holds the data as of ${formatInstant(before.last.asOf)}: ${before.answer.word.toLowerCase()}.`
        }
      </p>
    </section>
  `
}

/** The figures of the run as a whole. */
export const renderFigures = (run: LiveRunState): TemplateResult => {
  const sum = (read: (stream: LiveStream) => number | undefined): number =>
    run.streams.reduce((all, stream) => all + (read(stream) ?? 0), 0)
  const lost = sum(({ lost: own }) => own)
  const received = sum((stream) => stream.received)
  const hasEnded = run.outcome !== undefined
  const figures: readonly (readonly [name: string, value: string, tone?: string])[] = [
    ['stocks', formatNumber(run.stocks)],
    ['items', formatNumber(run.done)],
    ['items failed', formatNumber(lost), lost > 0 ? 'failed' : ''],
    ['requests', formatNumber(sum(({ requests }) => requests))],
    ['retries', formatNumber(sum(({ retries }) => retries))],
    ['rate limited', formatNumber(sum(({ rateLimited }) => rateLimited))],
    ...(received > 0 ? [['received', formatBytes(received)] as const] : []),
    ...(hasEnded
      ? []
      : [
          [
            'received per second',
            run.bytesPerSecond === undefined ? '–' : formatBytes(run.bytesPerSecond),
          ] as const,
        ]),
    ['files', formatNumber(sum(({ files }) => files))],
    ['stored', formatBytes(sum(({ stored }) => stored))],
  ]
  return html`<dl class="figures">${figures.map(([name, value, tone = '']) => html`<div><dt>${name}</dt><dd class=${tone}>${value}</dd></div>`)}</dl>`
}

/** The command that gets what is missing. */
export const renderFix = ({ folder, isActive, last }: FolderState): TemplateResult | typeof nothing => {
  if (folder === undefined || isActive) return nothing
  const isSimulated = document.documentElement.hasAttribute('data-simulated')
  const command = formatCommand(
    `run${isSimulated ? ` --simulate=${last?.stocks || 500}` : ''} --out ${folder}`,
  )
  return html`<p class="fix">A run fetches it: ${copyable(command)}${last === undefined ? html` To try it without a provider, add <code>--simulate</code>.` : nothing}</p>`
}

/** How long a stopped run has been silent, or nothing. */
export const renderLost = (
  isLost: boolean,
  at: number | undefined,
  now: number,
): TemplateResult | typeof nothing =>
  isLost
    ? html`<p class="banner waiting" role="alert">The server of this page does not answer${at === undefined ? nothing : html`; this is the state of ${formatCountdown(now - at)} ago`}. It goes on by itself once "${formatCommand('serve')}" runs again.</p>`
    : nothing
