import type { Observable } from 'rxjs'
import type { z } from 'zod'
import type { Ask } from '../http/ask.js'
import type { Settings } from '../model/settings.js'
import type { Stored } from '../model/stored.js'
import type { DeclaredOptions } from '../model/stream-options.js'
import type { Pause } from '../operators/merge-map-with-pauses.js'
import type { RefusalCode } from './refusal-policy.js'

/** Everything of a run that the work of a stream can use. */
export interface Tools {
  readonly ask: Ask
  readonly stored: Stored
  /** The ISINs that the stock had in earlier lists; absent without any. */
  readonly earlierIsins?: readonly string[] | undefined
  readonly settings: Settings
  /** The settings of the stream itself, with their defaults, as its definition declares them. */
  readonly options: <Shape extends DeclaredOptions>(declared: Shape) => z.output<z.ZodObject<Shape>>
  /** "Now" of the run, epoch milliseconds. */
  readonly asOf: number
  /** Runs `make` once per run and key: later callers get the same answer or the same error. */
  readonly shared: <T>(key: string, make: () => Observable<T>) => Observable<T>
  /**
   * Completes when another stream has ended, even if it failed; at once if this run lacks it. The
   * definition's `after` must name it.
   */
  readonly after: (stream: string) => Observable<never>
  /**
   * Waits for something else than a request, while the worker of the item takes the next one. Requests and
   * `after` need none of it.
   */
  readonly pause: Pause
  /** Whether the run accepts answers that this rule refuses (`RunOptions.accept`). */
  readonly accepts: (code: RefusalCode) => boolean
  /** Adds a warning to the report. */
  readonly warn: (text: string) => void
}
