import { Argument } from 'commander'
import { acceptDriftCommand, type DriftFlags, driftCommand } from '../drift-command.js'
import { exampleText } from '../help.js'
import type { AddCommand } from './context.js'

const examples = [
  ['scripstream drift', 'how the answers of the last run differ from the expected ones'],
  ['scripstream drift --json', 'the same as JSON'],
  ['scripstream drift accept', 'accept these changes: later runs no longer end with 3 for them'],
] as const

const DRIFT_EXIT_CODES = `
Exit codes:
  0  no changes, or all changes are accepted
  1  the folder cannot be read or written
  2  wrong usage or configuration, or no run yet
  3  the answers have changed, and the changes are not accepted
`

export const addDrift: AddCommand = (program, { io, dependencies, act }) => {
  program
    .command('drift')
    .description("Shows how the provider's answers have changed: missing fields, new fields, other types.")
    .addArgument(new Argument('[action]', 'accept: record the changes of the last run as known').choices(['accept']))
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .option('--json', 'print JSON on stdout')
    .addHelpText('after', () => exampleText(examples) + DRIFT_EXIT_CODES)
    .action((action: 'accept' | undefined, flags: DriftFlags) =>
      act((action === 'accept' ? acceptDriftCommand : driftCommand)(flags, io, dependencies)),
    )
}
