import { listColumns, type Table } from '../../model/table.js'
import type { TextLine } from '../terminal.js'
import { padEnd, wrap } from '../text.js'

/** All tables for people: the meaning of a row, the files, and each column with type and unit. */
export const tableLines = (tables: readonly Table[], columns: number): readonly TextLine[] =>
  tables.flatMap((table, index) => [...(index === 0 ? [] : [[]]), ...describeTable(table, columns)])

const describeTable = (table: Table, columns: number): readonly TextLine[] => {
  const all = listColumns(table)
  const room = Math.max(...all.map(({ name }) => name.length))
  const facts = [table.comment, `from ${table.files.map(({ path }) => path).join(', ')}`]
  return [
    [[table.name, 'bold']],
    ...facts.flatMap((text) => wrap(`  ${text}`, columns)).map((line): TextLine => [[line, 'dim']]),
    ...all.flatMap(({ name, type, comment }) => {
      const margin = 2 + room + 2 + 'TIMESTAMP'.length + 2
      const [first = '', ...more] = wrap(comment, Math.max(20, columns - margin))
      return [
        [[`  ${padEnd(name, room)}  `, 'cyan'], [`${padEnd(type, 9)}  `, 'dim'], [first]] as TextLine,
        ...more.map((line): TextLine => [[' '.repeat(margin) + line.trim()]]),
      ]
    }),
  ]
}

/** All tables for programs. */
export const tableDocument = (tables: readonly Table[]): readonly object[] =>
  tables.map((table) => ({
    name: table.name,
    comment: table.comment,
    files: table.files.map(({ path }) => path),
    key: table.key ?? null,
    columns: listColumns(table),
  }))
