import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { getErrorCode } from '../../storage/file-system.js'
import { cut, padEnd, padStart, width, wrap } from './text.js'

/** stdout or stderr. Only a terminal has `columns` and `rows`. */
export type TerminalStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export type TextSpan = readonly [text: string, style?: Style | undefined]

/** A line before it is coloured and cut to the terminal. */
export type TextLine = readonly TextSpan[]

/** The size of a terminal, read for each drawing: windows are resized. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

// Some terminals report 0 at first.
export const readSize = ({ columns, rows }: TerminalStream): TerminalSize => ({ columns: columns || 80, rows: rows || 24 })

/** Whether lines can be redrawn: a terminal with cursor moves, and no build log. */
export const canRedraw = (stream: TerminalStream, env: NodeJS.ProcessEnv): boolean =>
  stream.isTTY === true && env.TERM !== 'dumb' && ['', '0', 'false', undefined].includes(env.CI)

export const measureLine = (line: TextLine): number => line.reduce((total, [text]) => total + width(text), 0)

export const wrapLines = (text: string, columns: number, style?: Style): readonly TextLine[] =>
  wrap(text, columns).map((line): TextLine => [[line, style]])

/** A text in lines of at most `columns`, whose first words have a style of their own. */
export const wrapTitled = ([title, style]: TextSpan, rest: string, columns: number, restStyle?: Style): readonly TextLine[] => {
  const [first = '', ...more] = wrap(title + rest, columns)
  return [
    [
      [title, style],
      [first.slice(title.length), restStyle],
    ],
    ...more.map((line): TextLine => [[line, restStyle]]),
  ]
}

export const trimLine = (spans: TextLine): TextLine => {
  const last = spans.findLastIndex(([text]) => text.trim() !== '')
  return spans.slice(0, last + 1).map(([text, style], index) => [index === last ? text.trimEnd() : text, style])
}

/** Joins spans into one line of at most `columns`, coloured if the stream supports it (NO_COLOR, FORCE_COLOR, TERM). */
export const paintLine = (spans: TextLine, columns: number, stream: TerminalStream): string => {
  let room = columns
  let line = ''
  for (const [text, style] of trimLine(spans)) {
    if (room <= 0) break
    const shown = cut(text, room)
    room -= width(shown)
    line += style === undefined || shown.trim() === '' ? shown : styleText(style, shown, { stream })
  }
  return line
}

export const GLYPHS = { full: '█', rest: '░', ok: '✔', bad: '✖', warn: '!', run: '▸', wait: '·', off: '-', gap: ' · ' }

/**
 * The stream, whose failures go to `fail`, thrown ones and those that come later as events: the stream of a file on a full disk. A reader that
 * closes the pipe (`| head`, a closed window) is no failure.
 */
export const guardStream = (stream: TerminalStream, fail: (error: unknown) => void): TerminalStream => {
  let isFailed = false
  const note = (error: unknown): void => {
    if (['EPIPE', 'EIO'].includes(getErrorCode(error) ?? '')) return
    isFailed = true
    fail(error)
  }
  const write = (text: string, done?: (error?: unknown) => void): boolean => {
    try {
      return stream.write(text, done)
    } catch (error) {
      note(error)
      done?.(error)
      return true
    }
  }
  stream.on('error', note)
  // A long answer ends early, as after a closed pipe.
  const read = (name: string | symbol): unknown => (name === 'destroyed' && isFailed) || Reflect.get(stream, name, stream)
  return new Proxy(stream, { get: (_, name) => (name === 'write' ? write : read(name)) })
}

export interface TextColumn<Row> {
  readonly title: string
  readonly align: 'left' | 'right'
  readonly cell: (row: Row) => string
  readonly style?: (row: Row) => Style | undefined
  /** Columns with a number are left out where the table is too wide, the lowest first; the others never. */
  readonly drop?: number
}

/** Columns of rows of texts by their titles, each with its `drop`; so many of them are on the left. */
export const columnsOf = (titles: Readonly<Record<string, number | undefined>>, left = 1): readonly TextColumn<readonly string[]>[] =>
  Object.entries(titles).map(([title, drop], index) => ({
    ...{ title, align: index < left ? 'left' : 'right', cell: (row) => row[index] ?? '' },
    ...(drop === undefined ? {} : { drop }),
  }))

const CELL_GAP = '  '

export const fitColumns = <Row>(columns: readonly TextColumn<Row>[], rows: readonly Row[], room: number): readonly TextColumn<Row>[] => {
  const next = Math.min(...columns.map(({ drop = Number.POSITIVE_INFINITY }) => drop))
  if (next === Number.POSITIVE_INFINITY || measureWidest(renderTable(columns, rows)) <= room) return columns
  const fewer = columns.filter(({ drop }) => drop !== next)
  return fitColumns(fewer, rows, room)
}

/** A table in lines of `room`: columns are left out in their order, and then the last one is cut. */
export const renderFittingTable = <Row>(columns: readonly TextColumn<Row>[], rows: readonly Row[], room: number): readonly TextLine[] => {
  const fitting = fitColumns(columns, rows, room)
  const last = fitting.at(-1)
  if (fitting.length < 2 || last === undefined) return renderTable(fitting, rows)
  const lastRoom = Math.max(1, room - measureWidest(renderTable(fitting.slice(0, -1), rows)) - CELL_GAP.length)
  return renderTable(
    [...fitting.slice(0, -1), { ...last, title: cut(last.title, lastRoom), cell: (row) => cut(last.cell(row), lastRoom) }],
    rows,
  )
}

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

const measureWidest = (lines: readonly TextLine[]): number => Math.max(0, ...lines.map(measureLine))
