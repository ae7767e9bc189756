import { resolve } from 'node:path'
import { defer, firstValueFrom, forkJoin, map, type Observable, type ObservedValueOf, of, switchMap } from 'rxjs'
import { findAddress, listHosts } from '../../model/settings.js'
import { catchItemFailure } from '../../operators/catch-item-failure.js'
import type { StreamDefinition } from '../../pipeline/define-stream.js'
import { oncePerRun } from '../../pipeline/item.js'
import { planRun } from '../../pipeline/plan.js'
import { createIdentity } from '../../pipeline/record.js'
import { readKnownStocks, resolveSelection } from '../../pipeline/select-items.js'
import { createSessionRequest, decide, selectionLeft } from '../../pipeline/session-request.js'
import { type EndedRun, REPORT_FILE, type RunSelection, type SessionChoice } from '../../pipeline/storage.js'
import { inspectFolder, listStoredItems } from '../../storage/folder-session.js'
import { estimateLatency, estimateRunTime, estimateStream, findScript, type StreamEstimate } from './estimate.js'
import { type CountContext, countItems, type PlanInput } from './items.js'

/** Plans a run from the stored data of a folder. Sends no request, writes nothing. Errors with `UsageError` on wrong names or symbols. */
export const createForecast = (input: PlanInput, mayReduce = true): Observable<Forecast> =>
  defer(() => {
    const { streams, settings, stored, run, now } = input
    const plan = planRun(streams, settings, run)
    const forecastRest = (selection: RunSelection | undefined): Observable<Forecast> => {
      const { only, skip, symbols, pairs, ...others } = run
      if (selection === undefined) return createForecast(input, false)
      return createForecast({ ...input, run: { ...others, ...selection } }, false).pipe(map((rest) => ({ ...rest, isRemainder: true })))
    }
    return readKnownStocks(stored, run.symbols).pipe(
      switchMap(async (known) => {
        const record = { run: '', asOf: run.asOf ?? now, ...createIdentity({ ...resolveSelection(run, known), settings, plan }) }
        const { fresh = false, asOf } = run
        const facts = { startedAt: now, fresh, accept: [], mayReduce, isInstantGiven: asOf !== undefined }
        const wanted = { record, known, ...facts }
        const root = resolve(settings.out)
        const decision = await firstValueFrom(decide(plan, wanted, await inspectFolder(root)))
        if (decision.kind !== 'begin') return { known, decision, choice: { record, isContinued: false }, fetched: new Set<string>() }
        const { choice } = decision
        return { known, decision, choice, fetched: await listStoredItems(root, createSessionRequest(plan, settings, wanted), choice) }
      }),
      switchMap(({ known, decision, choice, fetched }) => {
        if (decision.kind === 'reduce') return selectionLeft(decision.remainder, stored, plan).pipe(switchMap(forecastRest))
        const complete = decision.kind === 'reuse' ? decision.ended : undefined
        const running = plan.flatMap(({ stream, state }) => (state === 'waiting' && !complete ? [stream] : []))
        return estimateRun(running, { ...input, known }, { ...choice, complete, fetched })
      }),
    )
  })

/** How the run would begin in the folder, and what it would find there. */
interface PlannedSession extends Pick<SessionChoice, 'record' | 'isContinued'> {
  readonly complete: EndedRun | undefined
  readonly fetched: ReadonlySet<string>
}

const estimateRun = (
  running: readonly StreamDefinition[],
  input: PlanInput & Pick<CountContext, 'known'>,
  { record, isContinued, complete, fetched }: PlannedSession,
) => {
  const { settings, stored } = input
  const notes = new Set<string>()
  const context = { ...input, asOf: record.asOf, fetched, shared: oncePerRun(), warn: (text: string) => void notes.add(text) }
  const last$ = stored.document(REPORT_FILE).pipe(catchItemFailure(() => of(undefined)))
  return forkJoin([countItems(running, context), last$]).pipe(
    map(([{ counted, stocks }, last]) => {
      const facts = counted.map((one) => ({
        ...{ ...one, script: findScript(last, one.stream.name), workers: settings.workers[one.stream.name] ?? one.stream.workers },
      }))
      const latency = input.latency ?? estimateLatency(facts)
      const streams = facts.map((one) => estimateStream(one, latency))
      const services = listHosts(settings).flatMap((service) => {
        const [own, url] = [streams.filter((stream) => stream.service === service), findAddress(settings, service)]
        return own.length === 0 ? [] : [{ service, at: url === undefined ? null : new URL(url).host, requests: sumBy(own, 'requests') }]
      })
      return {
        asOf: new Date(record.asOf).toISOString(),
        finishedBefore: complete?.report.finishedAt ?? null,
        continues: isContinued ? record.run : null,
        ...{ isRemainder: false, stocks, latency, requests: sumBy(streams, 'requests') },
        ms: estimateRunTime(streams),
        bytes: sumBy(streams, 'bytes'),
        ...{ streams, services, notes: [...notes] },
      }
    }),
  )
}

/** The document of `plan --json`: times in milliseconds, sizes in bytes, null where there is nothing. */
export type Forecast = ObservedValueOf<ReturnType<typeof estimateRun>>

const sumBy = (streams: readonly StreamEstimate[], field: 'requests' | 'bytes'): number =>
  streams.reduce((total, stream) => total + (stream[field] ?? 0), 0)
