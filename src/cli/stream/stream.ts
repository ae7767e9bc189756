import { defer, EMPTY, filter, map, Observable, race, Subject, take, tap, throwIfEmpty } from 'rxjs'
import { callbackStorage } from '../../../sinks/memory.js'
import { describeWrongSymbol } from '../../market/symbols.js'
import type { RunEvent } from '../../model/event.js'
import { isLost } from '../../model/outcome.js'
import type { RunReport } from '../../model/report.js'
import { escapeUnprintable } from '../../model/text.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import type { Command, ProcessIo } from '../dependencies.js'
import { nameOrigin, type ProviderChoice, resolveOrigins, resolveSettings, withProvider } from '../provider.js'
import { toExitCode, untilSignal } from '../signals.js'
import { readSymbols } from '../symbols.js'
import type { TerminalStream } from '../terminal/terminal.js'
import { clean } from '../terminal/text.js'
import { toRecords } from './records.js'

export interface StreamFlags extends ProviderChoice {
  readonly name: string
  readonly symbols?: string | undefined
}

const STREAM_EXIT_CODES: Readonly<Record<RunReport['outcome'], number>> = { complete: 0, partial: 3, failed: 1, interrupted: 1 }

/**
 * Writes the records of one stream to stdout as they arrive, one line of JSON each, and failures to stderr. A slow reader slows down the
 * requests; a reader that closes the pipe ends the command, which is no failure.
 */
export const streamCommand: Command<StreamFlags> = ({ name, symbols, ...choice }, io, dependencies) =>
  defer(() =>
    withProvider(choice, { settings: resolveSettings(choice, io, dependencies), dependencies }, ({ settings, variant }) => {
      const { streams } = dependencies
      const stream = streams.find((one) => one.name === name)
      if (stream === undefined) throw new Error(`${name} was not checked`)
      const closed$ = new Subject<number>()
      const storage = callbackStorage(stream.outputs[0], (item) =>
        writeText(io.stdout, toNdjson(toRecords(stream, item)), () => closed$.next(0)),
      )
      const collector = dependencies.createCollector({ settings, streams, storage, clock: () => io.scheduler.now() })
      const { asOf } = choice
      const run = { ...readSymbols(symbols, settings), ...(asOf === undefined ? {} : { asOf }) }
      const code$ = collector.events({ ...run, only: [name], ...variant }).pipe(
        tap((event) => printEvent(event, stream, io)),
        filter((event) => event.type === 'run-finished'),
        map(({ report }) => STREAM_EXIT_CODES[report.outcome]),
        throwIfEmpty(() => new Error('the stream ended without a report')),
      )
      return race(code$, closed$).pipe(take(1))
    }),
  ).pipe(
    nameOrigin(resolveOrigins(choice, io, dependencies)),
    untilSignal(io.signal$),
    map((end) => {
      if (typeof end !== 'string') return end
      // Unread output of a stalled reader would keep the process alive.
      io.exit(toExitCode(end))
      return toExitCode(end)
    }),
  )

const toNdjson = (records: readonly object[]): string => records.map((record) => `${escapeUnprintable(JSON.stringify(record))}\n`).join('')

/** Completes when the reader has the text; calls `onClosed` if it has closed the pipe. */
const writeText = (stdout: TerminalStream, text: string, onClosed: () => void): Observable<never> =>
  text === ''
    ? EMPTY
    : new Observable((subscriber) => {
        stdout.write(text, (error) => (error ? onClosed() : subscriber.complete()))
      })

/** One line for each lost or incomplete item, and for a failure of the stream or the run. */
const printEvent = (event: RunEvent, { name }: StreamDefinition, { stderr }: Pick<ProcessIo, 'stderr'>): void => {
  const say = (text: string, kind: 'error' | 'warning' = 'error'): void => void stderr.write(`${kind}: ${clean(text)}\n`)
  if (event.type === 'warning') say(`${event.stream}: ${event.text}`, 'warning')
  if (event.type === 'wrong-symbols') for (const wrong of event.symbols) say(`not listed, or renamed: ${describeWrongSymbol(wrong)}`)
  if (event.type === 'item-finished' && event.stream === name) {
    if (isLost(event)) say(`${event.item}: ${event.status}: ${event.reason ?? 'unknown reason'}`)
    else if (event.degraded !== undefined) say(`${event.item}: may be incomplete: ${event.degraded}`, 'warning')
  }
  if (event.type === 'stream-finished' && event.stream === name && event.error !== undefined) say(`${name} failed: ${event.error}`)
  if (event.type === 'run-finished' && event.report.error !== undefined) say(event.report.error)
}
