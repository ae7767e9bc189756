import { firstValueFrom, of, throwError } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { planRetry } from '../../src/cli/run/retry.js'
import { DamagedFileError, UsageError } from '../../src/model/errors.js'
import { tinyRegistry } from './support.js'

const damaged = Symbol('damaged')
const NOW = Date.parse('2026-02-12T20:00:00+05:30')

/** The result of `--retry-failed` in a folder with these documents. */
const retry = (documents: Readonly<Record<string, unknown>>, now = NOW) =>
  firstValueFrom(
    planRetry(
      {},
      {
        stored: {
          exists: () => of(false),
          tail: () => of(undefined),
          text: () => of(undefined),
          document: (file) => {
            const found = documents[file.replace('.scripstream/', '')]
            return found === damaged
              ? throwError(() => new DamagedFileError(`${file} is damaged`))
              : of(found)
          },
        },
        streams: tinyRegistry,
        settings: { out: 'data', fetchOhlcv: true },
        now,
      },
    ),
  )

const partial = { outcome: 'partial' }

describe('a retry', () => {
  it('fetches the items of the list', async () => {
    expect(await retry({ 'report.json': partial, 'failed.json': { 'market-news': ['A'] } })).toMatchObject({
      run: { only: ['market-news'], pairs: { 'market-news': ['A'] } },
    })
  })

  it.each([
    ['is missing', undefined, partial, 'is missing'],
    [
      'is missing after runs with failed items',
      undefined,
      { outcome: 'complete', missing: { 'market-news': 1 } },
      'is missing',
    ],
    ['is damaged', damaged, partial, 'is damaged'],
    ['has another format', [], partial, 'is damaged'],
    ['is damaged, as is the report', damaged, damaged, 'is damaged'],
  ])('ends with an error if the list %s', async (_, list, report, said) => {
    await expect(async () => retry({ 'report.json': report, 'failed.json': list })).rejects.toThrow(
      UsageError,
    )
    await expect(async () => retry({ 'report.json': report, 'failed.json': list })).rejects.toThrow(
      `data/.scripstream/failed.json (the failed items) ${said}; run once without --retry-failed`,
    )
  })

  const ended = { run: 'r', asOf: NOW, endedAt: NOW, chosen: { only: ['market-news'] } }
  const list = { 'market-news': ['A'] }

  it('resumes a run that ended with missing items, on the same day', async () => {
    expect(await retry({ 'run.json': ended, 'failed.json': list, 'report.json': partial })).toEqual({
      run: { only: ['market-news'] },
      note: 'Resuming the last run: only missing items are requested.',
    })
  })

  it('fetches the items of the list if such a run is of an earlier day', async () => {
    const later = NOW + 86_400_000
    expect(
      await retry({ 'run.json': ended, 'failed.json': list, 'report.json': partial }, later),
    ).toMatchObject({
      run: { pairs: list },
    })
  })

  it.each([
    ['is missing', undefined],
    ['is empty', {}],
    ['is damaged', damaged],
  ])('has nothing to do after a complete run whose list %s', async (_, list) => {
    expect(await retry({ 'report.json': { outcome: 'complete' }, 'failed.json': list })).toEqual({
      report: { outcome: 'complete' },
    })
  })
})
