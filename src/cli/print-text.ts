import { defer, type Observable, of } from 'rxjs'
import type { ProcessIo } from './dependencies.js'

/** Prints a text and emits the exit code 0. */
export const printText = ({ stdout }: Pick<ProcessIo, 'stdout'>, text: () => string): Observable<number> =>
  defer(() => {
    stdout.write(text())
    return of(0)
  })
