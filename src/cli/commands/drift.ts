import { Argument } from 'commander'
import { acceptDriftCommand, type DriftFlags, driftCommand } from '../drift-command.js'
import { exampleText } from '../help.js'
import type { AddCommand } from './context.js'

const examples = [
  ['scripstream drift', 'how the answers of the last run differ from what they should be'],
  ['scripstream drift --json', 'the same for programs'],
  ['scripstream drift accept', 'record that as known: later runs no longer end with 3 for it'],
] as const

const EXIT_CODES = `
Exit codes:
  0  nothing has changed, or all of it is accepted
  1  the folder cannot be read or written
  2  wrong usage or configuration, or no run yet
  3  the answers have changed, and nobody has accepted it
`

export const addDrift: AddCommand = (program, { shell, parts, act }) => {
  program
    .command('drift')
    .description("Shows how the provider's answers have changed: fields that are gone, new, or of another type.")
    .addArgument(new Argument('[action]', 'accept: record what the last run saw as known').choices(['accept']))
    .option('--out <dir>', 'folder that the outputs are in (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if it is there)')
    .option('--json', 'print it as JSON, and nothing else, on stdout')
    .addHelpText('after', () => exampleText(examples) + EXIT_CODES)
    .action((action: 'accept' | undefined, flags: DriftFlags) =>
      act((action === 'accept' ? acceptDriftCommand : driftCommand)(flags, shell, parts)),
    )
}
