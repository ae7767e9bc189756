import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { lastValueFrom, of, tap, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isItemError } from '../../src/model/errors.js'
import { catchItemFailure } from '../../src/operators/catch-item-failure.js'
import { toRequestError } from '../../src/operators/request-errors.js'
import { retryFailures } from '../../src/operators/retry-failures.js'

interface Facts {
  readonly name: string
  readonly message: string
  readonly cause?: Facts
}

/** What clients throw, as it was seen: `clients` had the `error` after the `failure`. */
interface Seen {
  readonly failure: string
  readonly clients: readonly string[]
  readonly error: Facts
}

const seen = readFileSync(join(import.meta.dirname, 'client-errors.ndjson'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Seen)

const EXPECTED: Readonly<Record<string, RegExp>> = {
  refused: /^connect$/,
  reset: /^reset$/,
  closed: /^reset$/,
  'cut, with a length': /^(truncated|reset)$/,
  'cut by a reset': /^(truncated|reset)$/,
  'cut, chunked': /^(truncated|reset)$/,
  timeout: /^deadline$/,
  'no HTTP': /^protocol$/,
  'unknown host': /^dns$/,
  '404': /^http_404$/,
  '429': /^rate_limit$/,
  '503': /^http_503$/,
}
const RETRY_AFTER_MS: Readonly<Record<string, number>> = { '429': 7_000, '503': 3_000 }

/** The error again; of a realm of its own, it is no `Error` here, as under jest. */
const rebuild = ({ cause, ...facts }: Facts, OwnError: ErrorConstructor): Error =>
  Object.assign(new OwnError(facts.message), facts, cause && { cause: rebuild(cause, OwnError) })

const REALMS = { 'this realm': Error, 'another realm': runInNewContext('Error') as ErrorConstructor }

describe.each(Object.entries(REALMS))('the error of a client, of %s:', (_, OwnError) => {
  it.each(seen.map((one) => [one.clients.join(', '), one.failure, one] as const))(
    '%s, %s',
    (...[, , one]) => {
      const error = rebuild(one.error, OwnError)
      const known = toRequestError(error) as { readonly code: string; readonly retryAfterMs?: number }
      // It has no sign of its own: the signal of a timeout looks as if the app had aborted the request.
      const isUnknown = one.error.name === 'AbortError' || one.failure === 'invalid address'
      if (isUnknown) expect(known).toBe(error)
      else {
        expect(known.code).toMatch(EXPECTED[one.failure] ?? /^$/)
        expect(known).toMatchObject({ cause: error })
        expect(known.retryAfterMs).toBe(RETRY_AFTER_MS[one.failure])
        expect(isItemError(known)).toBe(true)
      }
    },
  )

  const wrap = (depth: number): Error =>
    Array.from({ length: depth }).reduce<Error>(
      (cause) => rebuild({ name: 'Error', message: 'wrapped', cause: cause as Facts }, OwnError),
      Object.assign(new OwnError('read ECONNRESET'), { code: 'ECONNRESET' }),
    )

  it('is followed through three causes', () => {
    expect(toRequestError(wrap(3))).toMatchObject({ reason: 'reset' })
    const tooDeep = wrap(4)
    expect(toRequestError(tooDeep)).toBe(tooDeep)
  })

  it.each<[string, Facts & Readonly<Record<string, unknown>>]>([
    ['a bug', { name: 'TypeError', message: 'agent.dispatch is not a function' }],
    [
      'an unfit dispatcher',
      { name: 'InvalidArgumentError', message: 'invalid onError method', code: 'UND_ERR_INVALID_ARG' },
    ],
    ['a refusal by the permission model', { name: 'Error', message: 'connect', code: 'ERR_ACCESS_DENIED' }],
    ['an aborted request', { name: 'CanceledError', message: 'canceled', code: 'ERR_CANCELED' }],
  ])('stays as it is if it is none of a request: %s', (_, facts) => {
    for (const all of [facts, { name: 'TypeError', message: 'fetch failed', cause: facts }]) {
      const error = rebuild(all, OwnError)
      expect(toRequestError(error)).toBe(error)
    }
  })

  it('stays as it is if it only has a status, as those of a server of the app', () => {
    const error = rebuild({ name: 'NotFoundError', message: 'no such user', status: 404 } as never, OwnError)
    expect(toRequestError(error)).toBe(error)
  })

  it('is retried, then costs one item', async () => {
    const error = rebuild((seen.find(({ failure }) => failure === 'closed') as Seen).error, OwnError)
    let asked = 0
    const ask$ = throwError(() => error).pipe(tap({ subscribe: () => (asked += 1) }))
    const failed$ = ask$.pipe(
      retryFailures({ retries: 2, backoffMs: 0 }),
      catchItemFailure((reason) => of(reason)),
    )
    expect(await lastValueFrom(failed$)).toMatch(/^reset: /)
    expect(asked).toBe(3)
  })
})
