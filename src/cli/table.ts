import { measureLine, type Style, type TextLine } from './terminal.js'
import { padEnd, padStart, width } from './text.js'

export interface TextColumn<Row> {
  readonly title: string
  readonly align: 'left' | 'right'
  readonly cell: (row: Row) => string
  readonly style?: (row: Row) => Style | undefined
}

const CELL_GAP = '  '

/** Rows under their titles, each column as wide as its widest cell, without trailing blanks. */
export const renderTable = <Row>(columns: readonly TextColumn<Row>[], rows: readonly Row[]): readonly TextLine[] => {
  const padded = columns.map(({ title, align, cell }, index) => {
    const texts = [title, ...rows.map(cell)]
    const room = Math.max(...texts.map(width))
    const isLast = index === columns.length - 1
    return texts.map((text) => (align === 'right' ? padStart(text, room) : isLast ? text : padEnd(text, room)))
  })
  return [undefined, ...rows].map((row, rowIndex) =>
    columns.map(({ style }, index) => {
      const text = `${index === 0 ? '' : CELL_GAP}${padded[index]?.[rowIndex] ?? ''}`
      return [text, row === undefined ? 'dim' : style?.(row)]
    }),
  )
}

export const measureWidest = (lines: readonly TextLine[]): number => Math.max(0, ...lines.map(measureLine))
