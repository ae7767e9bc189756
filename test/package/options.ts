// An app that passes on options as it has them, `undefined` too: compiled with `exactOptionalPropertyTypes`.
import { of } from 'rxjs'
import * as lib from 'scripstream'
import { diff, duckdb, postgres, type QueryOptions, query, verify, wholeLake } from 'scripstream/analysis'
import * as define from 'scripstream/define'
import * as errors from 'scripstream/errors'
import { type FleetOptions, fleet, type WorkerOptions } from 'scripstream/fleet'
import { deadline, retryAfter429 } from 'scripstream/operators'
import { serveSimulator } from 'scripstream/simulator'
import { streams } from 'scripstream/streams'
import { createTrial } from 'scripstream/testing'

/** Every optional field of an object, as `undefined`; the others as they are. */
type Unset<T> = { [K in keyof T]: object extends Pick<T, K> ? undefined : T[K] }

type Shape<Name> = Extract<define.Output, { readonly shape: Name }>

declare const unset: <T>() => Unset<T>

export const collector = lib.createCollector({
  ...unset<lib.CollectorOptions>(),
  settings: unset<lib.SettingsInput>(),
  streams,
})
export const runs = [
  collector.run(unset<lib.RunOptions>()),
  collector.stream('market-news', unset<lib.StreamOptions>()),
]
export const settings = lib.loadSettings(unset<NonNullable<Parameters<typeof lib.loadSettings>[0]>>())
export const metrics = lib.createMetrics(unset<lib.MetricsOptions>())
export const follower: lib.Follower = unset<lib.Follower>()
export const reply: lib.HttpReply = unset<lib.HttpReply>()
export const table: define.TableFacts = unset<define.TableFacts>()
export const output: define.Output = {
  ...unset<Shape<'rows-in-one-file'>>(),
  sortBy: unset<NonNullable<Shape<'rows-in-one-file'>['sortBy']>>(),
  tables: [table],
}
export const endpoint = define.post(unset<define.EndpointDefinition<{ of: string }, string>>())
export const stream = define.defineStream({
  ...unset<define.StreamDefinition>(),
  work: define.perStock(() => of(define.createResult([1])), { where: undefined }),
  outputs: [unset<Shape<'array-per-item'>>()],
})
export const failures = [
  new errors.UsageError('a', { code: undefined, issues: undefined, cause: undefined }),
  new errors.TransportError('reset', 'a', { hasBegun: undefined, request: undefined, causes: undefined }),
  new errors.NothingAnsweredError('a', [{ code: 'dns', causes: undefined }]),
]
export const trial = createTrial(stream, {
  ...unset<Parameters<typeof createTrial>[1]>(),
  settings: unset<lib.SettingsInput>(),
})
export const operators = [
  retryAfter429({ throttleRetries: undefined, random: undefined }),
  deadline({ idleMs: 1, totalMs: undefined, transfer: undefined }),
]
export const answers = [
  verify('a', {
    streams: undefined,
    exchange: undefined,
    limits: undefined,
    only: undefined,
    symbols: undefined,
    deep: undefined,
  }),
  diff('a', { exchange: undefined, only: undefined, symbols: undefined }),
  query('a', 'b', unset<QueryOptions>()),
]
export const exports = [
  postgres('a', { streams, schema: undefined }),
  duckdb('a', { streams }),
  wholeLake({ streams, tables: undefined, warn: undefined }),
]
export const engine = fleet(unset<FleetOptions>())
export const worker: WorkerOptions = unset<WorkerOptions>()
export const simulator = serveSimulator({ ...unset<Parameters<typeof serveSimulator>[0]>(), endpoints: [] })
