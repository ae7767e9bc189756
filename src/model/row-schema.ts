import { z } from 'zod'
import { type Row as AnyRow, isRow } from './row.js'

/** The types of columns. */
export type SqlType = 'VARCHAR' | 'DOUBLE' | 'BIGINT' | 'DATE' | 'TIMESTAMP' | 'JSON'

/**
 * Converts a text to the value of a column, if a cast alone cannot. Both ways must agree; a test compares
 * them.
 */
export interface Conversion {
  /** The SQL of the value, from that of the text. */
  readonly sql: (text: string) => string
  /**
   * The value itself, for lists that are recorded: a day as `2026-02-12`, a time as `2026-02-12 18:30:00`;
   * undefined if the text has none.
   */
  readonly value: (text: string) => string | number | undefined
}

/** What percentages and money are in. */
export type Unit = '%' | '₹' | '₹ crore'

/** How a column is shown to people. */
export interface ColumnDisplay {
  readonly unit?: Unit
  /** Its title, where its name in words does not do. */
  readonly title?: string
  /** It is a change: its sign matters. */
  readonly isChange?: true
}

/** A column of a table. Row schemas yield most of them; one that is not a field of the row is written out. */
export interface TableColumn extends ColumnDisplay {
  readonly name: string
  readonly type: SqlType
  /** What it contains: unit, time zone, when it is empty. */
  readonly comment: string
  readonly from: ColumnSource
  readonly convert?: Conversion
}

/** The column with the symbol of the stock or index that a file belongs to. */
export const ITEM_SYMBOL = { name: 'symbol', type: 'VARCHAR', from: { file: 'symbol' } } as const

/**
 * Where a value comes from: one of these keys of the row (a text that starts with `$` is a JSON path) or of
 * the document around it; the item of the file; the part of the work that wrote the file; or the day on which
 * a recorded run first had the row.
 */
export type ColumnSource =
  | { readonly row: readonly string[] }
  | { readonly document: readonly string[] }
  | { readonly file: 'symbol' | 'sid' | 'label' }
  | { readonly history: 'seen_on' }

/** What a field of an answer is; null is allowed for every field. */
export type Kind = 'text' | 'number' | 'flag' | 'list' | 'record'

/**
 * Which values a field can have. Others are stored as they were served; `verify` names them, and views leave
 * them out of what they derive.
 */
export interface Possible {
  /** The smallest and the largest number. */
  readonly from?: number
  readonly to?: number
  /** What its text matches. */
  readonly like?: RegExp
  /** Nothing lies ahead: the day of a text, `YYYY-MM-DD`, which is not after that of the run. */
  readonly past?: (text: string) => string
  /** Of ₹ crore by period: the newest is at most so many times the median of the four before. */
  readonly times?: number
  /** Of a table of figures: what those of a period add up to, as a rule. */
  readonly sum?: number
  /** Of a table of figures: those of each figure by its name in capitals, `*` of all others but `YEAR`. */
  readonly figures?: Readonly<Record<string, Omit<Possible, 'figures'>>>
}

/** The day at the start of a text, for what cannot lie ahead. */
export const startOf = (text: string): string => text.slice(0, 10)

/** What a schema cannot say about a field. */
export interface ColumnFacts {
  /** What it contains: unit, time zone, when it is empty. The comment of its column in SQL. */
  readonly about?: string | undefined
  /**
   * The name of its column in SQL, and its type if that does not follow from the schema. Without it, it
   * appears in `extra`.
   */
  readonly sql?: string | readonly [name: string, type: SqlType] | undefined
  /** Converts its text to its value, if a cast alone cannot. */
  readonly convert?: Conversion | undefined
  readonly unit?: Unit | undefined
  /** It is a change: its sign matters. */
  readonly isChange?: true | undefined
  /** Further columns that are read from it, placed behind its own. */
  readonly further?: readonly TableColumn[] | undefined
  /**
   * An output depends on it: an answer is refused if the field is missing from all records, has another type,
   * or its `format` cannot be read. An optional or usual list or record counts as missing only if an unknown
   * field is in its place.
   */
  readonly required?: true | undefined
  /**
   * Null and empty text are no values of it: they are drift if (nearly) all answers of the run have nothing
   * else. If it is also required, an answer is refused that has nothing else.
   */
  readonly key?: true | undefined
  /** Some records may lack it: it counts as gone if (nearly) all answers lack it. */
  readonly usual?: true | undefined
  /** `day` is text that starts with a date (`2026-02-12`), `millis` a number of epoch milliseconds. */
  readonly format?: 'day' | 'millis' | undefined
  readonly possible?: Possible | undefined
  /** A further kind that answers may have; its TypeScript type does not mention it. */
  readonly or?: Kind | undefined
}

