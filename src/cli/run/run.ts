import { concatMap, defer, finalize, type Observable, of, switchMap, tap } from 'rxjs'
import { createRunStats } from '../../model/run-stats.js'
import type { Settings } from '../../model/settings.js'
import type { Command, Dependencies, ProcessIo } from '../dependencies.js'
import { resolveFleet } from '../fleet.js'
import { resolveSettings, warnOfMisspeltVariables } from '../provider.js'
import { createProgress, resolveMode } from '../terminal/progress.js'
import { chooseGlyphs, readSize } from '../terminal/terminal.js'
import { clean, wrap } from '../terminal/text.js'
import { concludeRun } from './ending.js'
import type { RunFlags } from './flags.js'
import { exitOnSecondSignal, followRun } from './follow-run.js'
import { planRetry, printNothingFailed } from './retry.js'
import { createRunEvents, startLines } from './run-events.js'
import { checkSinks } from './sinks.js'

/** Runs the graph, shows the progress, and prints the outcome. */
export const runCommand: Command<RunFlags> = (flags, io, dependencies) =>
  defer(() => {
    warnOfMisspeltVariables(io, dependencies)
    const settings = resolveSettings(flags, io, dependencies)
    resolveFleet(flags.fleet, io.env)
    return checkSinks(flags.sinks, dependencies).pipe(switchMap(() => startOrRetry(flags, settings, io, dependencies)))
  })

const startOrRetry = (flags: RunFlags, settings: Settings, io: ProcessIo, dependencies: Dependencies): Observable<number> =>
  defer(() => {
    if (!flags.retryFailed) return runWithProgress(flags, settings, io, dependencies)
    return planRetry(flags.run, {
      folder: dependencies.storage(settings),
      streams: dependencies.streams,
      settings,
      now: io.scheduler.now(),
    }).pipe(
      switchMap((retry) => {
        if ('report' in retry) return of(printNothingFailed(retry.report, flags, io))
        io.stderr.write(`${clean(retry.note)}\n`)
        return runWithProgress({ ...flags, run: retry.run }, settings, io, dependencies)
      }),
    )
  })

const runWithProgress = (flags: RunFlags, settings: Settings, io: ProcessIo, dependencies: Dependencies): Observable<number> =>
  defer(() => {
    const tally = createRunStats()
    const mode = flags.quiet ? 'none' : resolveMode(flags.progress, io.stderr, io.env)
    const progress = createProgress(mode, { tally, stream: io.stderr, glyphs: chooseGlyphs(io.env), scheduler: io.scheduler })
    const event$ = createRunEvents({ flags, settings, io, dependencies }, progress).pipe(
      tap((event) => {
        if (flags.quiet) return
        for (const line of startLines(event, flags).flatMap((text) => wrap(text, readSize(io.stderr).columns)))
          progress.writeAbove(`${line}\n`)
      }),
    )
    const secondSignal = exitOnSecondSignal(io, progress, flags.args)
    const keepsProgress = flags.json || io.stdout.isTTY !== true
    return followRun(event$, { tally, progress, io, keepsProgress }).pipe(
      concatMap((ending) => concludeRun(ending, { flags, settings, io, dependencies })),
      finalize(() => secondSignal.unsubscribe()),
    )
  })
