import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { of } from 'rxjs'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { loadSettings } from '../../src/config.js'
import type { HttpRequest, Transport } from '../../src/http/transport.js'
import type { RunReport } from '../../src/model/report.js'
import {
  addDays,
  type Day,
  formatCompactDmy,
  lastWeekday,
  toDay,
  toInstant,
} from '../../src/model/trading-day.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../cli/support.js'
import { SETTINGS, stockNamed } from '../streams/support.js'
import { temporaryFolder } from '../support/folders.js'
import { createQuickCollector } from '../support/limits.js'
import { createOwnBytes } from '../support/own-bytes.js'

const STOCKS = ['ALPHA', 'BETA', 'GAMMA', 'DELTA'].map(stockNamed)
const INDICES = ['ONE', 'TWO', 'THREE'].map((Sym, place) => ({
  Sym,
  DispSym: Sym,
  Sid: 10 + place,
  Exch: 'IDX',
  Seg: 'I',
  Inst: 'IDX',
}))

/** What a provider has, by the last day of each kind of data that it still adds. */
export interface Market {
  readonly holidays: readonly Day[]
  /** Weekend days with a session. */
  readonly specials?: readonly Day[]
  /** Sessions at other hours, or on holidays: `18:00-19:15`. */
  readonly hours?: Readonly<Record<Day, string>>
  /** Whether candles are there from the opening on, and grow until the session ends. */
  readonly isLive?: boolean
  /** Another close of a day from an instant on, such as `2026-02-05 08:00`. */
  readonly revised?: Readonly<Record<Day, string>>
  /** The first day that a kind lacks, and with it all later ones. */
  frozen: Partial<Record<Kind | 'quotes', Day>>
  /** When a kind appears, if that is not as usual. */
  readonly appears?: Partial<Record<Kind, string>>
  /** Whether it answers nothing. */
  isAway?: boolean
}
type Kind = 'candles' | 'indices' | 'deals' | 'bands'

const FIRST: Day = '2026-01-05'
/** When the data of a session appears. */
const APPEARS: Readonly<Record<Kind, string>> = {
  candles: '15:45',
  indices: '15:45',
  deals: '17:45',
  bands: '19:00',
}

const hoursOn = (day: Day, { hours = {} }: Market): readonly string[] =>
  (hours[day] ?? '09:15-15:30').split('-')

const listSessions = (market: Market, kind: Kind, now: number): readonly Day[] => {
  const { holidays, specials = [], hours = {}, frozen, appears = {}, isLive = false } = market
  const isSession = (day: Day): boolean =>
    day in hours || specials.includes(day) || (lastWeekday(day) === day && !holidays.includes(day))
  const isThere = (day: Day): boolean => {
    const [opens = '', ends = ''] = hoursOn(day, market)
    const isOfPrices = kind === 'candles' || kind === 'indices'
    const usual = appears[kind] ?? APPEARS[kind]
    return toInstant(day, isOfPrices && isLive ? opens : ends > usual ? ends : usual) <= now
  }
  const days: Day[] = []
  for (let day = FIRST; day <= toDay(now) && day < (frozen[kind] ?? '9999'); day = addDays(day, 1))
    if (isSession(day) && isThere(day)) days.push(day)
  return days
}

/** A close moves by a paisa a minute while its session is under way. */
const closeOn = (day: Day, market: Market, now: number): number => {
  const [opens = '', ends = ''] = hoursOn(day, market)
  const minutes = Math.floor((Math.min(now, toInstant(day, ends)) - toInstant(day, opens)) / 60_000)
  const revision = market.revised?.[day]?.split(' ') ?? []
  const isRevised = revision.length === 2 && toInstant(revision[0] ?? '', revision[1]) <= now
  return (
    100 +
    ((toInstant(day) / 1_000) % 7) +
    (market.isLive ? Math.max(0, minutes) / 100 : 0) +
    (isRevised ? 1 : 0)
  )
}

