import { SECTIONS, sectionNames } from '../../analysis/diff/change.js'
import { type DiffFlags, diffCommand } from '../diff.js'
import { exampleText } from '../help.js'
import { namesOption } from '../options.js'
import { readSize } from '../terminal.js'
import { wrap } from '../text.js'
import { readSymbols } from '../values.js'
import type { AddCommand } from './context.js'

const examples = [
  ['scripstream diff', 'what the last run into ./data changed'],
  ['scripstream diff --only surveillance,bands,circuits', 'only these kinds of changes'],
  ['scripstream diff --symbols @watchlist.txt', 'only the stocks of a watchlist'],
  ['scripstream run && scripstream diff --json > changes.json', 'the daily run, then its changes as JSON'],
] as const

const DIFF_EXIT_CODES = `
Exit codes:
  0  done, with or without changes
  1  the folder cannot be read
  2  wrong usage or configuration
`

export const addDiff: AddCommand = (program, { io, dependencies, act }) => {
  const sectionsText = (): string =>
    [
      '',
      'Kinds:',
      ...sectionNames.flatMap((name) => [`  ${name}`, ...wrap(`      ${SECTIONS[name]}`, readSize(io.stdout).columns)]),
      '',
    ].join('\n')
  program
    .command('diff')
    .description('Shows what the last run changed: listings, surveillance, bands, circuits, deals, filings.')
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(
      namesOption('--only', 'only these kinds of changes', { what: 'kind', known: sectionNames, listedBy: '"scripstream diff --help"' }),
    )
    .option('--symbols <symbols>', 'only these stocks: A,B or @FILE', readSymbols)
    .option('--json', 'print all changes as JSON on stdout')
    .addHelpText('after', () => exampleText(examples) + sectionsText() + DIFF_EXIT_CODES)
    .action((flags: DiffFlags) => act(diffCommand(flags, io, dependencies)))
}
