import { defer, type Observable, of } from 'rxjs'
import type { Shell } from './parts.js'

/** Prints a text that is made at once, and emits 0, the exit code. */
export const printed = ({ stdout }: Pick<Shell, 'stdout'>, text: () => string): Observable<number> =>
  defer(() => {
    stdout.write(text())
    return of(0)
  })
