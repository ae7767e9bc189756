import {
  catchError,
  concatMap,
  defer,
  lastValueFrom,
  type MonoTypeOperatorFunction,
  map,
  type Observable,
  of,
  tap,
  throwError,
} from 'rxjs'
import { formatError, UsageError } from '../../model/errors.js'
import { createRedactor } from '../../model/redact.js'
import type { Settings } from '../../model/settings.js'
import type { Brief } from '../../show/brief.js'
import { collectBrief } from '../brief/command.js'
import type { Answer, Input } from '../command.js'
import { readWatchlists, type SymbolSelection } from '../options.js'
import type { EndedCommand, RunCommandContext } from '../run/context.js'
import { printWarning } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import { createPayload, type Facts, type Payload } from './payload.js'
import { describeDelivery, describeTarget, giveUpAfter, type NotifyTarget, sendNotification } from './send.js'

type NotifyContext = Pick<RunCommandContext, 'settings' | 'io'> & Partial<Pick<RunCommandContext, 'log'>>

/** The changes of a run are left out after this time; all attempts to send take at most that time. */
const MAX_MS = { brief: 30_000, sending: 60_000 } as const
/** The same after a signal: a service manager kills what does not end. */
const MAX_MS_AFTER_SIGNAL = { brief: 2_000, sending: 3_000 } as const

/**
 * Sends the notification of an ended run, if its condition holds. It needs nothing but its address: whatever
 * fails while its text is made becomes a line in it. If it cannot be sent, a warning says so on stderr and in
 * the log. Emits once and never errors.
 */
export const notifyOfEnd = (
  ended: EndedCommand,
  context: RunCommandContext,
  retry: NotifyTarget['retry'] = {},
): Observable<'sent' | 'not due' | 'failed'> => {
  // After Ctrl+C, the user knows that the run ended.
  if (context.settings.notify === undefined || ended.signal === 'SIGINT') return of('not due')
  const limits = ended.signal === undefined ? MAX_MS : MAX_MS_AFTER_SIGNAL
  return defer(() => findDueFacts(ended, context, limits.brief)).pipe(
    concatMap((facts) => {
      if (facts === 'not due') return of(facts)
      const { settings, flags } = context
      const payload = createPayload(ended, { settings, isSimulated: flags.simulate !== undefined }, facts)
      return deliver(payload, context, { retry, maxMs: limits.sending })
    }),
    catchError((error: unknown) => warnNotSent(error, context)),
  )
}

/** Sends a payload to the target of the settings. Emits once and never errors. */
const deliver = (
  payload: Payload,
  context: NotifyContext,
  { retry = {}, maxMs = MAX_MS.sending }: Pick<NotifyTarget, 'retry'> & { readonly maxMs?: number } = {},
): Observable<'sent' | 'failed'> => {
  const { settings, io, log } = context
  const { notify = '', notifySecret: secret } = settings
  return sendNotification(payload, { notify, secret, io, retry }).pipe(
    giveUpAfter(maxMs, io),
    map(() => 'sent' as const),
    tap(() => log?.info({ to: describeTarget(settings) }, 'notification-sent')),
    catchError((error: unknown) => warnNotSent(error, context)),
  )
}

const describeRefusedDelivery = (error: unknown, settings: Settings): string =>
  clean(createRedactor(settings)(describeDelivery(error)))

const warnNotSent = (error: unknown, { settings, io, log }: NotifyContext): Observable<'failed'> => {
  const reason = describeRefusedDelivery(error, settings)
  log?.warn({ to: describeTarget(settings), reason }, 'notification-failed')
  printWarning(`the notification to ${describeTarget(settings)} was not sent: ${reason}`, io.stderr)
  return of('failed')
}

interface Message extends Omit<Facts, 'notes' | 'brief'> {
  readonly exitCode: number
}

const createMessage = ({ exitCode, ...facts }: Message, { settings, io }: NotifyContext): Payload =>
  createPayload(
    { exitCode, at: io.scheduler.now() },
    { settings, isSimulated: false },
    { notes: [], ...facts },
  )

