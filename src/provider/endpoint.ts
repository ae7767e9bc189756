import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { SampleMarket } from '../model/market.js'
import type { Host } from '../model/settings.js'
import type { Seen, Shape } from './shape.js'

/** The header sets of the interface document: a helper's usual ones, with an Origin besides, none of them, or a browser's. */
export type HeaderSet = 'usual' | 'origin' | 'bare' | 'browser'

/**
 * One call that the provider answers: how it is asked, how its answer is read, and what the embedded provider says to it.
 * A POST sends `Input` as its JSON body; a GET fills the `{placeholders}` of its path from it.
 */
export interface Endpoint<Input, Answer> {
  readonly name: string
  readonly host: Host
  readonly method: 'GET' | 'POST'
  /** Below the host's base address; may hold a query and `{placeholders}`. */
  readonly path: string
  readonly headers: HeaderSet
  /** What may be asked. Strict: the embedded provider refuses anything else with a 400 that names the field. */
  readonly input: z.ZodType<Input>
  /**
   * Reads the text of a 200; throws `BadAnswer` if it is not what this call gives, or not what `input` asked for. Of a text that was
   * cut anywhere it must not take what is there for the whole, a CSV excepted.
   */
  readonly read: (text: string, input: Input, seen?: Seen) => Answer
  /** What an answer looks like, if it is watched for drift: `read` then shows it to `seen` as soon as it is parsed. */
  readonly shape?: Shape
  /**
   * Reads the bytes of a 200 to the same answer as `read` does, only faster. Wherever it cannot be sure it returns nothing: then `read`
   * answers, or refuses.
   */
  readonly readBytes?: (body: Uint8Array) => Answer | undefined
  /** What the embedded provider answers: text as it is, anything else as JSON, `undefined` as a 404. Without it, a 501. */
  readonly sample?: (input: Input, market: SampleMarket) => unknown
  /** Content type of a sample that is text. */
  readonly type?: 'text/csv' | 'text/html' | 'application/json'
}

/** A call of any kind, where calls are listed. */
// biome-ignore lint/suspicious/noExplicitAny: a list of endpoints of every kind; inputs are checked by each one's schema
export type AnyEndpoint = Endpoint<any, unknown>

/** A call as `get` and `post` are given it: the method follows, and headers are the usual ones if absent. */
export type Described<Input, Answer> = Omit<Endpoint<Input, Answer>, 'method' | 'headers'> & { readonly headers?: HeaderSet }

/** A call with a JSON body. */
export const post = <Input, Answer>(endpoint: Described<Input, Answer>): Endpoint<Input, Answer> => ({
  headers: 'usual',
  ...endpoint,
  method: 'POST',
})

/** A call with everything in its address. */
export const get = <Input extends Record<string, string>, Answer>(endpoint: Described<Input, Answer>): Endpoint<Input, Answer> => ({
  headers: 'usual',
  ...endpoint,
  method: 'GET',
})

/** A part of a request that is always the same. */
export const exactly = <const T>(value: T): z.ZodType<T> =>
  z.custom<T>((given) => isDeepStrictEqual(given, value), `must be ${JSON.stringify(value)}`)

/** The path with its placeholders filled; a value keeps its slashes and nothing else that an address could mistake. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => (values[name] ?? '').split('/').map(encodeURIComponent).join('/'))
