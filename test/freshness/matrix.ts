import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Day, formatSecond } from '../../src/model/trading-day.js'
import { temporaryFolder } from '../support/folders.js'
import { createEvenings, type Market, type Said } from './support.js'

export const HOURS = '00:10 08:50 09:20 12:00 15:25 15:31 15:45 18:00 18:30 20:05 20:30 23:50'.split(' ')

interface KindOfDay {
  readonly day: Day
  /** The session before it. */
  readonly before: Day
  readonly market: Partial<Market>
  readonly settings?: object
}

const holidaysFile = (...days: readonly Day[]): string => {
  const path = join(temporaryFolder(), 'holidays.txt')
  writeFileSync(path, days.join('\n'))
  return path
}

const WEDNESDAY: Day = '2026-02-04'
const AFTER_TUESDAY = { day: WEDNESDAY, before: '2026-02-03' } as const
const MUHURAT = { [WEDNESDAY]: '18:00-19:15' }
const named = () => ({ holidays: holidaysFile(WEDNESDAY) })

export const KINDS: Readonly<Record<string, () => KindOfDay>> = {
  weekday: () => ({ ...AFTER_TUESDAY, market: {} }),
  Saturday: () => ({ day: '2026-02-07', before: '2026-02-06', market: {} }),
  'Sunday without a session': () => ({ day: '2026-02-08', before: '2026-02-06', market: {} }),
  'Sunday with a session': () => ({
    day: '2026-02-01',
    before: '2026-01-30',
    market: { hours: { '2026-02-01': '09:15-15:30' } },
  }),
  'named holiday': () => ({ ...AFTER_TUESDAY, market: { holidays: [WEDNESDAY] }, settings: named() }),
  'unnamed holiday': () => ({ ...AFTER_TUESDAY, market: { holidays: [WEDNESDAY] } }),
  'Muhurat, in the setting': () => ({
    ...AFTER_TUESDAY,
    market: { hours: MUHURAT },
    settings: { ...named(), sessions: MUHURAT },
  }),
  'Muhurat on a named holiday': () => ({ ...AFTER_TUESDAY, market: { hours: MUHURAT }, settings: named() }),
  'Muhurat, unknown': () => ({ ...AFTER_TUESDAY, market: { hours: MUHURAT } }),
}

/** The last line of a candle file: its day, and its close in paise above 100. */
export const lastCandle = (out: string): string => {
  const line =
    readFileSync(join(out, 'ohlcv_data', 'ALPHA.csv'), 'utf8')
      .trim()
      .split('\n')
      .at(-1) ?? ''
  const [time, , , , close] = line.split(',')
  return `${formatSecond(Number(time) * 1_000).slice(8, 10)}:${Number(close).toFixed(2)}`
}

/** The records of a folder: session and timing. */
export const listRecords = (out: string): readonly string[] => {
  const root = join(out, '.scripstream', 'history')
  return readdirSync(root)
    .filter((name) => /^\d{4}-/.test(name))
    .flatMap((day) =>
      readdirSync(join(root, day)).map((name) => {
        const { record } = JSON.parse(readFileSync(join(root, day, name, 'record.json'), 'utf8'))
        return `${name} ${day.slice(8)} ${record.timing}${record.isConfirmed ? '' : '?'}`
      }),
    )
}

const sayShort = ({ out, code }: Said): string => {
  const line =
    out.split('\n').find((one) => /^(Complete|Up to date|No session|Partial|Unknown|Failed)/.test(one)) ?? ''
  return `${code === 0 ? '' : `exit ${code} `}${line.replace(/run \S+ /, '').slice(0, 110)}`
}

/** Rows of a kind of day: hour, requests, newest stored candle, what was recorded, and what was said. */
export const runMatrix = async (
  kind: string,
  hours: readonly string[] = HOURS,
): Promise<readonly string[]> => {
  const { day, before, market, settings } = (KINDS[kind] as () => KindOfDay)()
  const live: Market = { holidays: [], frozen: {}, isLive: true, ...market }
  const { type, only, out } = createEvenings(live, { history: true, ...settings })
  const command = `run --progress none --only ${only}`
  await type(before, '20:30', command)
  let known = listRecords(out)
  const rows: string[] = []
  for (const hour of hours) {
    const said = await type(day, hour, command)
    const now = listRecords(out)
    const added = now.filter((one) => !known.includes(one)).map((one) => one.replace(/^\S+ /, ''))
    known = now
    rows.push(
      [hour, said.requests.length, lastCandle(out), added.join('+') || '-', sayShort(said)].join(' | '),
    )
  }
  return rows
}
