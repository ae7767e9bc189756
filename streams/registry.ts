/**
 * The built-in streams: all of them as `streams`, each one by its name, and the types of their rows.
 *
 * @module scripstream/streams
 * @public
 */
import { type StreamDefinition, sortByPosition } from '../src/engine/define-stream.js'
import { isStream } from '../src/engine/registry.js'
import * as scripts from './index.js'

export * from './index.js'

type Scripts = typeof scripts

/** The built-in streams among the exports of the scripts; the others are row schemas. */
type BuiltIn = {
  [Name in keyof Scripts]: Scripts[Name] extends StreamDefinition ? Scripts[Name] : never
}[keyof Scripts]

/** Every collection script, in the order of lists, reports and tables. */
export const streams: readonly BuiltIn[] = sortByPosition(
  Object.values(scripts).filter((value): value is BuiltIn => isStream(value)),
)
