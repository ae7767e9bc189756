import { z } from 'zod'
import { UsageError, type UsageIssue } from '../model/errors.js'
import { isRow } from '../model/row.js'
import { findUnknownNames, rejectIssues } from '../model/settings-issues.js'
import { DAYS, MASTER, type Output, type Phase, type StreamDefinition } from './define-stream.js'

const PHASE_ORDER = ['core', 'enrichment', 'candles'] as const satisfies readonly Phase[]

/** What an output of each shape may have besides its shape, file and tables. */
const OUTPUT_FIELDS: Readonly<Record<Output['shape'], readonly string[]>> = {
  'rows-in-one-file': ['sortBy', 'keepsWhenEmpty', 'changesDaily', 'tradedOn'],
  'array-per-item': ['changesDaily', 'tradedOn', 'select', 'emptyWhenLost', 'keepsWhenEmpty', 'omitsEmpty'],
  'document-per-item': ['document'],
  'candles-per-item': [],
  text: [],
}

const STREAM_FIELDS: Readonly<Record<keyof StreamDefinition, true>> = {
  name: true,
  summary: true,
  phase: true,
  position: true,
  optional: true,
  workers: true,
  timeoutMs: true,
  endpoints: true,
  options: true,
  work: true,
  after: true,
  followsAsOf: true,
  publishedAt: true,
  offers: true,
  outputs: true,
  look: true,
}

/** Whether a value, such as an export of a module, is a stream definition. */
export const isStream = (value: unknown): value is StreamDefinition =>
  isRow(value) &&
  typeof value.name === 'string' &&
  isRow(value.work) &&
  Array.isArray(value.endpoints) &&
  Array.isArray(value.outputs)

const SortBy = z.strictObject({
  key: z.custom((key) => typeof key === 'function', 'must be a function'),
  direction: z.enum(['ascending', 'descending']).optional(),
})

/** Facts that a stream written in JavaScript may get wrong. */
const Definition = z.looseObject({
  name: z.string().regex(/^[a-z][a-z0-9-]*$/, 'use lower-case letters, digits and -'),
  summary: z.string(),
  phase: z.enum(PHASE_ORDER),
  workers: z.int().min(1),
  timeoutMs: z.int().min(1),
  publishedAt: z.iso.time({ precision: -1, error: 'use HH:MM' }).optional(),
  options: z
    .record(
      z.string(),
      z.custom<z.ZodType>((schema) => {
        const { description, resume } = (schema as z.ZodType).meta() ?? {}
        return description !== undefined && (resume === 'any' || resume === 'same')
      }, "its meta needs a description, and resume: 'any' or 'same'"),
    )
    .optional(),
  endpoints: z.array(z.looseObject({ name: z.string(), host: z.string(), path: z.string() })),
  outputs: z
    .array(
      z.looseObject({
        shape: z.enum(Object.keys(OUTPUT_FIELDS)),
        file: z.string(),
        sortBy: SortBy.optional(),
      }),
    )
    .min(1),
})

/** Throws a `UsageError` for a definition with a wrong fact or an unknown field. */
const checkFacts = (stream: StreamDefinition, place: number): void => {
  if (!isStream(stream))
    throw new UsageError(
      `streams[${place}] is not a stream: it needs name, work, endpoints and outputs; use defineStream`,
    )
  const title = `invalid stream ${JSON.stringify(stream.name)}: `
  const wrong = Definition.safeParse(stream).error?.issues ?? []
  rejectIssues(
    wrong.map(({ path, message }) => ({ path: path.join('.'), message: `${path.join('.')}: ${message}` })),
    title,
  )
  const find = (owner: object, names: readonly string[], path: string) =>
    findUnknownNames(Object.keys(owner), { what: 'field', names }, (name) => `${path}${name}`)
  const ofOutputs = stream.outputs.flatMap((output, index) =>
    find(output, ['shape', 'file', 'tables', ...OUTPUT_FIELDS[output.shape]], `outputs.${index}.`),
  )
  rejectIssues([...find(stream, Object.keys(STREAM_FIELDS), ''), ...ofOutputs], title)
}

/**
 * Throws a `UsageError` for a file or a table that two streams have, and for wrong outputs or an endless
 * wait.
 */
