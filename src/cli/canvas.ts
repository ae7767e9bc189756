import { clearScreenDown, cursorTo, moveCursor } from 'node:readline'
import { hideCursor, type Line, paintLine, type Size, showCursor, sizeOf, type TerminalStream, trimmed, widthOf } from './terminal.js'

/** The last lines of a terminal, drawn again and again in place. The cursor is hidden from the first drawing to `close`. */
export interface Canvas {
  readonly draw: (linesFor: (size: Size) => readonly Line[]) => void
  /** Takes what was drawn away, so that something else can be written; tells whether there was anything. */
  readonly erase: () => boolean
  /** Gives the cursor back; what is drawn stays. */
  readonly close: () => void
}

const REST_OF_LINE = '\x1b[K'

export const createCanvas = (stream: TerminalStream): Canvas => {
  let widths: readonly number[] = []
  let drawnColumns = 0
  let isOpen = false

  const goBack = ({ columns }: Size): void => {
    // In a window that became narrower, lines drawn before have been broken into several.
    const height = widths.reduce((rows, width) => rows + Math.max(1, Math.ceil(width / columns)), 0)
    // A Ctrl+C leaves its ^C where the cursor was.
    cursorTo(stream, 0)
    moveCursor(stream, 0, -height)
    if (columns !== drawnColumns) clearScreenDown(stream)
  }
  return {
    draw: (linesFor) => {
      const size = sizeOf(stream)
      const lines = linesFor(size)
      if (!isOpen) hideCursor(stream)
      isOpen = true
      if (widths.length > 0) goBack(size)
      stream.write(lines.map((line) => `${paintLine(line, size.columns - 1, stream)}${REST_OF_LINE}\n`).join(''))
      clearScreenDown(stream)
      widths = lines.map((line) => Math.min(size.columns - 1, widthOf(trimmed(line))))
      drawnColumns = size.columns
    },
    erase: () => {
      if (widths.length === 0) return false
      goBack(sizeOf(stream))
      clearScreenDown(stream)
      widths = []
      return true
    },
    close: () => {
      if (isOpen) showCursor(stream)
      isOpen = false
    },
  }
}
