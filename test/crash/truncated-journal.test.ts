import { rmSync, statSync, truncateSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { copyOf, journalsIn, tryRun } from '../resume/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'

/** Requests that hang: none of the first phase, without which the later phases would not start. */
const later = (request: string): boolean => /GAMMA|DELTA/.test(request) && !request.startsWith('fundamental')

describe('a truncated journal', () => {
  it('at any byte leads to the same files', async () => {
    const only = ['new-announcements', 'market-news']
    const left = temporaryFolder()
    await tryRun({ out: left, only, hangs: (request) => later(request) && /DELTA/.test(request) })
    const whole = temporaryFolder()
    await tryRun({ out: whole, only })
    const expected = hashOutputs(whole)
    for (const [index, journal] of journalsIn(left).entries()) {
      const { size } = statSync(journal)
      expect(size).toBeGreaterThan(100)
      for (let at = 0; at < size; at++) {
        const out = copyOf(left)
        truncateSync(journalsIn(out)[index] ?? '', at)
        const { report } = await tryRun({ out, only })
        expect(report?.outcome, `${journal} cut at ${at}`).toBe('complete')
        expect(hashOutputs(out), `${journal} cut at ${at}`).toEqual(expected)
        rmSync(out, { recursive: true })
      }
    }
  })
})
