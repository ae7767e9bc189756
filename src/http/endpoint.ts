import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { SampleMarket } from '../model/market.js'
import type { Host } from '../model/settings.js'

/** Receives the parsed answer for the drift check; throws if the answer must be refused. */
export type AnswerInspector = (answer: unknown) => void

/**
 * The header sets of the interface document: the usual ones, the usual ones with an Origin, none, or a
 * browser's.
 */
export type HeaderSet = 'usual' | 'origin' | 'bare' | 'browser'

/**
 * One endpoint of the provider: its request, how to read its answer, and what the simulator answers.
 * A POST sends `Input` as its JSON body; a GET fills the `{placeholders}` of its path from it.
 */
export interface Endpoint<Input, Answer> {
  readonly name: string
  readonly host: Host
  readonly method: 'GET' | 'POST'
  /** Relative to the host's base address; may have a query and `{placeholders}`. */
  readonly path: string
  readonly headers: HeaderSet
  /**
   * The schema of the request. Strict: the simulator refuses anything else with a 400 that names the field.
   */
  readonly input: z.ZodType<Input>
  /**
   * Reads the text of a 200. Must refuse a truncated text, except a CSV. `earlierIsins`: those that the stock
   * had in earlier lists, for `assertSameIsin`.
   *
   * @throws BadAnswerError the text is not an answer of this endpoint, or not to this input
   */
  readonly read: (
    text: string,
    input: Input,
    inspect?: AnswerInspector,
    earlierIsins?: readonly string[],
  ) => Answer
  /**
   * The schema of an answer, such as `dataEnvelope(z.array(Announcement))`, for the drift check: `read`
   * passes the parsed answer to its third parameter. See `row`.
   */
  readonly shape?: z.ZodType | undefined
  /**
   * Reads the bytes of a 200 to the same answer as `read`, only faster. Returns `undefined` if in doubt; then
   * `read` decides.
   */
  readonly readBytes?: ((body: Uint8Array) => Answer | undefined) | undefined
  /**
   * What the simulator answers: text as it is, anything else as JSON, `undefined` as a 404. Without it, a
   * 501.
   */
  readonly sample?: ((input: Input, market: SampleMarket) => unknown) | undefined
  /** Content type of a sample that is text. */
  readonly type?: 'text/csv' | 'text/html' | 'application/json' | undefined
}

/** An endpoint of any kind, for lists of endpoints. */
// biome-ignore lint/suspicious/noExplicitAny: endpoints of every kind; each schema checks its inputs
export type AnyEndpoint = Endpoint<any, unknown>

/** The definition that `get` and `post` take: without the method; headers default to `usual`. */
export type EndpointDefinition<Input, Answer> = Omit<Endpoint<Input, Answer>, 'method' | 'headers'> & {
  readonly headers?: HeaderSet | undefined
}

/**
 * Defines an endpoint that takes a JSON body.
 *
 * @example
 * const chain = post({
 *   name: 'chain', host: 'options', path: '/chain',
 *   input: z.strictObject({ symbol: z.string() }),
 *   read: (text) => json(Rows)(text).data ?? [],
 * })
 */
export const post = <Input, Answer>(endpoint: EndpointDefinition<Input, Answer>): Endpoint<Input, Answer> =>
  define(endpoint, 'POST')

/**
 * Defines an endpoint whose whole request is its URL.
 *
 * @example get({ name: 'daily', host: 'archive', path: '/daily/{day}.csv', input: z.strictObject({ day: z.string() }), read: csv(['SYMBOL']) })
 */
export const get = <Input extends Record<string, string>, Answer>(
  endpoint: EndpointDefinition<Input, Answer>,
): Endpoint<Input, Answer> => define(endpoint, 'GET')

const define = <Input, Answer>(
  { headers = 'usual', ...endpoint }: EndpointDefinition<Input, Answer>,
  method: 'GET' | 'POST',
): Endpoint<Input, Answer> => ({ ...endpoint, headers, method })

/** The schema of a part of a request that is always the same. */
export const exactly = <const T>(value: T): z.ZodType<T> =>
  z.custom<T>((given) => isDeepStrictEqual(given, value), `must be ${JSON.stringify(value)}`)
