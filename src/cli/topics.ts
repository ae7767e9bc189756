import type { Command, Option } from 'commander'
import { CHECKS, checkNames } from '../verify/finding.js'
import { EXIT_CODES } from './command.js'
import type { Dependencies } from './dependencies.js'

/** Whether an option is in no help of a command only because it is rare: it has a group there. */
export const isRareFlag = ({ hidden, helpGroupHeading }: Option): boolean =>
  hidden && helpGroupHeading !== undefined

export const topics: Readonly<
  Record<string, (program: Command, dependencies: Dependencies) => readonly string[]>
> = {
  settings: (program, { settingRows, streams }) => [
    'Settings (precedence: flag, environment, file, default):',
    ...settingRows(streams).flatMap(({ name, env, default: usual, description }) => [
      `  ${name}${env === '' ? '' : `  (${env})`}`,
      `      ${description}${usual === '' ? '' : `; default ${usual}`}`,
    ]),
    '',
    'More flags of "scripstream run":',
    ...(
      program.commands.find((command) => command.name() === 'run')?.options.filter(isRareFlag) ?? []
    ).flatMap((option) => [
      `  ${option.flags}`,
      `      ${option.description}${option.argChoices ? `: ${option.argChoices.join(', ')}` : ''}`,
    ]),
  ],
  'exit-codes': () => [
    'Exit codes:',
    ...Object.entries(EXIT_CODES).map(([code, meaning]) => `  ${code.padEnd(15)}${meaning}`),
  ],
  checks: () => [
    'Checks of "scripstream verify":',
    ...checkNames.flatMap((name) => [`  ${name}`, `      ${CHECKS[name]}`]),
  ],
}
