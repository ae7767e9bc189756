import { formatJson } from '../../model/text.js'
import { paintLine, readSize, type TerminalStream, type TextLine } from './terminal.js'
import { clean, wrap } from './text.js'

export const printLines = (lines: readonly TextLine[], stream: TerminalStream): void =>
  void stream.write(lines.map((line) => `${paintLine(line, Number.POSITIVE_INFINITY, stream)}\n`).join(''))

export const printJson = (document: unknown, stream: TerminalStream): void => void stream.write(`${formatJson(document, 2)}\n`)

/** A text with its line end, wrapped on a terminal. In a log, it stays one line. */
export const formatText = (text: string, stream: TerminalStream): string => {
  const columns = stream.isTTY === true ? readSize(stream).columns : Number.POSITIVE_INFINITY
  return `${wrap(clean(text), columns).join('\n')}\n`
}

export const printWarning = (text: string, stream: TerminalStream): void => void stream.write(formatText(`warning: ${text}`, stream))
