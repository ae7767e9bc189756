import { defer, map, type Observable } from 'rxjs'
import type { Section } from '../analysis/diff/change.js'
import type { Difference } from '../analysis/diff/diff.js'
import { formatJson } from '../model/text.js'
import { changeLines } from './changes.js'
import type { Command } from './dependencies.js'
import { resolveSettings } from './provider.js'
import { paintLine, readSize } from './terminal.js'

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
    const settings = resolveSettings({ out, config }, { env }, dependencies)
    const toText = (difference: Difference): string =>
      changeLines(difference, readSize(stdout).columns)
        .map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, stdout)}\n`)
        .join('')
    return defer(async () => {
      const { diff } = await import('./folder-readers.js')
      return diff(settings.out, { exchange: settings.exchange, only, symbols })
    }).pipe(
      map((difference) => {
        stdout.write(json ? `${formatJson(difference, 2)}\n` : toText(difference))
        return 0
      }),
    )
  })
