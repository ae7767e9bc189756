/** A value as DuckDB hands it out: a text, number, truth value or null, or an object that knows how to write itself. */
export type Value = unknown

export interface ColumnFacts {
  readonly name: string
  readonly isNumber: boolean
  /** Whether its texts are JSON themselves. */
  readonly isJson: boolean
}

/** Some rows, which become values only when they are asked for. */
export interface Bunch {
  readonly count: number
  readonly rows: () => readonly (readonly Value[])[]
}

/** Rows as they come, bunch by bunch. */
export type Cells = AsyncIterable<Bunch>

/** A value as text, exactly; nothing for NULL. Lists and structures are JSON. */
export const cellText = (value: Value, isJson = false): string | undefined => {
  if (value === null || value === undefined) return undefined
  return typeof value === 'object' && (itemsIn(value) || fieldsIn(value)) ? jsonOf(value, isJson) : String(value)
}

/** A value as JSON, exactly: whole numbers and decimals keep all their digits, dates are text. */
export const jsonOf = (value: Value, isJson = false): string => {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : JSON.stringify(String(value))
  if (typeof value === 'bigint' || typeof value === 'boolean' || isDecimal(value)) return String(value)
  if (typeof value === 'string') return isJson ? value : JSON.stringify(value)
  const items = itemsIn(value)
  if (items) return `[${items.map((item) => jsonOf(item)).join(',')}]`
  const fields = fieldsIn(value)
  if (fields) return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${jsonOf(field)}`).join(',')}}`
  return JSON.stringify(String(value))
}

const isDecimal = (value: Value): boolean => typeof value === 'object' && value !== null && 'scale' in value && 'width' in value

const itemsIn = (value: object): readonly Value[] | undefined => ('items' in value && Array.isArray(value.items) ? value.items : undefined)

const fieldsIn = (value: object): readonly (readonly [string, Value])[] | undefined => {
  if (!('entries' in value) || typeof value.entries !== 'object' || value.entries === null) return undefined
  if (!Array.isArray(value.entries)) return Object.entries(value.entries)
  return value.entries.map(({ key, value: field }: { readonly key: Value; readonly value: Value }) => [cellText(key) ?? 'null', field])
}
