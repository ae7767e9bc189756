import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { formatJson } from '../../model/text.js'
import { hasErrorCode } from '../../storage/file-system.js'
import { adaptCommands } from '../command-line.js'
import { clean, cut, padEnd, padStart, sanitize, width, wrap } from './text.js'

/** stdout or stderr. Only a terminal has `columns` and `rows`. */
export type TerminalStream = Writable & {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export type TextSpan = readonly [text: string, style?: Style | undefined]

/** A line before it is coloured and cut to the terminal. */
export type TextLine = readonly TextSpan[]

/**
 * A line of an answer: a text, or spans of which those after the first have the style of the last. It is
 * wrapped to the terminal. A function lays itself out: a table, or a command that stays on one line.
 */
export type AnswerLine = string | TextLine | ((columns: number) => readonly TextLine[])

/** The size of a terminal, read for each drawing: windows are resized. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** A pipe or a file has no width: nothing is wrapped, cut or left out. Some terminals report 0 at first. */
export const readSize = ({ isTTY, columns, rows }: TerminalStream): TerminalSize => ({
  columns: isTTY === true ? columns || 80 : Number.POSITIVE_INFINITY,
  rows: rows || 24,
})

/** Whether lines can be redrawn: a terminal with cursor moves, and no build log. */
export const canRedraw = (stream: TerminalStream, env: NodeJS.ProcessEnv): boolean =>
  stream.isTTY === true && env.TERM !== 'dumb' && ['', '0', 'false', undefined].includes(env.CI)

export const measureLine = (line: TextLine): number => line.reduce((total, [text]) => total + width(text), 0)

/** The lines as they fit into a terminal of so many columns, whatever characters their texts have. */
export const layOut = (lines: readonly AnswerLine[], columns: number): readonly TextLine[] =>
  lines.flatMap((line) => {
    if (typeof line === 'function') return line(columns)
    const spans: TextLine = typeof line === 'string' ? [[line]] : line
    return wrapSpans(
      spans.map(([text, style]): TextSpan => [adaptCommands(text), style]),
      columns,
    )
  })

const wrapSpans = (unsafe: TextLine, columns: number): readonly TextLine[] => {
  const line = unsafe.map(([text, style]): TextSpan => [sanitize(text), style])
  if (measureLine(line) <= columns) return [line]
  const [title = '', style] = line[0] ?? []
  const [, restStyle] = line.at(-1) ?? []
  const [first = '', ...more] = wrap(line.map(([text]) => text).join(''), columns)
  const head: TextLine = [
    [first.slice(0, title.length), style],
    [first.slice(title.length), restStyle],
  ]
  return [head, ...more.map((text): TextLine => [[text, restStyle]])]
}

/** A titled part of an answer; nothing without lines. */
export const titledPart = (title: string, lines: readonly AnswerLine[]): readonly AnswerLine[] =>
  lines.length === 0 ? [] : ['', [[title, 'bold']], ...lines]

/** The first of many, and how many more there are. */
export const listFirst = <T>(
  all: readonly T[],
  max: number,
  describe: (one: T) => string,
  describeRest: (rest: number) => string,
) => [...all.slice(0, max).map(describe), ...(all.length > max ? [describeRest(all.length - max)] : [])]

export const trimLine = (spans: TextLine): TextLine => {
  const last = spans.findLastIndex(([text]) => text.trim() !== '')
  return spans
    .slice(0, last + 1)
    .map(([text, style], index) => [index === last ? text.trimEnd() : text, style])
}

/**
 * Joins spans into one line of at most `columns`, coloured if the stream supports it (NO_COLOR, FORCE_COLOR,
 * TERM).
 */
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

export const printLines = (lines: readonly AnswerLine[], stream: TerminalStream): void => {
  const fitting = layOut(lines, readSize(stream).columns)
  stream.write(fitting.map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, stream)}\n`).join(''))
}

export const printJson = (document: unknown, stream: TerminalStream): void =>
  void stream.write(`${formatJson(document, 2)}\n`)

/** A text with its line end, wrapped on a terminal. */
export const formatText = (text: string, stream: TerminalStream): string =>
  `${wrap(adaptCommands(clean(text)), readSize(stream).columns).join('\n')}\n`

export const printWarning = (text: string, stream: TerminalStream): void =>
  void stream.write(formatText(`warning: ${text}`, stream))

export const GLYPHS = {
  full: '█',
  rest: '░',
  ok: '✔',
  bad: '✖',
  warn: '!',
  run: '▸',
  wait: '·',
  off: '-',
  gap: ' · ',
}

/**
 * The stream, whose failures go to `fail`, thrown ones and those that come later as events: the stream of a
 * file on a full disk. A reader that closes the pipe (`| head`, a closed window) is no failure.
 */
export const guardStream = (stream: TerminalStream, fail: (error: unknown) => void): TerminalStream => {
  let isFailed = false
  const note = (error: unknown): void => {
    if (hasErrorCode(error, 'EPIPE', 'EIO')) return
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
  const read = (name: string | symbol): unknown =>
    (name === 'destroyed' && isFailed) || Reflect.get(stream, name, stream)
  return new Proxy(stream, { get: (_, name) => (name === 'write' ? write : read(name)) })
}

export interface TextColumn<Row> {
  readonly title: string
  /** Left if absent. */
  readonly align?: 'left' | 'right'
  readonly cell: (row: Row) => string
  readonly style?: (row: Row) => Style | undefined
  /** Columns with a number are left out where the table is too wide, the lowest first; the others never. */
  readonly drop?: number
}

/** Columns of rows of texts by their titles, each with its `drop`; so many of them are on the left. */
export const columnsOf = (
  titles: Readonly<Record<string, number | undefined>>,
  left = 1,
): readonly TextColumn<readonly string[]>[] =>
  Object.entries(titles).map(([title, drop], index) => ({
    title,
    align: index < left ? 'left' : 'right',
    cell: (row) => row[index] ?? '',
    ...(drop === undefined ? {} : { drop }),
  }))

const CELL_GAP = '  '

export const fitColumns = <Row>(
  columns: readonly TextColumn<Row>[],
  rows: readonly Row[],
  room: number,
): readonly TextColumn<Row>[] => {
  const next = Math.min(...columns.map(({ drop = Number.POSITIVE_INFINITY }) => drop))
  if (next === Number.POSITIVE_INFINITY || measureWidest(renderTable(columns, rows)) <= room) return columns
  const fewer = columns.filter(({ drop }) => drop !== next)
  return fitColumns(fewer, rows, room)
}

/** A table that fits into the terminal: columns are left out in their order, and then the last one is cut. */
export const fitTable =
  <Row>(columns: readonly TextColumn<Row>[], rows: readonly Row[]) =>
  (room: number): readonly TextLine[] => {
    const fitting = fitColumns(columns, rows, room)
    const last = fitting.at(-1)
    if (fitting.length < 2 || last === undefined) return renderTable(fitting, rows)
    const lastRoom = Math.max(
      1,
      room - measureWidest(renderTable(fitting.slice(0, -1), rows)) - CELL_GAP.length,
    )
    const narrow = {
      ...last,
      title: cut(last.title, lastRoom),
      cell: (row: Row) => cut(last.cell(row), lastRoom),
    }
    return renderTable([...fitting.slice(0, -1), narrow], rows)
  }

/** Rows under their titles, each column as wide as its widest cell, without trailing blanks. */
export const renderTable = <Row>(
  columns: readonly TextColumn<Row>[],
  rows: readonly Row[],
): readonly TextLine[] => {
  const padded = columns.map(({ title, align, cell }, index) => {
    const texts = [title, ...rows.map((row) => sanitize(cell(row)))]
    const room = Math.max(...texts.map(width))
    const isLast = index === columns.length - 1
    return texts.map((text) =>
      align === 'right' ? padStart(text, room) : isLast ? text : padEnd(text, room),
    )
  })
  return [undefined, ...rows].map((row, rowIndex) =>
    columns.map(({ style }, index) => {
      const text = `${index === 0 ? '' : CELL_GAP}${padded[index]?.[rowIndex] ?? ''}`
      return [text, row === undefined ? 'dim' : style?.(row)]
    }),
  )
}

const measureWidest = (lines: readonly TextLine[]): number => Math.max(0, ...lines.map(measureLine))
