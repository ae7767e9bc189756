import type { Observable } from 'rxjs'

/** The folder of everything about runs, inside the output folder. */
export const STATE_FOLDER = '.scripstream'

/** The path of a document that `Storage.storeDocument` stores. */
export const toStatePath = (name: string): string => `${STATE_FOLDER}/${name}`

export const REPORT_FILE = toStatePath('report.json')

/** The first and last lines of a stored file. */
export interface Tail {
  /** The file's first line, without its end. */
  readonly header: string
  /**
   * The last complete lines after it, at most two, the newest last; one without its line end does not count.
   */
  readonly lines: readonly string[]
  /** The instant as of which the file was written, epoch milliseconds. */
  readonly asOf: number
}

/** Reads the files of earlier runs. Paths are relative to the output folder. Each method emits once. */
export interface Stored {
  exists(file: string): Observable<boolean>
  /** `undefined` if the file does not exist. */
  tail(file: string): Observable<Tail | undefined>
  /** The whole text; `undefined` if the file does not exist. */
  text(file: string): Observable<string | undefined>
  /**
   * A JSON document; `undefined` if the file does not exist. Errors with `DamagedFileError` if it is not
   * JSON.
   */
  document(file: string): Observable<unknown>
  /** The names of the files in a folder, in any order; absent where files cannot be listed. */
  list?(folder: string): Observable<readonly string[]>
}
