import type { Audit } from '../show/audit.js'
import { defineCommand } from './command.js'
import { choiceOption, folderFlags } from './options.js'
import type { AnswerLine } from './terminal/terminal.js'
import { formatCount, formatQuantity } from './terminal/text.js'

export const addAudit = defineCommand({
  name: 'audit',
  about: 'Shows what a back-test on this folder costs: what it can prove about the past, and what not.',
  flags: () => ({
    ...folderFlags(),
    format: choiceOption('--format <how>', 'default: text', ['text', 'json'] as const),
  }),
  examples: [
    ['scripstream audit', 'one page'],
    ['scripstream audit --format json', 'for programs'],
  ],
  needs: ['@duckdb/node-api'],
  run: async ({ format }, { settings, dependencies: { streams } }) => {
    const { out, exchange } = settings()
    const { audit } = await import('../show/audit.js')
    const found = await audit(out, { streams, exchange })
    if (format === 'json') return { text: `${JSON.stringify(found, undefined, 2)}\n` }
    return { lines: () => auditLines(found) }
  },
})

const auditLines = ({ folder, from, to, days, parts }: Audit): readonly AnswerLine[] => [
  [[`A back-test on ${folder}: ${formatQuantity(days, 'recorded day')}, from ${from} to ${to}.`, 'bold']],
  ...parts.flatMap(({ name, count, of, examples, proof, limit }): readonly AnswerLine[] => [
    '',
    [
      [name, 'bold'],
      [`: ${formatCount(count)} of ${formatCount(of)}`, count === 0 ? undefined : 'yellow'],
    ],
    ...examples.map((text) => `  ${text}`),
    [[`  can prove: ${proof}`, 'dim']],
    [[`  cannot: ${limit}`, 'dim']],
  ]),
]
