import { Writable } from 'node:stream'
import type { TerminalStream } from '../../src/cli/terminal/terminal.js'

/** A stream that records its output; a terminal if `columns` is given, without colours by default. */
export interface Recorder {
  readonly stream: TerminalStream
  text(): string
  /** What a person sees: the lines on the screen after all cursor moves. */
  screen(): string[]
  resize(columns: number): void
}

export interface RecorderOptions {
  readonly columns?: number
  readonly rows?: number
  readonly colours?: boolean
}

export const createRecorder = ({ columns, rows = 40, colours = false }: RecorderOptions = {}): Recorder => {
  const chunks: string[] = []
  const writable = new Writable({
    write: (chunk, _, done) => {
      chunks.push(String(chunk))
      done()
    },
  })
  const isTTY = columns !== undefined
  const stream = Object.assign(
    writable,
    isTTY ? { isTTY, columns, rows, getColorDepth: () => (colours ? 8 : 1) } : {},
  )
  return {
    stream,
    text: () => chunks.join(''),
    screen: () => screenOf(chunks.join('')),
    resize: (to) => void Object.assign(stream, { columns: to }),
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what a terminal reads
const TOKEN = /\x1b\[\??(\d*)([A-Za-z])|\n|[^\x1b\n]+/g

const screenOf = (written: string): string[] => {
  const lines = ['']
  let row = 0
  let column = 0
  for (const [text, amount = '', code] of written.matchAll(TOKEN)) {
    const line = lines[row] ?? ''
    if (code === 'A') row = Math.max(0, row - Number(amount || 1))
    else if (code === 'K') lines[row] = line.slice(0, column)
    else if (code === 'J') lines.splice(row, lines.length, line.slice(0, column))
    else if (code !== undefined) continue
    else if (text === '\n') {
      row += 1
      column = 0
      lines[row] ??= ''
    } else {
      lines[row] = line.slice(0, column) + text + line.slice(column + text.length)
      column += text.length
    }
  }
  return lines
}