const checkDefinitions = (streams: readonly StreamDefinition[]): void => {
  const owners = new Map<string, string>()
  const claim = (what: string, { name }: StreamDefinition): void => {
    const owner = owners.get(what)
    if (owner !== undefined)
      throw new UsageError(`duplicate ${what}: ${owner} and ${name} have it; rename one of the two`)
    owners.set(what, name)
  }
  for (const stream of streams) {
    checkOneFileOutputs(stream)
    checkAfter(stream, streams)
    for (const { file, tables = [] } of stream.outputs) {
      claim(`output ${file}`, stream)
      for (const table of tables) claim(`table ${table.name}`, stream)
    }
  }
}

/**
 * The records of a stream wait in one journal, in the order of the listed stocks or of its own parts, for the
 * one file that they go to.
 */
const checkOneFileOutputs = ({ name, outputs, work }: StreamDefinition): void => {
  const count = outputs.filter(({ shape }) => shape === 'rows-in-one-file').length
  if (count > 1)
    throw new UsageError(
      `invalid stream ${JSON.stringify(name)}: outputs: only one may have the shape rows-in-one-file`,
    )
  if (count > 0 && work.of !== undefined && work.of !== MASTER)
    throw new UsageError(
      `invalid stream ${JSON.stringify(name)}: outputs: rows-in-one-file needs the stocks or parts of its own, not ${work.of}`,
    )
}

/**
 * Throws a `UsageError` if a stream would wait for one that runs later, or that waits for it: the run would
 * never end.
 */
const checkAfter = (stream: StreamDefinition, streams: readonly StreamDefinition[]): void => {
  for (const source of findAwaited(stream, streams)) {
    const isLater =
      stream.phase === 'core' &&
      (source.phase !== 'core' || streams.indexOf(source) >= streams.indexOf(stream))
    if (isLater || source === stream) {
      const why = source === stream ? 'which waits for it' : 'which runs later'
      throw new UsageError(
        `invalid stream ${JSON.stringify(stream.name)}: after: it waits for ${source.name}, ${why}`,
      )
    }
  }
}

/** The streams that a stream waits for, directly or through others. */
const findAwaited = (
  stream: StreamDefinition,
  streams: readonly StreamDefinition[],
): ReadonlySet<StreamDefinition> => {
  const awaited = new Set<StreamDefinition>()
  const add = ({ after = [] }: StreamDefinition): void => {
    for (const source of streams.filter(({ name }) => after.includes(name)))
      if (!awaited.has(source)) {
        awaited.add(source)
        add(source)
      }
  }
  add(stream)
  return awaited
}

/**
 * Throws a `UsageError` for a wrong definition, a duplicate name, or a stream that depends on one that is
 * missing, offers nothing or runs later.
 */
export const checkRegistry = (streams: readonly StreamDefinition[]): void => {
  streams.forEach(checkFacts)
  for (const [place, { name, phase, work }] of streams.entries()) {
    if (streams.findIndex((stream) => stream.name === name) !== place)
      throw new UsageError(`duplicate stream name: ${name}; rename one of the two`)
    if (name === MASTER && phase !== 'core')
      throw new UsageError(`invalid phase of ${MASTER}: it runs first, so its phase must be core`)
    if (work.of === undefined || work.of === DAYS) continue
    const source = streams.find((stream) => stream.name === work.of)
    if (source?.offers === undefined) {
      const why =
        source === undefined ? 'does not exist; add that stream' : 'offers nothing; define its offers'
      throw new UsageError(`${name} depends on ${work.of}, which ${why}`)
    }
    const isEarlier =
      PHASE_ORDER.indexOf(source.phase) < PHASE_ORDER.indexOf(phase) ||
      (source.phase === phase && (phase !== 'core' || streams.indexOf(source) < place))
    if (!isEarlier)
      throw new UsageError(
        `${name} depends on ${work.of}, which runs later; move one of them to another phase`,
      )
  }
  checkDefinitions(streams)
}

/** An issue for each name that is no stream's; `toPath` says where it is. */
export const findUnknownStreams = (
  names: readonly string[],
  streams: readonly Pick<StreamDefinition, 'name'>[],
  toPath: (name: string) => string,
): readonly UsageIssue[] =>
  findUnknownNames(names, { what: 'stream', names: streams.map(({ name }) => name) }, toPath)

/** The streams that a stream depends on, nearest first. */
export function* findSources(
  { work }: StreamDefinition,
  streams: readonly StreamDefinition[],
): Generator<StreamDefinition> {
  const source = streams.find(({ name }) => name === work.of)
  if (source === undefined) return
  yield source
  yield* findSources(source, streams)
}
