import { catchError, concatMap, defer, map, type Observable, of, tap } from 'rxjs'
import { createRedactor } from '../../model/redact.js'
import type { NOTIFY_CONDITIONS } from '../../model/settings.js'
import type { Brief } from '../../show/brief.js'
import { collectBrief } from '../brief/command.js'
import { readSymbols, type SymbolSelection } from '../options.js'
import type { EndedCommand, RunCommandContext } from '../run/context.js'
import { printWarning } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import { createPayload } from './payload.js'
import { describeDelivery, describeTarget, giveUpAfter, type NotifyTarget, sendNotification } from './send.js'

type Condition = (typeof NOTIFY_CONDITIONS)[number]

const MAX_MS = 60_000
/** The same after a signal: a service manager kills what does not end. */
const MAX_MS_AFTER_SIGNAL = 5_000

/**
 * Sends the notification of an ended run, if its condition holds. If it cannot be sent, a warning says so on stderr and in the log; it
 * changes nothing else. Emits once and never errors.
 */
export const notifyOfEnd = (
  ended: EndedCommand,
  context: RunCommandContext,
  retry: NotifyTarget['retry'] = {},
): Observable<'sent' | 'not due' | 'failed'> => {
  const { settings, io } = context
  const { notify, notifyOn, notifySecret: secret } = settings
  // After Ctrl+C, the user knows that the run ended.
  if (notify === undefined || ended.signal === 'SIGINT') return of('not due')
  const limit = ended.signal === undefined ? MAX_MS : MAX_MS_AFTER_SIGNAL
  const sent$ = defer(() => findDueBrief(notifyOn, ended, context)).pipe(
    concatMap((due) => {
      if (due === 'not due') return of(due)
      const payload = createPayload(ended, context, due.brief)
      return sendNotification(payload, { notify, secret, io, retry }).pipe(map(() => 'sent' as const))
    }),
  )
  return sent$.pipe(
    giveUpAfter(limit, io),
    tap((result) => result === 'sent' && context.log?.info({ to: describeTarget(settings) }, 'notification-sent')),
    catchError((error: unknown) => {
      const reason = clean(createRedactor(settings)(describeDelivery(error)))
      context.log?.warn({ to: describeTarget(settings), reason }, 'notification-failed')
      printWarning(`the notification to ${describeTarget(settings)} was not sent: ${reason}`, io.stderr)
      return of('failed' as const)
    }),
  )
}

/** The brief of a run whose notification is due; without a brief if the folder has none of this run. */
const findDueBrief = async (
  condition: Condition,
  { report, exitCode, signals = [] }: EndedCommand,
  context: RunCommandContext,
): Promise<{ readonly brief: Brief | undefined } | 'not due'> => {
  const isBad = exitCode !== 0 || report?.stale !== undefined
  const hasSignal = signals.some(({ notify }) => notify === true)
  if (!isBad && !hasSignal && condition === 'failure') return 'not due'
  // A run that failed as a whole, or had nothing to do, has changed nothing: the brief would be that of an earlier one.
  const isNew = report !== undefined && report.finishedBefore === undefined && report.outcome !== 'failed'
  const watchlist = findWatchlist(context)
  const found = isNew ? await collectBrief(context, { watchlist, verify: true }).catch(() => undefined) : undefined
  const brief = found?.run === report?.run ? found : undefined
  const isDue = isBad || hasSignal || condition === 'always' || (brief !== undefined && hasChanged(brief, watchlist))
  return isDue ? { brief } : 'not due'
}

const findWatchlist = ({ run, settings }: RunCommandContext): SymbolSelection => {
  if (run.symbols !== undefined) return { symbols: run.symbols, wrongSymbols: 'report' }
  const symbols = Object.keys(settings.watchlists).flatMap((name) => readSymbols(`@${name}`, settings).symbols ?? [])
  return symbols.length === 0 ? {} : { symbols, wrongSymbols: 'report' }
}

const hasChanged = ({ changes }: Brief, { symbols }: SymbolSelection): boolean =>
  changes.some(({ isWatched }) => isWatched || symbols === undefined)
