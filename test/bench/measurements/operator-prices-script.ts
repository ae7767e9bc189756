import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { lastValueFrom, type MonoTypeOperatorFunction, mergeMap, type Observable, of, range } from 'rxjs'
import type * as Operators from '../../../src/limiter/index.js'
import type * as Pauses from '../../../src/operators/merge-map-with-pauses.js'
import type * as Room from '../../../src/operators/when-room.js'

/** By operator: the CPU µs that it adds to a request, or `mergeMap` to a value, for each round. */
export type OperatorPrices = Readonly<Record<string, readonly number[]>>

const [product = '', rounds = '', requests = ''] = process.argv.slice(2)
const importBuilt = (file: string): Promise<unknown> =>
  import(pathToFileURL(join(product, 'dist', file)).href)
const { catchItemFailure, createLimiter, deadline, retryAfter429, retryFailures } = (await importBuilt(
  'src/limiter/index.js',
)) as typeof Operators
const { mergeMapWithPauses } = (await importBuilt('src/operators/merge-map-with-pauses.js')) as typeof Pauses
const { whenRoom } = (await importBuilt('src/operators/when-room.js')) as typeof Room

const count = Number(requests)
/** Requests one after another, each answered at once. */
const inTurn = (operator?: MonoTypeOperatorFunction<number>) => (): Promise<number> =>
  lastValueFrom(range(count).pipe(mergeMap((value) => (operator ? of(value).pipe(operator) : of(value)), 1)))
const limiter = createLimiter()
const room$: Observable<unknown> = of()
const contestants: Readonly<Record<string, () => Promise<number>>> = {
  none: inTurn(),
  deadline: inTurn((source$) => source$.pipe(deadline({ idleMs: 10_000, totalMs: 60_000 }))),
  'createLimiter().through': inTurn((source$) => source$.pipe(limiter.through())),
  retryFailures: inTurn(retryFailures()),
  retryAfter429: inTurn(retryAfter429()),
  catchItemFailure: inTurn(catchItemFailure(() => of(0))),
  whenRoom: inTurn(whenRoom(() => true, room$)),
  mergeMapWithPauses: () => lastValueFrom(range(count).pipe(mergeMapWithPauses((value) => of(value), 1))),
}

const measure = async (run: () => Promise<number>): Promise<number> => {
  const from = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / count
}

const { none: _, ...operators } = contestants
const result = new Map(Object.keys(operators).map((name) => [name, [] as number[]]))
for (let round = -2; round < Number(rounds); round += 1) {
  const bare = await measure(contestants.none as () => Promise<number>)
  for (const [name, run] of Object.entries(operators)) {
    const micros = (await measure(run)) - bare
    // Two rounds let V8 optimize.
    if (round >= 0) result.get(name)?.push(micros)
  }
}
console.log(JSON.stringify(Object.fromEntries(result) satisfies OperatorPrices))
