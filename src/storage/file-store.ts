import type { Observable } from 'rxjs'
import type { Row } from '../model/row.js'
import type { LockedStorage, SessionRequest } from '../pipeline/session.js'
import type { Tail } from '../pipeline/storage.js'
import type { FileChunk } from './file-system.js'

/** The file system calls that the sinks need. Paths are relative, with `/`. Each call emits once, except `records` and `owners`. */
export interface FileStore {
  /** All bytes of a file; `undefined` if it is missing. */
  read(file: string): Observable<Uint8Array | undefined>
  exists(file: string): Observable<boolean>
  /** `undefined` if the file is missing. */
  tail(file: string): Observable<Tail | undefined>
  /** The records of a stored JSON array, streamed one by one; none if the file is missing. Errors with `DamagedFileError`. */
  records(file: string): Observable<Row>
  /** The same records, of which only `Symbol` and `ISIN` are needed. */
  owners(file: string): Observable<Row>
  /**
   * Replaces a file atomically, with `asOf` as its modification time if given; emits its size in bytes. A file with the same bytes is not
   * touched and keeps its modification time. `base` is the stored content that the new one continues; a store that keeps digests checks it.
   */
  write(file: string, parts: Iterable<FileChunk>, asOf?: number, base?: Uint8Array): Observable<number>
  /** Adds a line at the end of a file; absent where files cannot grow. */
  append?(file: string, line: string): Observable<void>
  /** See `Storage`. */
  openSession(request: SessionRequest): Observable<LockedStorage>
}

const MAX_TAIL_LINES = 2

/**
 * Extracts header and last lines from the first and last bytes of a file. Ignores a last line without line feed: it may be torn.
 *
 * @example createTail({ head: text, end: text, asOf: Date.now() })
 */
export const createTail = ({ head, end, asOf }: { readonly head: string; readonly end: string; readonly asOf: number }): Tail => {
  const [header = ''] = head.split('\n', 1)
  const whole = end.slice(0, end.lastIndexOf('\n') + 1).split('\n')
  return {
    header,
    lines: whole
      .slice(0, -1)
      .slice(-MAX_TAIL_LINES)
      .filter((line) => line !== header),
    asOf,
  }
}
