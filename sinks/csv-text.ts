import { stringify } from 'csv-stringify/sync'

/** Formats rows as lines of CSV. Numbers need no quotes: joining them gives the same text as the library, many times faster. */
export const csvText = (rows: readonly (readonly unknown[])[]): string =>
  rows.every((row) => row.every(Number.isFinite)) ? rows.map((row) => `${row.join(',')}\n`).join('') : stringify(rows as unknown[][])
