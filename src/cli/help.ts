import type { SettingRow } from '../config.js'
import { Fault, faultModes } from '../simulator/faults.js'
import { wrap } from './text.js'

export const exampleText = (list: readonly (readonly [command: string, note: string])[]): string =>
  ['', 'Examples:', ...list.flatMap(([command, note]) => [`  ${command}`, `      ${note}`]), ''].join('\n')

export const EXIT_CODES = `
Exit codes:
  0              complete
  1              the critical step failed, the outputs could not be written,
                 or another run holds the folder or the fleet
  2              wrong usage or configuration, or a Redis that cannot be used
  3              finished, but something is missing, or answers have changed
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal; the same
                 command continues
`

/** What an entry of a `--faults` file may hold. */
export const faultsText = (columns: number): string =>
  [
    '',
    'A fault in a --faults file:',
    ...Object.entries(Fault.shape).flatMap(([name, schema]) =>
      wrap(`  ${name}: ${name === 'mode' ? `one of ${faultModes.join(', ')}` : (schema.description ?? '')}`, columns),
    ),
    '',
  ].join('\n')

/** Everything that can be set, with its variable and default. */
export const settingsText = (rows: readonly SettingRow[], columns: number): string =>
  [
    '',
    ...wrap('Settings (a flag wins over the environment, that over the file, that over the default):', columns),
    ...rows.flatMap(({ name, env, default: usual, description }) => [
      `  ${name}${env === '' ? '' : `  (${env})`}`,
      ...wrap(`      ${description}${usual === '' ? '' : `; default ${usual}`}`, columns),
    ]),
    '',
  ].join('\n')
