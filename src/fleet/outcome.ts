import type { Item, Settled } from '../model/outcome.js'
import type { Drift } from '../model/report.js'
import { type Blobs, type Form, packed, unpacked } from './blobs.js'

/** The data of an item's job: what a worker needs to process the item. */
export interface Work {
  readonly run: string
  readonly item: Item
  /** The item failed for a temporary reason before, in this run. */
  readonly isSecondPass?: boolean
}

/** The requests of a worker since its last report: all requests, retries, and answers with 429. */
export type Asked = readonly [requests: number, retries: number, rateLimited: number]

export const NOTHING_ASKED: Asked = [0, 0, 0]

/** Rows in a blob: their number, size and format. */
export interface BlobFacts {
  readonly length: number
  readonly bytes: number
  readonly form: Form
}

/** The outcome of an item as a worker reports it; its rows are in a blob. */
export interface Outcome extends Omit<Settled, 'item' | 'rows'> {
  /** The name of the worker. */
  readonly by: string
  readonly rows?: BlobFacts
  /** Absent if no request was made. */
  readonly requestCounts?: Asked
  readonly warnings?: readonly string[]
  /** All drift that the worker has seen in the stream so far; absent if unchanged since its last report. */
  readonly drift?: readonly Drift[]
}

/**
 * The job id of an item. BullMQ refuses ids that are numbers or contain a colon. The second pass has different ids, because the queue still
 * stores the finished jobs and events of the first pass.
 */
export const idOf = ({ fileName }: Item, isSecondPass = false): string => `${isSecondPass ? 'again-' : 'i'}${encodeURIComponent(fileName)}`

/** The name contains length and size: a worker that was stalled may write late, and must not overwrite different rows of another worker. */
const blobOf = (stream: string, { run, item }: Work, { length, bytes }: BlobFacts): string =>
  `${run}/${stream}/${encodeURIComponent(item.fileName)}-${length}-${bytes}`

/** Writes the rows to a blob; returns the outcome without them. */
export const putAway = async (
  stream: string,
  work: Work,
  { item: _, rows, ...rest }: Settled,
  blobs: Blobs,
): Promise<Omit<Outcome, 'by' | 'requestCounts'>> => {
  if (rows.length === 0) return rest
  const { form, bytes } = packed(rows)
  const facts: BlobFacts = { length: rows.length, bytes: bytes.length, form }
  await blobs.write(blobOf(stream, work, facts), bytes)
  return { ...rest, rows: facts }
}

/** The outcome of the item, with its rows from the blob. Missing or damaged rows make it an error. */
export const takenBack = async (stream: string, work: Work, outcome: Outcome, blobs: Blobs): Promise<Settled> => {
  const { by: _, requestCounts: __, warnings: ___, drift: ____, rows, ...rest } = outcome
  const { item } = work
  if (rows === undefined) return { ...rest, item, rows: [] }
  try {
    const bytes = await blobs.read(blobOf(stream, work, rows))
    if (bytes.length !== rows.bytes) throw new Error(`the file has ${bytes.length} bytes instead of ${rows.bytes}`)
    return { ...rest, item, rows: unpacked(bytes, rows.form, rows.length) }
  } catch (error) {
    return {
      item,
      status: 'error',
      rows: [],
      reason: `cannot read the rows of worker ${outcome.by} from the shared folder: ${(error as Error).message}`,
    }
  }
}
