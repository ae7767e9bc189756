import type { Brief } from '../../show/brief.js'
import type { MorningMarket } from '../../show/index.js'
import { briefHead, briefParts, describeBreadth, marketTables } from './lines.js'

const escapeMarkdown = (text: string): string => text.replace(/[\\`*_{}[\]<>#|]/g, '\\$&')

export const briefMarkdown = (
  brief: Brief,
  market: MorningMarket,
  watched: readonly string[] = [],
): string => {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [
    `**${escapeMarkdown(briefHead(brief))}**`,
    ...briefParts(brief).map(({ title, lines }) =>
      [`### ${escapeMarkdown(title)}`, ...lines.map((line) => `- ${escapeMarkdown(line)}`)].join('\n'),
    ),
    escapeMarkdown(describeBreadth(market, brief.stale)),
    ...marketTables(market, watched).map(({ title, columns, rows, urls, problem, sum = '' }) =>
      [
        `### ${escapeMarkdown(title)}`,
        ...(problem === undefined ? [] : [`${escapeMarkdown(problem)}\n`]),
        ...(sum === '' ? [] : [`${escapeMarkdown(sum)}\n`]),
        row(columns.map((column) => column.replace('>', ''))),
        row(columns.map((column) => (column.startsWith('>') ? '--:' : '---'))),
        ...rows.map((cells, index) =>
          row(
            cells.map((cell, place) =>
              linkMarkdown(escapeMarkdown(cell), place === columns.length - 1 ? urls?.[index] : undefined),
            ),
          ),
        ),
      ].join('\n'),
    ),
    '',
  ].join('\n\n')
}

const linkMarkdown = (text: string, url: string | undefined): string =>
  url === undefined ? text : `[${text}](<${url.replace(/[\s<>"]/g, encodeURIComponent)}>)`