/**
 * A field of a row with its facts. They are in zod's registry, so that `z.toJSONSchema` describes the field,
 * too.
 *
 * @example column(z.number(), { about: 'open interest, contracts', sql: 'open_interest', required: true })
 */
export const column = <S extends z.ZodType>(schema: S, facts: ColumnFacts): S => {
  const { about } = facts
  // A copy, because a schema may be used for several fields.
  const own = schema.clone() as S
  z.globalRegistry.add(own, { ...(about === undefined ? {} : { description: about }), column: facts })
  return own
}

/** A field with a text: what it is, its column, and other facts. */
export const textColumn = (
  about: string,
  sql: ColumnFacts['sql'],
  facts?: Omit<ColumnFacts, 'about' | 'sql'>,
): z.ZodString => column(z.string(), { about, sql, ...facts })

/**
 * Describes a kind of row once: its TypeScript type, the drift check, the SQL table and its comments follow
 * from it. Unknown fields pass through. `.optional()` marks a field that may be absent. Rows are compared
 * with it, not parsed: nothing is converted or removed.
 *
 * @example
 * export const Pledge = row({
 *   promoter: column(z.string(), { about: 'who pledged', sql: 'promoter', required: true, key: true }),
 *   share: column(z.number(), { about: 'percent of the holding', sql: 'share' }),
 * })
 * export interface Pledge extends RowOf<typeof Pledge> {}
 */
export const row = <const F extends z.ZodRawShape>(fields: F): z.ZodObject<F, z.core.$loose> =>
  z.looseObject(fields)

/**
 * The usual envelope of an answer: rows under `data`, and fields of its own.
 *
 * @example const shape = dataEnvelope(z.array(Contract))
 */
export const dataEnvelope = <D extends z.ZodType, F extends z.ZodRawShape = Record<never, never>>(
  data: D,
  more?: F,
) =>
  row({
    code: z.number().optional(),
    status: z.union([z.string(), z.number()]).optional(),
    tot_rec: z.number().optional(),
    data,
    ...more,
  })

/** A list of rows, or a single row instead of a list of one. Its TypeScript type is the list. */
export const oneOrMore = <S extends z.ZodObject>(schema: S): z.ZodArray<S> =>
  z.union([z.array(schema), schema]) as unknown as z.ZodArray<S>

/** Text with the values that were observed so far. */
export const textSuchAs = <const T extends string>(
  ..._observed: readonly T[]
): z.ZodType<T | (string & {})> => z.string()

type ReadonlyDeep<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly ReadonlyDeep<E>[]
    : T extends object
      ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> }
      : T

type FieldOf<S> =
  S extends z.ZodOptional<infer I>
    ? FieldOf<I>
    : S extends z.ZodNullable<infer I>
      ? FieldOf<I> | null
      : S extends z.ZodArray<infer E>
        ? readonly FieldOf<E>[]
        : S extends z.ZodObject<z.ZodRawShape, z.core.$loose>
          ? RowOf<S>
          : ReadonlyDeep<z.output<S>>

/** A row as the provider sent it: every field may be absent, and there may be unknown ones. */
export type RowOf<S extends z.ZodObject> = Readonly<Record<string, unknown>> & {
  readonly [K in keyof S['shape']]?: FieldOf<S['shape'][K]>
}

/** A row of a CSV: every cell is text, and there may be unknown ones. */
export type CsvRowOf<S extends z.ZodObject> = Readonly<Record<string, string | undefined>> & {
  readonly [K in keyof S['shape']]?: string
}

/** A row that a stream builds itself: exactly these fields. */
export type BuiltRowOf<S extends z.ZodObject> = { readonly [K in keyof S['shape']]: FieldOf<S['shape'][K]> }

/** Checks that a value is a record; passes the same object on. */
export type Row = AnyRow
export const Row = z.custom<Row>(isRow, 'is not a record')

/**
 * A list of records without nulls; the same array if it has none. One check for the whole list: a schema per
 * record would take as long as parsing them. No `transform`: its closure per answer survives many minor GCs
 * and retains the answer.
 */
const createRecordList = () =>
  z
    .custom<readonly Row[]>(Array.isArray, { error: 'is not a list', abort: true })
    .check(({ value, issues }) => {
      const wrong = value.findIndex((row) => row !== null && !isRow(row))
      if (wrong >= 0) issues.push({ code: 'custom', input: value, path: [wrong], message: 'is not a record' })
    })
    .overwrite((rows) => (rows.includes(null as never) ? rows.filter((row) => row !== null) : rows))

const RecordList = createRecordList()

/**
 * The envelope of nearly every endpoint. `data` may be null (an empty list) but must be present. Other fields
 * pass.
 */
export const Rows = z.looseObject({ data: RecordList.nullable() })

/** The envelope of an endpoint that may omit `data`. */
export const MaybeRows = z.looseObject({ data: RecordList.nullish() })
