import { catchError, defer, firstValueFrom, NEVER, throwError } from 'rxjs'
import { UsageError } from '../model/errors.js'
import type { Settings } from '../model/settings.js'
import { disk } from '../storage/disk.js'
import { getErrorCode } from '../storage/file-system.js'
import { readCalendar } from '../storage/session-days.js'
import type { HubOptions, LiveSource } from '../web/server/live-hub.js'
import type { PageServer } from '../web/server/serve.js'
import { defineCommand } from './command.js'
import { findCommandName } from './command-line.js'
import type { Dependencies } from './dependencies.js'
import { describeInstall } from './hints.js'
import { flag, folderFlags, integerOption, readWatchlists } from './options.js'
import { whileServing } from './provider.js'

export const addServe = defineCommand({
  name: 'serve',
  about:
    'Serves a web page on the output folder: runs, market, stocks and queries. Only this machine can open it.',
  flags: () => ({
    ...folderFlags(),
    port: integerOption(
      '--port <n>',
      'port on 127.0.0.1 (default: 4173, or the next free one); 0 for any',
      [0, 65_535],
    ),
    answer: flag('--answer', 'answers the task on stdin; the page uses it').hideHelp(),
  }),
  examples: [
    ['scripstream serve', 'the page of ./data; open the printed address'],
    ['scripstream serve --out /srv/market --port 8080', 'another folder, a fixed port'],
    ['scripstream run --serve', 'the page of a run, from its start'],
  ],
  notes: [`Prices and figures need DuckDB: ${describeInstall(['@duckdb/node-api'])}`],
  endsBySignal: true,
  run: (flags, { io, dependencies, settings: load }) =>
    defer(() => {
      const settings = load()
      if (flags.answer)
        return import('./answer-process.js').then(({ answerTasks }) =>
          answerTasks(settings, io, dependencies),
        )
      if (!disk.existsSync(settings.out))
        throw new UsageError(`${settings.out} does not exist`, { code: 'no-outputs' })
      return whileServing(
        () => openPage({ settings, port: flags.port }, dependencies),
        ({ origin }) => {
          io.stdout.write(`Serving ${settings.out} at ${origin}; press Ctrl+C to stop.\n`)
          return NEVER
        },
      )
    }).pipe(catchError((error: unknown) => throwError(() => toPortError(error, '--port', flags.port)))),
})

interface PageChoice extends Pick<HubOptions, 'wall'> {
  readonly settings: Settings
  readonly port: number | undefined
  readonly live?: LiveSource
}

export const openPage = async (
  { settings, port, live, wall }: PageChoice,
  { streams, version, pageFolder }: Dependencies,
): Promise<PageServer> => {
  const { out, exchange, workers } = settings
  const { servePage } = await import('../web/server/serve.js')
  const { createAnswerProcesses } = await import('./answer-process.js')
  const { folder } = await import('../../sinks/folder.js')
  const { readSeenSessions } = await import('../engine/find-sessions.js')
  const calendar = readCalendar(settings)
  const readSeenCalendar = () => firstValueFrom(readSeenSessions(folder(out).stored, calendar))
  return servePage({
    out,
    exchange,
    workers,
    streams,
    readCalendar: readSeenCalendar,
    watchlists: readWatchlists(settings),
    version,
    pageFolder,
    command: findCommandName(),
    port,
    live,
    wall,
    ...createAnswerProcesses(settings),
  })
}

export const toPortError = (error: unknown, flag: string, port: number | undefined): unknown => {
  const code = getErrorCode(error)
  if (code === 'EADDRINUSE')
    return new UsageError(`${flag}: port ${port} is in use; choose another one, or 0 for any free port`)
  return code === 'EACCES'
    ? new UsageError(`${flag}: port ${port} is not allowed; choose 1024 or higher`)
    : error
}
