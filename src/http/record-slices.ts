import { isUtf8 } from 'node:buffer'
import type { Row } from '../model/row.js'
import { asBuffer } from '../model/text.js'
import { beginScan, type FieldSpans, hashName, scanObject, startsWith } from './canonical-json.js'
import { takeEnds } from './drift.js'
import type { AnswerInspector } from './endpoint.js'

/** A record as part of the bytes of its answer, which are what `JSON.stringify` prints for it. */
export interface RecordSlice {
  readonly bytes: Buffer
  /** The offset of its first byte, and the one behind its last byte. */
  readonly from: number
  readonly to: number
}

/** The fields of a record. */
export interface SliceFields<Name extends string> {
  /** The value of a field; undefined if the record lacks it. */
  readonly read: (name: Name) => unknown
  /** Whether its value counts as true. */
  readonly isTruthy: (name: Name) => boolean
  /** Whether the fields that the record has of these have this value, which is JSON. */
  readonly haveOnly: (names: readonly Name[], json: Buffer) => boolean
}

/** The list of an answer, which was not parsed. */
export interface SlicedList<S> {
  readonly slices: readonly S[]
  /** The whole list. */
  readonly json: Uint8Array
  /** Passes the answer to the drift check, with the records that the check samples. */
  readonly inspectWith: (inspect: AnswerInspector) => void
}

const [QUOTE, COMMA, BRACKET, END_BRACKET, END_BRACE] = [34, 44, 91, 93, 125] as const

/** What an answer may have around its list. */
const ENVELOPE = /^\{(?:"code":0,)?"data":\[\](?:,"total_pages":(?:0|[1-9]\d{0,8}))?\}$/
const MAX_ENVELOPE_BYTES = 64

/**
 * Creates a function that divides the list of an answer into its records. It returns nothing if the list is
 * empty or anything is unusual: then the answer must be parsed, which also finds the error. `toSlice` may
 * read the fields in `names`; if it returns nothing, the answer must be parsed too.
 */
export const createRecordSlicer = <Name extends string>(names: readonly Name[]) => {
  const finder = createFieldFinder(names)
  return <S extends RecordSlice>(
    body: Uint8Array,
    toSlice: (bytes: Buffer, from: number, to: number, fields: SliceFields<Name>) => S | undefined,
  ): SlicedList<S> | undefined => {
    const bytes = asBuffer(body)
    const start = bytes.indexOf(BRACKET)
    const isTruncated = bytes[bytes.length - 1] !== END_BRACE
    if (isTruncated || start < 0 || start > MAX_ENVELOPE_BYTES) return undefined
    if (!isUtf8(bytes) || !beginScan(bytes)) return undefined
    const slices: S[] = []
    let at = start
    do {
      const from = at + 1
      finder.spans.starts.fill(0)
      at = scanObject(bytes, from, finder.spans)
      const slice = at < 0 || !finder.open(bytes) ? undefined : toSlice(bytes, from, at, finder)
      if (slice === undefined) return undefined
      slices.push(slice)
    } while (bytes[at] === COMMA)
    if (bytes.length - at > MAX_ENVELOPE_BYTES) return undefined
    const envelope = bytes.toString('latin1', 0, start + 1) + bytes.toString('latin1', at)
    if (!ENVELOPE.test(envelope)) return undefined
    return {
      slices,
      json: bytes.subarray(start, at + 1),
      inspectWith: (inspect) =>
        inspect({ ...(JSON.parse(envelope) as Row), data: takeEnds(slices).map(parseSlice) }, () =>
          JSON.parse(bytes.toString()),
        ),
    }
  }
}

const parseSlice = ({ bytes, from, to }: RecordSlice): unknown => JSON.parse(bytes.toString('utf8', from, to))

/** Finds and reads some fields of the record that was scanned last. */
const createFieldFinder = <Name extends string>(names: readonly Name[]) => {
  const texts = names.map((name) => Buffer.from(name))
  const starts = new Int32Array(names.length)
  const ends = new Int32Array(names.length)
  const spans: FieldSpans = { hashes: texts.map(hashName), names: new Int32Array(names.length), starts, ends }
  let bytes: Buffer = Buffer.alloc(0)
  /** Returns whether the fields found have the wanted names. */
  const open = (answer: Buffer): boolean => {
    bytes = answer
    for (let index = 0; index < texts.length; index += 1) {
      const text = texts[index] as Buffer
      const from = spans.names[index] as number
      if (starts[index] !== 0)
        for (let at = 0; at < text.length; at += 1) if (bytes[from + at] !== text[at]) return false
    }
    return true
  }
  const read = (name: Name): unknown => {
    const index = names.indexOf(name)
    const [from, to] = [starts[index] as number, ends[index] as number]
    if (from === 0) return undefined
    const text = bytes.toString('utf8', from + 1, to - 1)
    return bytes[from] === QUOTE && !text.includes('\\') ? text : JSON.parse(bytes.toString('utf8', from, to))
  }
  const isTruthy = (name: Name): boolean => {
    const index = names.indexOf(name)
    const from = starts[index] as number
    return bytes[from] === QUOTE ? (ends[index] as number) > from + 2 : Boolean(read(name))
  }
  const haveOnly = (some: readonly Name[], json: Buffer): boolean => {
    for (const name of some) {
      const from = starts[names.indexOf(name)] as number
      if (from !== 0 && !startsWith(bytes, from, json)) return false
    }
    return true
  }
  return { spans, open, read, isTruthy, haveOnly }
}

/** A JSON array of records. Neighbours in an answer are copied at once. */
export const joinSlices = (slices: readonly RecordSlice[]): Buffer => {
  let length = 1
  for (const { from, to } of slices) length += to - from + 1
  const json = Buffer.allocUnsafe(length)
  let end = 0
  for (let index = 0; index < slices.length; ) {
    const { bytes, from, to } = slices[index] as RecordSlice
    let last = to
    for (index += 1; slices[index]?.bytes === bytes && slices[index]?.from === last + 1; index += 1)
      last = (slices[index] as RecordSlice).to
    json[end] = end === 0 ? BRACKET : COMMA
    end += 1 + bytes.copy(json, end + 1, from, last)
  }
  json[end] = END_BRACKET
  return json
}
