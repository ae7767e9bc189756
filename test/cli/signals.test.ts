import { EventEmitter } from 'node:events'
import { Observable, of, Subject, throwError } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { type ExitSignal, listenToSignals, toExitCode, untilSignal } from '../../src/cli/signals.js'

describe('signals', () => {
  test('have the exit codes that shells expect', () => {
    expect([toExitCode('SIGHUP'), toExitCode('SIGINT'), toExitCode('SIGTERM')]).toEqual([129, 130, 143])
  })

  test('have listeners only while subscribed', () => {
    const emitter = new EventEmitter()
    const seen: ExitSignal[] = []
    const listening = listenToSignals(emitter).subscribe((signal) => seen.push(signal))
    emitter.emit('SIGTERM')
    emitter.emit('SIGINT')
    listening.unsubscribe()
    expect(seen).toEqual(['SIGTERM', 'SIGINT'])
    expect(emitter.eventNames()).toEqual([])
  })
})

describe('untilSignal', () => {
  const watch = <T>(source$: Observable<T>, signal$ = new Subject<ExitSignal>()) => {
    const log: unknown[] = []
    source$.pipe(untilSignal(signal$)).subscribe({
      next: (value) => log.push(value),
      error: (error: Error) => log.push(error.message),
      complete: () => log.push('complete'),
    })
    return { log, signal$ }
  }

  test('mirrors a source that ends by itself and stops listening', () => {
    const { log, signal$ } = watch(of(1, 2))
    expect(log).toEqual([1, 2, 'complete'])
    expect(signal$.observed).toBe(false)
  })

  test('passes an error on', () =>
    expect(watch(throwError(() => new Error('broken'))).log).toEqual(['broken']))

  test('unsubscribes from the source before it emits the signal', () => {
    const { log, signal$ } = watch(new Observable(() => () => log.push('aborted')))
    signal$.next('SIGINT')
    signal$.next('SIGINT')
    expect(log).toEqual(['aborted', 'SIGINT', 'complete'])
  })

  test('does not subscribe to the source if the signal is already there', () => {
    const log: unknown[] = []
    const source$ = new Observable<never>(() => void log.push('subscribed'))
    source$
      .pipe(untilSignal(of<ExitSignal>('SIGTERM')))
      .subscribe({ next: (value) => log.push(value), complete: () => log.push('complete') })
    expect(log).toEqual(['SIGTERM', 'complete'])
  })

  test('ends both when it is unsubscribed from', () => {
    const [source$, signal$] = [new Subject<number>(), new Subject<ExitSignal>()]
    source$.pipe(untilSignal(signal$)).subscribe().unsubscribe()
    expect([source$.observed, signal$.observed]).toEqual([false, false])
  })
})
