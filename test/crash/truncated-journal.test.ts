import { readFileSync, rmSync, truncateSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { copyOf, journalsIn, placesIn, tryRun } from '../resume/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'

/** Requests that hang: none of the first phase, without which the later phases would not start. */
const later = (request: string): boolean => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental')

describe('a truncated journal', () => {
  it('at any place of any line leads to the same files', async () => {
    const trying = { only: ['new-announcements', 'market-news'], history: false }
    const left = temporaryFolder()
    await tryRun({ out: left, ...trying, hangs: (request) => later(request) && /DELTA/.test(request) })
    const whole = temporaryFolder()
    await tryRun({ out: whole, ...trying })
    const expected = hashOutputs(whole)
    for (const [index, journal] of journalsIn(left).entries()) {
      const places = placesIn(readFileSync(journal))
      expect(places.length).toBeGreaterThanOrEqual(4)
      for (const at of places) {
        const out = copyOf(left)
        truncateSync(journalsIn(out)[index] ?? '', at)
        const { report } = await tryRun({ out, ...trying })
        expect(report?.outcome, `${journal} cut at ${at}`).toBe('complete')
        expect(hashOutputs(out), `${journal} cut at ${at}`).toEqual(expected)
        rmSync(out, { recursive: true })
      }
    }
  })
})
