import { z } from 'zod'
import { Settings, toVariable } from './settings.js'

/**
 * Settings that a stream declares for itself, by name. Each says in its `meta` what it is (`description`),
 * and with which value a run may be resumed: `any`, or the `same` (`resume`). It may say that the stream
 * needs it (`isRequired`), and its environment variable (`variable`), if that is not named as usual.
 *
 * @example { limit: z.int().min(1).default(50).meta({ description: 'records per stock', resume: 'same' }) }
 */
export type DeclaredOptions = Readonly<Record<string, z.ZodType>>

/** Streams, as far as they have settings of their own. */
export type OptionOwners = readonly {
  readonly name: string
  readonly options?: DeclaredOptions | undefined
}[]

interface OptionFacts {
  readonly resume: 'any' | 'same'
  readonly isRequired?: boolean
  readonly variable: string
}

/** The settings that streams declare, each with its path: `options.market-news.newsLimit`. */
export const listStreamOptions = (streams: OptionOwners) =>
  streams.flatMap(({ name: stream, options = {} }) =>
    Object.entries(options).map(([name, schema]) => {
      const facts = { variable: toVariable(name), ...schema.meta() } as unknown as OptionFacts
      return { ...facts, stream, name, path: `options.${stream}.${name}`, schema }
    }),
  )

/** All settings, with those that streams declare. */
export const createSettingsSchema = (streams: OptionOwners) =>
  Settings.extend({
    options: z
      .strictObject(
        Object.fromEntries(
          streams.map(({ name, options = {} }) => [name, z.strictObject(options).partial().optional()]),
        ),
      )
      .optional(),
  })

/** The settings of a stream, with their defaults. */
export const readOptions = <Shape extends DeclaredOptions>(
  { options }: Pick<Settings, 'options'>,
  stream: string,
  shape: Shape,
): z.output<z.ZodObject<Shape>> => z.object(shape).parse(options[stream] ?? {})
