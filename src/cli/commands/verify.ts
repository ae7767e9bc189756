import { CHECKS, checkNames } from '../../checks/finding.js'
import { exampleText } from '../help.js'
import { namesOption } from '../options.js'
import { sizeOf } from '../terminal.js'
import { wrap } from '../text.js'
import { readSymbols } from '../values.js'
import { type VerifyFlags, verifyCommand } from '../verify.js'
import type { AddCommand } from './context.js'

const examples = [
  ['scripstream verify', 'everything in ./data'],
  ['scripstream verify --only spliced-series,large-moves', 'two of the checks'],
  ['scripstream verify --symbols INFY,TCS', 'what is found of two stocks'],
  ['scripstream run && scripstream verify --json > findings.json', 'the evening, then all findings for programs'],
] as const

const EXIT_CODES = `
Exit codes:
  0  no limit of the setting "verify" is passed; without it, there is no error
  1  the folder cannot be read
  2  wrong usage or configuration
  4  a limit is passed
`

export const addVerify: AddCommand = (program, { shell, parts, act }) => {
  const checksText = (): string =>
    [
      '',
      'Checks:',
      ...checkNames.flatMap((name) => [`  ${name}`, ...wrap(`      ${CHECKS[name]}`, sizeOf(shell.stdout).columns)]),
      '',
    ].join('\n')
  program
    .command('verify')
    .description('Checks the outputs of a folder, and says what is wrong with them.')
    .option('--out <dir>', 'folder that the outputs are in (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if it is there)')
    .addOption(namesOption('--only', 'only these checks', { what: 'check', known: checkNames, shownBy: '"scripstream verify --help"' }))
    .option('--symbols <symbols>', 'only what is found of these stocks: A,B or @FILE', readSymbols)
    .option('--json', 'print all findings as JSON, and nothing else, on stdout')
    .addHelpText('after', () => exampleText(examples) + checksText() + EXIT_CODES)
    .action((flags: VerifyFlags) => act(verifyCommand(flags, shell, parts)))
}