const answerTo = ({ url, body = '{}' }: HttpRequest, market: Market, now: number): unknown => {
  const { hostname, pathname } = new URL(url)
  const posted = JSON.parse(body) as Record<string, unknown>
  if (pathname.endsWith('getDataH')) {
    const kind = posted.INST === 'EQUITY' ? 'candles' : 'indices'
    const times = listSessions(market, kind, now).map((day) => toInstant(day) / 1_000)
    const Time = times.filter((time) => time >= Number(posted.START) && time <= Number(posted.END))
    const prices = Time.map((time) => closeOn(toDay(time * 1_000), market, now))
    return { success: true, data: { Time, o: prices, h: prices, l: prices, c: prices, v: Time.map(() => 5) } }
  }
  if (pathname.endsWith('/deal')) {
    const { startdate, enddate } = posted.data as Record<string, string>
    const toIso = (dmy = ''): Day => dmy.split('-').reverse().join('-')
    const days = listSessions(market, 'deals', now).filter(
      (day) => day >= toIso(startdate) && day <= toIso(enddate),
    )
    return {
      data: days.map((day) => ({
        date: `${day} 00:00:00`,
        sym: 'ALPHA',
        qty: 1,
        avgprice: 2,
        bs: 'B',
        cname: 'X',
        exch: 'NSE',
        deal: 'BULK',
      })),
      totalcount: days.length,
    }
  }
  const file = /\/(sec_list|eq_band_changes)_(\d{8})\.csv$/.exec(pathname)
  if (file) {
    if (!listSessions(market, 'bands', now).some((day) => formatCompactDmy(day) === file[2])) return 404
    return file[1] === 'sec_list'
      ? 'Symbol,Series,Security Name,Band,Remarks\r\nALPHA,EQ,Alpha,20,-\r\n'
      : 'Sr. No,Symbol,Series,Security Name,From,To\r\n1,ALPHA,EQ,Alpha,20,10\r\n'
  }
  if (pathname.endsWith('EQUITY_L.csv'))
    return 'SYMBOL,NAME OF COMPANY, SERIES, DATE OF LISTING\nALPHA,Alpha,EQ,01-JAN-2020\n'
  if (pathname.endsWith('fundamental')) return { data: [] }
  if (pathname.endsWith('getLiveNews'))
    return {
      data: {
        latest_news: [{ news_object: { title: `news at ${now}` }, publish_date: now, category: 'all' }],
      },
    }
  if (pathname.includes('staticscanx')) return { data: [] }
  if (body.includes('"IDX"'))
    return { data: INDICES.map((index) => ({ ...index, Ltp: describeIndices(market, now) })) }
  if (body.includes('"Isin"')) return { data: STOCKS }
  return hostname === 'analytics' ? { data: [] } : 404
}

/** The value of an index: it moves while a session is under way, and stays from then on. */
const describeIndices = (market: Market, now: number): number => {
  const last =
    listSessions(
      {
        ...market,
        isLive: true,
        frozen: market.frozen.quotes === undefined ? {} : { indices: market.frozen.quotes },
      },
      'indices',
      now,
    ).at(-1) ?? FIRST
  return toInstant(last) / 86_400_000 + closeOn(last, { ...market, isLive: true }, now) / 1_000
}

/** What a command did and said. */
export interface Said {
  readonly code: number
  readonly requests: readonly string[]
  /** What `run --quiet` printed about freshness. */
  readonly lines: readonly string[]
  readonly out: string
  readonly err: string
  /** What was sent to the operator since the command before; undefined if nothing. */
  readonly notified: string | undefined
  readonly report: RunReport
}

/** A folder, and the market that it collects by the command, at any instant. */
export const createEvenings = (market: Market, settings: object = {}) => {
  const out = temporaryFolder()
  const [config, sent] = [join(temporaryFolder(), 'settings.json'), join(temporaryFolder(), 'sent.ndjson')]
  writeFileSync(
    config,
    JSON.stringify({ ...SETTINGS, history: false, out, notify: `cat > ${sent}`, ...settings }),
  )
  writeFileSync(sent, '')
  const only = streams
    .filter(({ optional }) => !optional)
    .map(({ name }) => name)
    .filter((name) => !['circuit-stocks', 'surveillance-lists'].includes(name))
    .join(',')
  /** Runs a command line at `HH:MM` of a day in India. */
  const type = async (day: Day, time: string, command = `run --quiet --only ${only}`): Promise<Said> => {
    const now = toInstant(day, time)
    const requests: string[] = []
    const toBytes = createOwnBytes()
    const transport: Transport = (request) => {
      requests.push(new URL(request.url).pathname.split('/').at(-1) ?? '')
      const answer = market.isAway ? 503 : answerTo(request, market, now)
      if (typeof answer === 'number') return of({ status: answer, body: Buffer.alloc(0) })
      return of({
        status: 200,
        body: toBytes(typeof answer === 'string' ? answer : JSON.stringify(answer), request),
      })
    }
    const io = createTestIo({ now, env: { PATH: process.env.PATH }, out: { columns: 200 } })
    const code = await runProgram([...command.split(' '), '--config', config], io, {
      ...createTestDependencies(undefined, {
        streams,
        loadSettings,
        storage: ({ out: path }) => folder(path),
      }),
      createCollector: (options) => createQuickCollector({ ...options, transport, random: () => 0.5 }),
    })
    const note = readFileSync(sent, 'utf8')
    writeFileSync(sent, '')
    const path = join(out, '.scripstream', 'report.json')
    return {
      code,
      requests,
      out: io.out.text(),
      err: io.err.text(),
      lines: io.out
        .text()
        .split('\n')
        .flatMap((line) => /^ {2}(.* end at .*|nothing of .*)$/.exec(line)?.[1] ?? []),
      notified: note === '' ? undefined : (JSON.parse(note) as { readonly text: string }).text,
      report: (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}) as RunReport,
    }
  }
  return { type, only, out }
}

export const weekdayOf = (day: Day): string => new Date(`${day}T00:00:00Z`).toUTCString().slice(0, 3)
