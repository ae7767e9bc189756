/** A record as the provider sent it: known and unknown fields, in their order. */
export type Row = Readonly<Record<string, unknown>>

/** Whether a value is a record: an object, not an array. */
export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A copy without the fields that are undefined: in documents and events, such a field is absent. */
export const omitUndefined = <const T extends object>(fields: T): OmitUndefined<T> => {
  const defined: Record<string, unknown> = {}
  for (const name in fields) if (fields[name] !== undefined) defined[name] = fields[name]
  return defined as OmitUndefined<T>
}

type OmitUndefined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** A field as trimmed text; empty if it is neither text nor a number. */
export const readText = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''

const NUMBER = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/

/** The number in a text that has nothing else, as a cast in SQL reads it; undefined for other texts. */
export const toNumber = (text: string): number | undefined => {
  const number = NUMBER.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/**
 * All fields may be absent, or undefined: for options, which an app with `exactOptionalPropertyTypes` passes
 * on as it has them.
 */
export type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined }
