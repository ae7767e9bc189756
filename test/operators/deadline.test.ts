import { asyncScheduler, ignoreElements, merge, NEVER, type Observable, Subject, tap, timer } from 'rxjs'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { TransportError } from '../../src/model/errors.js'
import { deadline, type Transfer } from '../../src/operators/deadline.js'
import { itWithMarbles } from '../support/marbles.js'

const late = new TransportError('deadline', 'no whole answer within 5 ms')

describe('deadline', () => {
  itWithMarbles('passes on a value that arrives in time', (m) => {
    const source = m.cold<string>('---(a|)')
    const expected = '             ---(a|)'

    m.expect(source.pipe(deadline({ idleMs: 5 }))).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions('^--!')
  })

  itWithMarbles('errors if no value arrived in time, and unsubscribes the source', (m) => {
    const source = m.cold<string>('-------(a|)')
    const subs = '                 ^----!'
    const expected = '             -----#'

    m.expect(source.pipe(deadline({ idleMs: 5 }))).toBeObservable(expected, undefined, late)
    m.expect(source).toHaveSubscriptions(subs)
  })

  itWithMarbles('stops when a value has arrived, even if it is emitted later', (m) => {
    const source = m.cold<string>('-------(a|)')
    const transfer: Transfer = { bytesAt: 0 }
    const arrive$ = timer(3).pipe(
      tap(() => {
        transfer.isComplete = true
      }),
      ignoreElements(),
    )
    const expected = '             -------(a|)'

    m.expect(merge(source, arrive$).pipe(deadline({ idleMs: 5, transfer }))).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions('^------!')
  })

  itWithMarbles('limits the first value only', (m) => {
    const source = m.cold<string>('--a---------b|')
    const expected = '             --a---------b|'

    m.expect(source.pipe(deadline({ idleMs: 5 }))).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions('^------------!')
  })

  itWithMarbles('unsubscribes the source when it is unsubscribed, and does not error later', (m) => {
    const source = m.cold<string>('----(a|)')
    const unsub = '                --!'
    const subs = '                 ^-!'
    const expected = '             ---'

    m.expect(source.pipe(deadline({ idleMs: 5 })), unsub).toBeObservable(expected)
    m.expect(source).toHaveSubscriptions(subs.trim())
  })

  describe('of a reply with progress', () => {
    const bounded = (source: Observable<string>, noted: Observable<number>) => {
      const transfer: Transfer = { bytesAt: 0 }
      const noting = noted.pipe(
        tap((at) => {
          transfer.bytesAt = at
        }),
        ignoreElements(),
      )
      return merge(source, noting as Observable<never>).pipe(deadline({ idleMs: 5, totalMs: 20, transfer }))
    }
    const at = Object.fromEntries(
      Array.from({ length: 26 }, (_, frame) => [String.fromCharCode(97 + frame), frame]),
    ) as Record<string, number>
    const error = (message: string, hasBegun: boolean) =>
      new TransportError('deadline', message, { hasBegun })

    itWithMarbles('waits as long as bytes arrive', (m) => {
      const source = m.cold<string>('            ------------------(x|)')
      const bytes = m.cold('---d---h---l---p|', at)
      m.expect(bounded(source, bytes)).toBeObservable('------------------(x|)')
    })

    itWithMarbles('errors after idleMs without a byte', (m) => {
      const bytes = m.cold('---d---h-', at)
      m.expect(bounded(m.cold('-'), bytes)).toBeObservable(
        '------------#',
        undefined,
        error('no byte for 5 ms', true),
      )
    })

    itWithMarbles('errors after totalMs although bytes arrive', (m) => {
      const bytes = m.cold('--c--f--i--l--o--r--u--x--', at)
      const late = error('no whole answer within 20 ms', true)
      m.expect(bounded(m.cold('-'), bytes)).toBeObservable('--------------------#', undefined, late)
    })

    itWithMarbles('does not count the time while we do not read', (m) => {
      const bytes = m.cold('--p---------l--', { p: Number.POSITIVE_INFINITY, l: 12 })
      m.expect(bounded(m.cold('-'), bytes)).toBeObservable(
        '-----------------#',
        undefined,
        error('no byte for 5 ms', true),
      )
    })
  })
})

describe('the timer of a deadline', () => {
  it('does not exist without a limit', () => {
    const countBefore = countTimers()
    const open = NEVER.pipe(deadline({ idleMs: Number.POSITIVE_INFINITY })).subscribe()
    expect(countTimers()).toBe(countBefore)
    open.unsubscribe()
  })

  const countTimers = (): number =>
    process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

  it('is gone when the reply is there, or nobody waits any more', () => {
    const before = countTimers()
    const reply$ = new Subject<string>()
    const answered = reply$.pipe(deadline({ idleMs: 9_000 })).subscribe()
    const left = NEVER.pipe(deadline({ idleMs: 5_000 })).subscribe()
    expect(countTimers()).toBe(before + 2)
    reply$.next('a')
    left.unsubscribe()
    expect([countTimers(), answered.closed]).toEqual([before, false])
  })

  for (const jumpMs of [3_600_000, -3_600_000])
    itWithMarbles(`is not moved by a clock that is set by ${jumpMs} ms`, (m) => {
      const now = asyncScheduler.now.bind(asyncScheduler)
      let shift = 0
      const clock = vi.spyOn(asyncScheduler, 'now').mockImplementation(() => now() + shift)
      onTestFinished(() => clock.mockRestore())
      const failed: string[] = []
      const watch = (name: string): void => {
        NEVER.pipe(deadline({ idleMs: 10 })).subscribe({
          error: () => failed.push(`${m.scheduler.now()} ${name}`),
        })
      }
      watch('old')
      m.cold('8ms x').subscribe(() => watch('young'))
      m.cold('9ms x').subscribe(() => (shift = jumpMs))
      m.flush()
      expect(failed).toEqual(['10 old', '18 young'])
    })
})
