import { formatJson } from '../../model/text.js'
import { paintLine, type TerminalStream, type TextLine } from './terminal.js'

/** Prints whole lines, which the terminal wraps. */
export const printLines = (lines: readonly TextLine[], stream: TerminalStream): void =>
  void stream.write(lines.map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, stream)}\n`).join(''))

export const printJson = (document: unknown, stream: TerminalStream): void => void stream.write(`${formatJson(document, 2)}\n`)
