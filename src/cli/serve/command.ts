import { Option } from 'commander'
import { catchError, defer, map, NEVER, throwError } from 'rxjs'
import { UsageError } from '../../model/errors.js'
import { disk } from '../../storage/disk.js'
import type { AddCommand, Command } from '../dependencies.js'
import { describeInstall } from '../install.js'
import { exampleText, type FolderFlags, integerOption, withFolderOptions } from '../options.js'
import { nameOrigin, resolveOrigins, resolveSettings, whileServing } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { openPage, toPortError } from './page-server.js'

interface ServeFlags extends FolderFlags {
  readonly port?: number
  readonly answer?: boolean
}

const examples = [
  ['scripstream serve', 'the page of ./data; open the printed address'],
  ['scripstream serve --out /srv/market --port 8080', 'another folder, a fixed port'],
  ['scripstream run --serve', 'the page of a run, from its start'],
] as const

export const addServe: AddCommand = (program, { io, dependencies, act }) => {
  withFolderOptions(
    program
      .command('serve')
      .description('Serves a web page on the output folder: runs, market, stocks and queries. Only this machine can open it.'),
  )
    .addOption(integerOption('--port <n>', 'port on 127.0.0.1 (default: 4173, or the next free one); 0 for any', [0, 65_535]))
    .addOption(new Option('--answer', 'answers the task on stdin; the page uses it').hideHelp())
    .addHelpText('after', () => `${exampleText(examples)}\nPrices and figures need DuckDB: ${describeInstall(['@duckdb/node-api'])}\n`)
    .action((flags: ServeFlags) => act(serveCommand(flags, io, dependencies)))
}

/** Serves the page until a signal. */
const serveCommand: Command<ServeFlags> = (flags, io, dependencies) =>
  defer(() => {
    const settings = resolveSettings(flags, io, dependencies)
    if (flags.answer) return import('../answer-process.js').then(({ answerTask }) => answerTask(settings, io, dependencies))
    if (!disk.existsSync(settings.out)) throw new UsageError(`${settings.out} does not exist`, { code: 'no-outputs' })
    return whileServing(
      () => openPage({ settings, port: flags.port }, dependencies),
      ({ origin }) => {
        io.stdout.write(`Serving ${settings.out} at ${origin}; press Ctrl+C to stop.\n`)
        return NEVER
      },
    )
  }).pipe(
    nameOrigin(resolveOrigins(flags, io, dependencies)),
    catchError((error: unknown) => throwError(() => toPortError(error, '--port', flags.port))),
    untilSignal(io.signal$),
    map((end) => (typeof end === 'string' ? toExitCode(end) : end)),
  )
