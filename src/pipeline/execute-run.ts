import { concatMap, finalize, map, type Observable, of, take, tap } from 'rxjs'
import type { RunEvent } from '../model/event.js'
import { finishRun, isFinal, stopOn } from './ending.js'
import { runGraph } from './graph.js'
import { inProcess } from './in-process.js'
import { createPasses } from './passes.js'
import { createRunServices, type OpenRun, type ServiceDependencies } from './run-services.js'
import { selectSymbols } from './select-symbols.js'
import { warnAboutHosts } from './warnings.js'

/** Runs the graph in an open session; emits the last event. */
export const executeRun = (dependencies: ServiceDependencies, open: OpenRun): Observable<RunEvent> => {
  const { engine = inProcess } = dependencies
  const { plan, options, session, eventBus, redact } = open
  const { run, close } = createRunServices(dependencies, open)
  const warn = (): void => warnAboutHosts(plan, run)
  return engine.begin(run, plan).pipe(
    concatMap((executor) =>
      runGraph(plan, selectSymbols(options.symbols, eventBus.emit), { ...run, executor, passes: createPasses(plan) }).pipe(
        stopOn(options.stop, run.activity),
        tap({ next: warn, error: warn }),
        finishRun(eventBus.tally, plan, run, redact),
        concatMap((end) => (isFinal(end, session) ? executor.finish().pipe(map(() => end)) : of(end))),
      ),
    ),
    take(1),
    finalize(close),
  )
}
