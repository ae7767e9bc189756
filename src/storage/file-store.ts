import type { Observable } from 'rxjs'
import type { Row } from '../model/row.js'
import type { Session, SessionRequest } from '../pipeline/session.js'
import type { Tail } from '../pipeline/storage.js'

/** A chunk of a file: text or bytes. */
export type FileChunk = string | Uint8Array

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
   * touched and keeps its modification time.
   */
  write(file: string, parts: Iterable<FileChunk>, asOf?: number): Observable<number>
  /** See `Storage`. */
  begin(request: SessionRequest): Observable<Session>
}
