import type { Audit, AuditPart } from '../show/audit.js'
import { defineCommand } from './command.js'
import { choiceOption, folderFlags } from './options.js'
import { formatCount, formatQuantity } from './terminal/format.js'
import { type TextLine, wrapLines, wrapTitled } from './terminal/terminal.js'
import { clean } from './terminal/text.js'

export const addAudit = defineCommand({
  name: 'audit',
  about: 'Shows what a back-test on this folder costs: what it can prove about the past, and what not.',
  flags: () => ({ ...folderFlags(), format: choiceOption('--format <how>', 'default: text', ['text', 'json'] as const) }),
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
    return { lines: (columns) => auditLines(found, columns) }
  },
})

const auditLines = ({ folder, from, to, days, parts }: Audit, columns: number): readonly TextLine[] => [
  ...wrapLines(`A back-test on ${clean(folder)}: ${formatQuantity(days, 'recorded day')}, from ${from} to ${to}.`, columns, 'bold'),
  ...parts.flatMap((part) => partLines(part, columns)),
]

const partLines = ({ name, count, of, examples, proof, limit }: AuditPart, columns: number): readonly TextLine[] => [
  [],
  ...wrapTitled([name, 'bold'], `: ${formatCount(count)} of ${formatCount(of)}`, columns, count === 0 ? undefined : 'yellow'),
  ...examples.flatMap((text) => wrapLines(`  ${clean(text)}`, columns)),
  ...wrapLines(`  can prove: ${proof}`, columns, 'dim'),
  ...wrapLines(`  cannot: ${limit}`, columns, 'dim'),
]
