import type { SettingRow } from '../config.js'
import { Fault, faultModes } from '../simulator/conditions.js'
import { wrap } from './text.js'

export const exampleText = (list: readonly (readonly [command: string, note: string])[]): string =>
  ['', 'Examples:', ...list.flatMap(([command, note]) => [`  ${command}`, `      ${note}`]), ''].join('\n')

export const RUN_EXIT_CODES = `
Exit codes:
  0              complete
  1              the master list failed, the outputs could not be written, or
                 another run has locked the folder or the fleet
  2              wrong usage or configuration, or an unusable Redis
  3              finished, but something is missing, or answers have changed
  130, 143, 129  interrupted by Ctrl+C, TERM or a closed terminal; run the same
                 command to resume
`

/** The fields of an entry of a `--faults` file. */
export const faultsText = (columns: number): string =>
  [
    '',
    'Fields of a fault in a --faults file:',
    ...Object.entries(Fault.shape).flatMap(([name, schema]) =>
      wrap(`  ${name}: ${name === 'mode' ? `one of ${faultModes.join(', ')}` : (schema.description ?? '')}`, columns),
    ),
    '',
  ].join('\n')

/** All settings, with their variables and defaults. */
export const settingsText = (rows: readonly SettingRow[], columns: number): string =>
  [
    '',
    ...wrap('Settings (precedence: flag, environment, file, default):', columns),
    ...rows.flatMap(({ name, env, default: usual, description }) => [
      `  ${name}${env === '' ? '' : `  (${env})`}`,
      ...wrap(`      ${description}${usual === '' ? '' : `; default ${usual}`}`, columns),
    ]),
    '',
  ].join('\n')
