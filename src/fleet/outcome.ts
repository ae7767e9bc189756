import type { Item, Settled } from '../model/outcome.js'
import type { Drift } from '../model/report.js'
import { type Blobs, type Form, packed, unpacked } from './blobs.js'

/** What a worker is given: an item of a run. */
export interface Work {
  readonly run: string
  readonly item: Item
  /** It failed for a temporary reason before, in this run. */
  readonly isSecondPass?: boolean
}

/** What the requests of a worker came to since it last told: how many there were, further attempts, answers with 429. */
export type Asked = readonly [requests: number, retries: number, rateLimited: number]

export const NOTHING_ASKED: Asked = [0, 0, 0]

/** Rows in a blob: how many, in how many bytes, written how. */
export interface BlobFacts {
  readonly length: number
  readonly bytes: number
  readonly form: Form
}

/** What became of an item, as a worker tells it; its rows lie in a blob. */
export interface Outcome extends Omit<Settled, 'item' | 'rows'> {
  /** The name of the worker. */
  readonly by: string
  readonly rows?: BlobFacts
  /** Absent where nothing was. */
  readonly asked?: Asked
  readonly notices?: readonly string[]
  /** All drift that the worker has seen in the stream so far, where that has changed. */
  readonly drift?: readonly Drift[]
}

/**
 * What identifies an item's work: neither a number, nor with a colon in it, which the queue would refuse. The second pass has ids of its
 * own: the queue keeps what has ended, and what it still tells of the first pass must not count for the second.
 */
export const idOf = ({ fileName }: Item, isSecondPass = false): string => `${isSecondPass ? 'again-' : 'i'}${encodeURIComponent(fileName)}`

/** A worker that stood still may write once more, later than another: what it was answered differently has another name. */
const blobOf = (stream: string, { run, item }: Work, { length, bytes }: BlobFacts): string =>
  `${run}/${stream}/${encodeURIComponent(item.fileName)}-${length}-${bytes}`

/** Leaves the rows in a blob; what is left to tell. */
export const putAway = async (
  stream: string,
  work: Work,
  { item: _, rows, ...rest }: Settled,
  blobs: Blobs,
): Promise<Omit<Outcome, 'by' | 'asked'>> => {
  if (rows.length === 0) return rest
  const { form, bytes } = packed(rows)
  const facts: BlobFacts = { length: rows.length, bytes: bytes.length, form }
  await blobs.write(blobOf(stream, work, facts), bytes)
  return { ...rest, rows: facts }
}

/** The item as it was settled, its rows from the blob. Rows that are gone make it a lost one. */
export const takenBack = async (stream: string, work: Work, outcome: Outcome, blobs: Blobs): Promise<Settled> => {
  const { by: _, asked: __, notices: ___, drift: ____, rows, ...rest } = outcome
  const { item } = work
  if (rows === undefined) return { ...rest, item, rows: [] }
  try {
    const bytes = await blobs.read(blobOf(stream, work, rows))
    if (bytes.length !== rows.bytes) throw new Error(`it holds ${bytes.length} bytes instead of ${rows.bytes}`)
    return { ...rest, item, rows: unpacked(bytes, rows.form, rows.length) }
  } catch (error) {
    return {
      item,
      status: 'error',
      rows: [],
      reason: `what ${outcome.by} left in the shared folder cannot be read: ${(error as Error).message}`,
    }
  }
}
