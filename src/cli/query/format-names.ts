/** The output formats of rows. */
export const formats = ['table', 'csv', 'json', 'ndjson'] as const
export type Format = (typeof formats)[number]
