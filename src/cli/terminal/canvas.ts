import { clearScreenDown, cursorTo, moveCursor } from 'node:readline'
import {
  hideCursor,
  measureLine,
  paintLine,
  readSize,
  showCursor,
  type TerminalSize,
  type TerminalStream,
  type TextLine,
  trimLine,
} from './terminal.js'

/** The last lines of a terminal, redrawn at the same position. The cursor is hidden from the first drawing to `close`. */
interface Canvas {
  readonly draw: (linesFor: (size: TerminalSize) => readonly TextLine[]) => void
  /** Clears the drawn lines, so that other text can be written; returns whether there were any. */
  readonly erase: () => boolean
  /** Shows the cursor again; the drawn lines stay. A later drawing begins at the cursor. */
  readonly close: () => void
}

const REST_OF_LINE = '\x1b[K'

export const createCanvas = (stream: TerminalStream): Canvas => {
  let widths: readonly number[] = []
  let drawnColumns = 0
  let isOpen = false

  const goBack = ({ columns }: TerminalSize): void => {
    // If the window became narrower, the terminal has wrapped the earlier lines.
    const height = widths.reduce((rows, width) => rows + Math.max(1, Math.ceil(width / columns)), 0)
    // Ctrl+C prints ^C at the cursor.
    cursorTo(stream, 0)
    moveCursor(stream, 0, -height)
    if (columns !== drawnColumns) clearScreenDown(stream)
  }
  return {
    draw: (linesFor) => {
      const size = readSize(stream)
      const lines = linesFor(size)
      if (!isOpen) hideCursor(stream)
      isOpen = true
      if (widths.length > 0) goBack(size)
      stream.write(lines.map((line) => `${paintLine(line, size.columns - 1, stream)}${REST_OF_LINE}\n`).join(''))
      clearScreenDown(stream)
      widths = lines.map((line) => Math.min(size.columns - 1, measureLine(trimLine(line))))
      drawnColumns = size.columns
    },
    erase: () => {
      if (widths.length === 0) return false
      goBack(readSize(stream))
      clearScreenDown(stream)
      widths = []
      return true
    },
    close: () => {
      if (isOpen) showCursor(stream)
      isOpen = false
      widths = []
    },
  }
}
