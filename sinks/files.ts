import type { Observable } from 'rxjs'
import type { Tail } from '../src/pipeline/storage.js'

/** Where files lie: the little that the sinks need of a file system. Paths are relative, with `/`. Each call emits once. */
export interface Files {
  /** The whole text; nothing if there is no such file. */
  read(file: string): Observable<string | undefined>
  exists(file: string): Observable<boolean>
  tail(file: string): Observable<Tail | undefined>
  /** Puts a whole file in place of whatever was there, dated `asOf` if given; emits its size in bytes. Readers see the old one or the new one. */
  write(file: string, parts: Iterable<string>, asOf?: number): Observable<number>
}
