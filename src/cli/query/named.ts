import { defer, type Observable } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import type { Command, CommandContext } from '../dependencies.js'
import { resolveSettings } from '../provider.js'
import { printJson, printLines } from '../terminal/print.js'
import { readSize, type TextLine } from '../terminal/terminal.js'
import { clean, wrap } from '../terminal/text.js'

interface FolderFlags {
  readonly out?: string | undefined
  readonly config?: string | undefined
}

/** Shows saved statements and worked ones. */
export const listQueries = (
  flags: FolderFlags,
  isJson: boolean,
  { io, dependencies }: Pick<CommandContext, 'io' | 'dependencies'>,
): Observable<number> =>
  defer(async () => {
    const { out } = resolveSettings(flags, io, dependencies)
    const { listSavedQueries } = await import('../../analysis/saved-queries.js')
    const { workedQueries } = await import('../../analysis/worked-queries.js')
    const all = [...(await listSavedQueries(out)), ...workedQueries]
    const { columns } = readSize(io.stdout)
    if (isJson) printJson(all, io.stdout)
    else
      printLines(
        all.flatMap(({ name, about, sql }, index): readonly TextLine[] => [
          ...(index === 0 ? [] : [[] as TextLine]),
          [[clean(name), 'bold']],
          ...wrap(`  ${about}`, columns).map((line): TextLine => [[line, 'dim']]),
          ...sql.split('\n').flatMap((line) => wrap(`  ${clean(line)}`, columns).map((text): TextLine => [[text]])),
        ]),
        io.stdout,
      )
    return 0
  })

interface SaveFlags extends FolderFlags {
  readonly name: string
  readonly sql: string | undefined
}

/** Saves a statement under a name. */
export const saveCommand: Command<SaveFlags> = ({ name, sql, ...flags }, io, dependencies) =>
  defer(async () => {
    if (sql === undefined || sql.trim() === '') throw new UsageError('query: the statement to be saved is missing')
    const { out } = resolveSettings(flags, io, dependencies)
    const { saveQuery } = await import('../../analysis/saved-queries.js')
    await saveQuery({ name, sql, out, streams: dependencies.streams })
    printLines([[[`Saved; to run it: scripstream query ${name}`]]], io.stdout)
    return 0
  })
