import { diff, query, readReport, verify } from 'scripstream/analysis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { collected, duckdb } from './support.js'

/** What an app reads of a folder, through the entry point of the package. */
describe('an output folder', () => {
  let folder: Awaited<ReturnType<typeof collected>>
  let out: string
  beforeAll(async () => {
    folder = await collected(6)
    out = folder.out
  })
  afterAll(() => folder.remove())

  it('is checked, without options', async () => {
    const found = await verify(out, { streams: undefined, exchange: undefined, limits: undefined })
    expect([found.folder, found.findings.filter(({ severity }) => severity === 'error')]).toEqual([out, []])
    expect((await readReport(out))?.outcome).toBe('complete')
  })

  it('is compared with the run before, if there is one', async () =>
    expect(await diff(out, { exchange: undefined })).toMatchObject({ folder: out, since: null, changes: [] }))

  it.runIf(duckdb)('answers SQL', async () => {
    expect(
      await query(
        out,
        'SELECT count(*) AS stocks, max(date)::DATE AS newest, 9007199254740993 AS large FROM candles',
      ),
    ).toEqual([{ stocks: expect.any(Number), newest: '2026-02-12', large: '9007199254740993' }])
    await expect(query(out, 'DELETE FROM candles')).rejects.toMatchObject({ name: 'UsageError' })
  })

  it('that does not exist is an error that names it', async () => {
    const none = `${out}/none`
    for (const read of [() => verify(none), () => diff(none), () => query(none, 'SELECT 1')])
      await expect(read()).rejects.toThrow(`there is no folder ${none}`)
  })
})