/** Sends one message, whatever the condition is; emits whether it has arrived, and never errors. */
export const sendMessage = (
  message: Message,
  { settings, io }: Pick<NotifyContext, 'settings' | 'io'>,
): Observable<{ readonly result: 'ok' | 'failed'; readonly found: string }> => {
  const { notify, notifySecret: secret } = settings
  if (notify === undefined)
    return of({ result: 'failed', found: 'the setting "notify" names no address and no command' })
  const to = describeTarget(settings)
  return sendNotification(createMessage(message, { settings, io }), { notify, secret, io }).pipe(
    giveUpAfter(MAX_MS.sending, io),
    map(() => ({ result: 'ok' as const, found: `a message was sent to ${to}` })),
    catchError((error: unknown) =>
      of({ result: 'failed' as const, found: `${to}: ${describeRefusedDelivery(error, settings)}` }),
    ),
  )
}

interface ScheduledCommand {
  readonly command: string
  /** Whether it was started with `--quiet`, as schedules do. */
  readonly isScheduled: boolean | undefined
  readonly describe: (answer: Exclude<Answer, number>) => Pick<Facts, 'headline' | 'findings'>
}

/**
 * Notifies of the failure of a command that follows a run in a schedule, such as `verify`. Mirrors the
 * source.
 */
export const notifyOfFailure = (
  { command, isScheduled = false, describe }: ScheduledCommand,
  { notifySettings, io }: Input,
): MonoTypeOperatorFunction<Answer> => {
  const send = (exitCode: number, facts: Pick<Facts, 'headline' | 'findings'>): Observable<unknown> =>
    defer(() => {
      const settings = notifySettings()
      if (settings.notify === undefined) return of(undefined)
      const context = { settings, io }
      return deliver(createMessage({ command, exitCode, ...facts }, context), context)
    })
  return (answer$) => {
    if (!isScheduled) return answer$
    return answer$.pipe(
      catchError((error: unknown) =>
        send(error instanceof UsageError ? 2 : 1, { headline: formatError(error) }).pipe(
          concatMap(() => throwError(() => error)),
        ),
      ),
      concatMap((answer) => {
        if (typeof answer === 'number' || !answer.code) return of(answer)
        return send(answer.code, describe(answer)).pipe(map(() => answer))
      }),
    )
  }
}

/**
 * What the notification of a run says besides how the run ended, if one is due. A brief of another run is
 * left out.
 */
const findDueFacts = async (
  { report, exitCode, signals = [] }: EndedCommand,
  context: RunCommandContext,
  maxMs: number,
): Promise<Facts | 'not due'> => {
  const { notifyOn } = context.settings
  const isBad = exitCode !== 0 || report?.stale !== undefined
  const hasSignal = signals.some(({ notify }) => notify === true)
  if (!isBad && !hasSignal && notifyOn === 'failure') return 'not due'
  const notes: string[] = []
  const watchlist = findWatchlist(context, notes)
  // A run that failed as a whole, or had nothing to do, has changed nothing: the brief would be that of an
  // earlier one.
  const isNew = report !== undefined && report.finishedBefore === undefined && report.outcome !== 'failed'
  const found = isNew ? await findBrief(watchlist, { context, notes, maxMs }) : undefined
  const brief = found?.run === report?.run ? found : undefined
  const isDue =
    isBad ||
    hasSignal ||
    notifyOn === 'always' ||
    notes.length > 0 ||
    (brief !== undefined && hasChanged(brief, watchlist))
  return isDue ? { command: 'run', brief, notes } : 'not due'
}

/** The brief of the folder; undefined, with a note, if it cannot be made in time. */
const findBrief = (
  watchlist: SymbolSelection,
  {
    context,
    notes,
    maxMs,
  }: { readonly context: RunCommandContext; readonly notes: string[]; readonly maxMs: number },
): Promise<Brief | undefined> =>
  lastValueFrom(
    defer(() => collectBrief(context, watchlist)).pipe(
      giveUpAfter(maxMs, context.io),
      catchError((error: unknown) => {
        notes.push(`changes and findings are left out: ${formatError(error)}`)
        return of(undefined)
      }),
    ),
  )

const findWatchlist = ({ run, settings }: RunCommandContext, notes: string[]): SymbolSelection => {
  if (run.symbols !== undefined) return { symbols: run.symbols, wrongSymbols: 'report' }
  const lists = readWatchlists(settings, ({ message }) => void notes.push(message))
  const symbols = Object.values(lists).flat()
  return symbols.length === 0 ? {} : { symbols, wrongSymbols: 'report' }
}

const hasChanged = ({ changes }: Brief, { symbols }: SymbolSelection): boolean =>
  changes.some(({ isWatched }) => isWatched || symbols === undefined)
