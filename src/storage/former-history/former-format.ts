import { brotliDecompressSync } from 'node:zlib'
import { isRow } from '../../model/row.js'
import type { Day } from '../../model/trading-day.js'
import { disk } from '../disk.js'
import { listNames } from '../file-system.js'
import { digestOf, toHistoryPath } from '../history/record.js'

/** A file as a `.day` file of the former format has it. */
export interface FormerEntry {
  readonly name: string
  readonly knownAt: string
  readonly stream?: string
  readonly base?: string
  readonly length: number
  readonly digest: string
  /** Undefined if it is damaged. */
  readonly bytes: Buffer | undefined
}

/** The entries of a day: a line of JSON describes them, and their bytes follow. Undefined if that line is damaged, or has an invalid time. */
export const readFormerDay = (file: Buffer, day: Day): readonly FormerEntry[] | undefined => {
  let from = file.indexOf('\n') + 1
  try {
    const header: unknown = JSON.parse(file.toString('utf8', 0, from))
    if (!isRow(header) || header.version !== 1 || header.day !== day || !Array.isArray(header.entries)) return undefined
    return header.entries.filter(isRow).map((one): FormerEntry => {
      const facts = { ...(one as unknown as FormerEntry), knownAt: new Date(String(one.knownAt)).toISOString() }
      const bytes = file.subarray(from, from + facts.length)
      from += facts.length
      return { ...facts, bytes: shortDigest(bytes) === facts.digest ? bytes : undefined }
    })
  } catch {
    return undefined
  }
}

const shortDigest = (bytes: Buffer): string => digestOf(bytes).slice(0, 16)

const decompress = (bytes: Buffer): string => brotliDecompressSync(bytes).toString('latin1')

/** What an entry that is no file has. */
export const readContent = ({ bytes }: FormerEntry): object => JSON.parse(brotliDecompressSync(bytes as Buffer).toString()) as object

/** Creates a function that restores the content of an entry. Throws if it, or a base of it, is damaged. */
export const createFormerReader = async (root: string): Promise<(entry: FormerEntry) => Buffer> => {
  const names = (await listNames(toHistoryPath(root, 'bases'))).filter((name) => name.endsWith('.base'))
  let last: { readonly name: string; readonly lines: readonly string[] } | undefined

  /** The lines of a base: its name has its digest, and before it that of the base from which it differs, if it is not complete. */
  const openBase = (name: string): readonly string[] => {
    if (last?.name === name) return last.lines
    const [, file = '', parent, digest] = /^(.+) \d{4}-\d{2}-\d{2} (?:([\da-f]{16})-)?([\da-f]{16})$/.exec(name) ?? []
    const bytes = disk.readFileSync(toHistoryPath(root, 'bases', `${name}.base`))
    if (shortDigest(bytes) !== digest) throw new Error(`the base ${name} is damaged`)
    const before = names.find((one) => one.startsWith(`${file} `) && one.endsWith(`${parent}.base`))?.slice(0, -'.base'.length)
    if (parent !== undefined && before === undefined) throw new Error(`a base of ${name} is missing`)
    const lines = parent === undefined ? decompress(bytes).split('\n') : applyChanges(openBase(before as string), decompress(bytes))
    last = { name, lines }
    return lines
  }
  return ({ name, bytes, base }) => {
    if (bytes === undefined) throw new Error(`its entry of ${name} is damaged`)
    if (base === undefined) return brotliDecompressSync(bytes)
    const lines = openBase(base)
    return Buffer.from((bytes.length === 0 ? lines : applyChanges(lines, decompress(bytes))).join('\n'), 'latin1')
  }
}

/** A line of JSON that describes the lines after it: values that differ, column by column, and new lines. */
interface Block {
  /** Triples: new lines; how many lines of the base are skipped; how many of them follow. */
  readonly runs: readonly number[]
  /** Which of the lines that follow have other values, as gaps. */
  readonly changed: readonly number[]
  /** The place of values, and which of the changed lines have one there, as gaps. */
  readonly columns: readonly (readonly number[])[]
  readonly lines: number
}

const applyChanges = (base: readonly string[], text: string): readonly string[] => {
  const lines = text.split('\n')
  const result: string[] = []
  for (let at = 0; at < lines.length; ) {
    const block = JSON.parse(lines[at] as string) as Block
    applyBlock(base, block, { own: lines.slice(at + 1, at + 1 + block.lines), result })
    at += 1 + block.lines
  }
  return result
}

const applyBlock = (
  base: readonly string[],
  { runs, changed, columns }: Block,
  { own, result }: { readonly own: readonly string[]; readonly result: string[] },
): void => {
  let line = 0
  const values = changed.map(() => new Map<number, string>())
  for (const [place = 0, ...gaps] of columns) {
    let at = 0
    for (const gap of gaps) {
      at += gap
      values[at]?.set(place, own[line++] as string)
    }
  }
  let [next, matched, changes] = [0, 0, 0]
  let nextChanged = changed[0]
  for (let at = 0; at < runs.length; at += 3) {
    const [fresh, skipped, count] = runs.slice(at, at + 3) as [number, number, number]
    for (let step = 0; step < fresh; step++) result.push(own[line++] as string)
    next += skipped
    for (let step = 0; step < count; step++) {
      const text = base[next++] as string
      if (matched++ !== nextChanged) result.push(text)
      else {
        result.push(replaceValues(text, values[changes++] as ReadonlyMap<number, string>))
        nextChanged += changed[changes] ?? Number.NaN
      }
    }
  }
}

/** A value in JSON: what follows a colon, a bracket or a comma, but not the name of a field. */
const VALUE = /((?<=[:[,])(?:"[^"\\]*(?:\\.[^"\\]*)*"(?!:)|[-\dtfn][^,\]}"]*))/
const MAX_LENGTH = 1_000_000

const replaceValues = (text: string, values: ReadonlyMap<number, string>): string => {
  const parts = text.length > MAX_LENGTH ? [text] : text.split(VALUE)
  for (const [place, value] of values) if (place < parts.length) parts[place] = value
  return parts.join('')
}
