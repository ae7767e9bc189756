import type { Observable } from 'rxjs'
import type { Row } from '../src/model/row.js'
import type { Beginning, Session } from '../src/pipeline/session.js'
import type { Tail } from '../src/pipeline/storage.js'

/** What a file is put together from: text, or bytes as they are. Bytes of 1 MiB or more only hold until the next part is asked for. */
export type Part = string | Uint8Array

/** Bytes of a part that is long. */
export const LONG_PART = 1 << 20

/** Where files lie: the little that the sinks need of a file system. Paths are relative, with `/`. Each call emits once, but `records` and `owners`. */
export interface Files {
  /** All of its bytes; nothing if there is no such file. */
  read(file: string): Observable<Uint8Array | undefined>
  exists(file: string): Observable<boolean>
  /** Nothing if there is no such file. */
  tail(file: string): Observable<Tail | undefined>
  /** The records of a stored JSON array, one by one, without holding them all; none if there is no such file. Errors with `DamagedFile`. */
  records(file: string): Observable<Row>
  /** The same records, of which no more need be told than whose they are, `Symbol` and `ISIN`. */
  owners(file: string): Observable<Row>
  /**
   * Puts a whole file in place of whatever was there, dated `asOf` if given; emits its size in bytes. Readers see the old one or the new
   * one. A file that holds these very bytes already stays as it is, its date too.
   */
  write(file: string, parts: Iterable<Part>, asOf?: number): Observable<number>
  /** As of `Storage`. */
  begin(beginning: Beginning): Observable<Session>
}
