import { CHECKS, checkNames } from '../../analysis/verify/finding.js'
import { exampleText } from '../help.js'
import { namesOption } from '../options.js'
import { readSize } from '../terminal.js'
import { wrap } from '../text.js'
import { readSymbols } from '../values.js'
import { type VerifyFlags, verifyCommand } from '../verify.js'
import type { AddCommand } from './context.js'

const examples = [
  ['scripstream verify', 'everything in ./data'],
  ['scripstream verify --only spliced-series,large-moves', 'two of the checks'],
  ['scripstream verify --symbols INFY,TCS', 'only findings of two stocks'],
  ['scripstream run && scripstream verify --json > findings.json', 'the daily run, then all findings as JSON'],
] as const

const VERIFY_EXIT_CODES = `
Exit codes:
  0  within the limits of the setting "verify"; without it, no errors
  1  the folder cannot be read
  2  wrong usage or configuration
  4  a limit is exceeded
`

export const addVerify: AddCommand = (program, { io, dependencies, act }) => {
  const checksText = (): string =>
    ['', 'Checks:', ...checkNames.flatMap((name) => [`  ${name}`, ...wrap(`      ${CHECKS[name]}`, readSize(io.stdout).columns)]), ''].join(
      '\n',
    )
  program
    .command('verify')
    .description('Checks the outputs of a folder and reports what is wrong.')
    .option('--out <dir>', 'output folder (default: ./data)')
    .option('--config <file>', 'settings file (default: scripstream.config.json, if present)')
    .addOption(namesOption('--only', 'only these checks', { what: 'check', known: checkNames, listedBy: '"scripstream verify --help"' }))
    .option('--symbols <symbols>', 'only findings of these stocks: A,B or @FILE', readSymbols)
    .option('--json', 'print all findings as JSON on stdout')
    .addHelpText('after', () => exampleText(examples) + checksText() + VERIFY_EXIT_CODES)
    .action((flags: VerifyFlags) => act(verifyCommand(flags, io, dependencies)))
}
