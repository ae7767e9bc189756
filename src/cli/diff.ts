import { defer, map, type Observable } from 'rxjs'
import type { Section } from '../changes/change.js'
import type { Difference } from '../changes/diff.js'
import { jsonText } from '../model/json-text.js'
import { changeLines } from './changes.js'
import type { Command } from './parts.js'
import { settingsFor } from './provider.js'
import { paintLine, sizeOf } from './terminal.js'

export interface DiffFlags {
  readonly out?: string
  readonly config?: string
  readonly only?: readonly Section[]
  readonly symbols?: readonly string[]
  readonly json?: boolean
}

/** Prints the changes of the last run of a folder, and emits the exit code. */
export const diffCommand: Command<DiffFlags> = ({ out, config, only, symbols, json = false }, { stdout, env }, dependencies) =>
  defer((): Observable<number> => {
    const settings = settingsFor({ out, config }, { env }, dependencies)
    const toText = (difference: Difference): string =>
      changeLines(difference, sizeOf(stdout).columns)
        .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, stdout)}\n`)
        .join('')
    return defer(async () => {
      const { diff } = await import('./folder-readers.js')
      return diff(settings.out, { exchange: settings.exchange, only, symbols })
    }).pipe(
      map((difference) => {
        stdout.write(json ? `${jsonText(difference, 2)}\n` : toText(difference))
        return 0
      }),
    )
  })
