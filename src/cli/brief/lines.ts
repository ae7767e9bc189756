import type { Brief, Freshness, StockChanges } from '../../analysis/brief/brief.js'
import type { Change } from '../../analysis/diff/change.js'
import { formatMinute } from '../../model/trading-day.js'
import { OUTCOME_WORDS } from '../run/summary.js'
import { formatCount, formatDuration, formatQuantity } from '../terminal/format.js'
import type { TextLine } from '../terminal/terminal.js'
import { clean, cut, padEnd, wrap } from '../terminal/text.js'

/** A part of the brief: a title and its lines, as plain text. Every format prints the same parts. */
export interface BriefPart {
  readonly title: string
  readonly lines: readonly string[]
  readonly links?: readonly { readonly text: string; readonly url: string }[]
}

const STOCKS_SHOWN = 8
const FINDINGS_SHOWN = 3

/** The first line: what the run did. */
export const briefHead = ({ outcome, asOf, stocks, durationMs, error, newestSession }: Brief): string =>
  [
    `${OUTCOME_WORDS[outcome][0]}: as of ${formatMinute(Date.parse(asOf))} (${formatQuantity(stocks, 'stock')}, ${formatDuration(durationMs)}`,
    newestSession === undefined ? '' : `, newest session ${newestSession}`,
    error === undefined ? ').' : `): ${clean(error)}`,
  ].join('')

/** All that the brief says, part by part. A part without lines is left out. */
export const briefParts = (brief: Brief): readonly BriefPart[] => {
  const { outputs, changes, counts, since, findings, notes } = brief
  const sums = Object.entries(counts).filter(([, count]) => count > 0)
  const shown = changes.filter(({ isWatched }, index) => isWatched || index < STOCKS_SHOWN)
  const parts: readonly BriefPart[] = [
    { title: 'Not up to date', lines: outputs.filter(isStale).map(describeOutput) },
    {
      title:
        since === null
          ? 'Nothing to compare with yet'
          : `Changed since ${since.asOf === undefined ? 'the run before' : formatMinute(Date.parse(since.asOf))}: ${sums.map(([name, count]) => `${name} ${formatCount(count)}`).join(', ') || 'nothing'}`,
      lines: [
        ...shown.map(describeStock),
        ...(changes.length > shown.length ? [`and ${formatQuantity(changes.length - shown.length, 'stock')} more (scripstream diff)`] : []),
      ],
    },
    {
      title: findings === undefined ? '' : `New findings: ${formatCount(findings.length)}`,
      lines: [
        ...(findings ?? [])
          .slice(0, FINDINGS_SHOWN)
          .map(({ symbol, file, day, detail }) =>
            clean(`${[symbol ?? file, day].filter((part) => part !== undefined).join(' ')}: ${detail}`),
          ),
        ...((findings?.length ?? 0) > FINDINGS_SHOWN
          ? [`and ${formatCount((findings?.length ?? 0) - FINDINGS_SHOWN)} more (scripstream verify)`]
          : []),
      ],
    },
    { title: 'Not compared', lines: notes.map(clean) },
  ]
  return parts.filter(({ title, lines }) => lines.length > 0 || title.startsWith('Changed') || title.startsWith('Nothing'))
}

const isStale = ({ outcome, missing }: Freshness): boolean => outcome === 'failed' || outcome === 'partial' || missing !== undefined

const describeOutput = ({ stream, outcome, missing, completeOn }: Freshness): string =>
  [
    `${stream}: ${outcome}`,
    ...(missing === undefined ? [] : [missing === 'all' ? 'all of it is missing' : `${formatQuantity(missing, 'item')} missing`]),
    completeOn === undefined ? 'never complete' : `last complete on ${completeOn}`,
  ].join(', ')

const describeStock = ({ symbol, isWatched, changes }: StockChanges): string =>
  `${padEnd(`${clean(symbol)}${isWatched ? ' *' : ''}`, 14)} ${changes.map(describeChange).join('; ')}`

const describeChange = ({ section, detail }: Change): string => `${section}: ${clean(detail)}`

/** For a terminal. */
export const briefLines = (brief: Brief, columns: number): readonly TextLine[] => {
  const [word, style] = OUTCOME_WORDS[brief.outcome]
  const [head = '', ...more] = wrap(briefHead(brief), columns)
  return [
    [[word, style], [head.slice(word.length)]],
    ...more.map((line): TextLine => [[line]]),
    ...briefParts(brief).flatMap(({ title, lines }): readonly TextLine[] => [
      [[cut(title, columns), 'bold']],
      ...lines.map((line): TextLine => [[cut(`  ${line}`, columns)]]),
    ]),
  ]
}

const escapeMarkdown = (text: string): string => text.replace(/[\\`*_{}[\]<>#|]/g, '\\$&')

/** For a message or an issue. */
export const briefMarkdown = (brief: Brief): string =>
  [
    `**${escapeMarkdown(briefHead(brief))}**`,
    ...briefParts(brief).map(({ title, lines }) =>
      [`### ${escapeMarkdown(title)}`, ...lines.map((line) => `- ${escapeMarkdown(line)}`)].join('\n'),
    ),
    '',
  ].join('\n\n')

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')

/** For a mail: one self-contained document without scripts. */
export const briefHtml = (brief: Brief): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(briefHead(brief))}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:50rem;margin:1rem auto;padding:0 1rem;color-scheme:light dark}h2{font-size:1rem;margin:1rem 0 .2rem}ul{margin:0;padding-left:1.2rem}</style>
</head>
<body>
<p><strong>${escapeHtml(briefHead(brief))}</strong></p>
${briefParts(brief)
  .map(
    ({ title, lines }) =>
      `<h2>${escapeHtml(title)}</h2>\n${lines.length === 0 ? '' : `<ul>\n${lines.map((line) => `<li>${escapeHtml(line)}</li>`).join('\n')}\n</ul>`}`,
  )
  .join('\n')}
</body>
</html>
`
