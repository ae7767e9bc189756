import { defer, type Observable, of } from 'rxjs'
import type { Shell } from './parts.js'

/** Prints a text and emits the exit code 0. */
export const printed = ({ stdout }: Pick<Shell, 'stdout'>, text: () => string): Observable<number> =>
  defer(() => {
    stdout.write(text())
    return of(0)
  })
