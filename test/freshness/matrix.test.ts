import { describe, expect, it } from 'vitest'
import { KINDS, runMatrix } from './matrix.js'

/** The requests, what was recorded, and the first word of what was said, by the hour. */
const shorten = (row: string): string => {
  const [hour, requests, candle, recorded, said = ''] = row.split(' | ')
  return [hour, requests, candle, recorded, said.replace(/:.*/, '')].join(' | ')
}
const at = (hours: string, rest: string): readonly string[] =>
  hours.split(' ').map((hour) => `${hour} | ${rest}`)

const QUIET = '09:20 12:00 15:25 15:31 15:45 18:00 18:30 20:05 20:30 23:50'
const AFTER_TUESDAY = at('00:10 08:50', '0 | 03:108.75 | - | Up to date')
const BEFORE_MUHURAT = '09:20 12:00 15:25 15:31 15:45'

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  weekday: [
    ...AFTER_TUESDAY,
    '09:20 | 44 | 04:104.05 | 04 session | Complete',
    '12:00 | 43 | 04:105.65 | 04 session | Complete',
    '15:25 | 43 | 04:107.70 | 04 session | Complete',
    '15:31 | 43 | 04:107.75 | 04 final | Complete',
    '15:45 | 0 | 04:107.75 | - | Up to date',
    '18:00 | 36 | 04:107.75 | 04 final | Complete',
    '18:30 | 0 | 04:107.75 | - | Up to date',
    '20:05 | 5 | 04:107.75 | 04 final | Complete',
    ...at('20:30 23:50', '0 | 04:107.75 | - | Up to date'),
  ],
  Saturday: [
    ...at('00:10 08:50', '0 | 06:105.75 | - | Up to date'),
    ...at(QUIET, '1 | 06:105.75 | - | Up to date'),
  ],
  'Sunday without a session': [
    // Nobody looked on Saturday; once a run has, its night is over.
    '00:10 | 1 | 06:105.75 | - | Up to date',
    '08:50 | 0 | 06:105.75 | - | Up to date',
    ...at(QUIET, '1 | 06:105.75 | - | Up to date'),
  ],
  'Sunday with a session': [
    '00:10 | 1 | 30:105.75 | - | Up to date',
    '08:50 | 0 | 30:105.75 | - | Up to date',
    '09:20 | 46 | 01:100.05 | 01 session | Complete',
    '12:00 | 45 | 01:101.65 | 01 session | Complete',
    '15:25 | 45 | 01:103.70 | 01 session | Complete',
    '15:31 | 45 | 01:103.75 | 01 final | Complete',
    '15:45 | 0 | 01:103.75 | - | Up to date',
    '18:00 | 38 | 01:103.75 | 01 final | Complete',
    '18:30 | 0 | 01:103.75 | - | Up to date',
    '20:05 | 5 | 01:103.75 | 01 final | Complete',
    ...at('20:30 23:50', '0 | 01:103.75 | - | Up to date'),
  ],
  'named holiday': [...AFTER_TUESDAY, ...at(QUIET, '1 | 03:108.75 | - | Up to date')],
  'unnamed holiday': [...AFTER_TUESDAY, ...at(QUIET, '1 | 03:108.75 | - | No session')],
  'Muhurat, in the setting': [
    ...AFTER_TUESDAY,
    ...at(BEFORE_MUHURAT, '0 | 03:108.75 | - | Up to date'),
    '18:00 | 43 | 04:104.00 | 04 session | Complete',
    '18:30 | 43 | 04:104.30 | 04 session | Complete',
    '20:05 | 41 | 04:104.75 | 04 final | Complete',
    ...at('20:30 23:50', '0 | 04:104.75 | - | Up to date'),
  ],
  'Muhurat on a named holiday': [
    ...AFTER_TUESDAY,
    ...at(BEFORE_MUHURAT, '1 | 03:108.75 | - | Up to date'),
    '18:00 | 44 | 04:104.00 | 04 session | Complete',
    '18:30 | 44 | 04:104.30 | 04 session | Complete',
    '20:05 | 42 | 04:104.75 | 04 session | Complete',
    // Its hours are unknown: it is over once its candle stands still.
    '20:30 | 42 | 04:104.75 | 04 final | Complete',
    '23:50 | 0 | 04:104.75 | - | Up to date',
  ],
  'Muhurat, unknown': [
    ...AFTER_TUESDAY,
    ...at(BEFORE_MUHURAT, '1 | 03:108.75 | - | No session'),
    '18:00 | 44 | 04:104.00 | 04 session | Complete',
    '18:30 | 44 | 04:104.30 | 04 session | Complete',
    '20:05 | 42 | 04:104.75 | 04 session | Complete',
    '20:30 | 42 | 04:104.75 | 04 final | Complete',
    '23:50 | 0 | 04:104.75 | - | Up to date',
  ],
}

describe('a run at each hour of a day', () => {
  it.each(Object.keys(KINDS))('requests, stores, records and says what is right: %s', async (kind) => {
    const rows = await runMatrix(kind)
    if (process.env.SHOW_MATRIX) console.log(`## ${kind}\n${rows.join('\n')}`)
    expect(rows.map(shorten)).toEqual(EXPECTED[kind])
  })

  it.each(['Saturday', 'Sunday without a session', 'named holiday', 'unnamed holiday'])(
    'sends one request at most on a day without a session, even if it is the only run of the day: %s',
    async (kind) => {
      for (const hour of ['12:00', '23:50']) {
        const [row = ''] = await runMatrix(kind, [hour])
        expect([hour, Number(row.split(' | ')[1]) <= 1]).toEqual([hour, true])
      }
    },
  )
})
