import { fromEvent, map, merge, Observable, Subscription } from 'rxjs'

const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

export type ExitSignal = keyof typeof SIGNAL_NUMBERS

const SIGNAL_NAMES = Object.keys(SIGNAL_NUMBERS) as readonly ExitSignal[]

/** 130 for Ctrl+C, 143 for TERM, 129 for a closed terminal. */
export const toExitCode = (signal: ExitSignal): number => 128 + SIGNAL_NUMBERS[signal]

/**
 * The signals that stop a process. While this is subscribed, they no longer end the process by themselves.
 */
export const listenToSignals = (
  emitter: Pick<NodeJS.EventEmitter, 'addListener' | 'removeListener'>,
): Observable<ExitSignal> =>
  merge(...SIGNAL_NAMES.map((name) => fromEvent(emitter, name).pipe(map(() => name))))

/**
 * Mirrors the source until a signal. Then it unsubscribes first, which aborts requests in flight, and after
 * that emits the signal and completes.
 */
export const untilSignal =
  (signal$: Observable<ExitSignal>) =>
  <T>(source$: Observable<T>): Observable<T | ExitSignal> =>
    new Observable((subscriber) => {
      const working = new Subscription()
      const listening = signal$.subscribe((signal) => {
        working.unsubscribe()
        subscriber.next(signal)
        subscriber.complete()
      })
      subscriber.add(listening)
      subscriber.add(working)
      if (subscriber.closed) return
      working.add(
        source$.subscribe({
          next: (value) => subscriber.next(value),
          error: (error: unknown) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      )
    })
