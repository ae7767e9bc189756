import { inspect } from 'node:util'
import fc from 'fast-check'
import { lastValueFrom, type Observable, of, throwError, toArray } from 'rxjs'
import { expect, it } from 'vitest'
import { type MemoryFiles, memory } from '../../sinks/memory.js'
import type { HttpReply, Transport } from '../../src/http/transport.js'
import { BadAnswerError, StorageError, TransportError } from '../../src/model/errors.js'
import type { RunEvent } from '../../src/model/event.js'
import { summaryLines } from '../cli/support.js'
import { EVENING, SETTINGS, stockNamed } from '../streams/support.js'
import { createQuickCollector } from '../support/limits.js'
import { seed } from './payloads.js'

const TOKEN = 'CANARY-2f7b91"d4 e6'
const SHEET = '1CANARY_sheet-0123456789abcdef'
const TAB = '9090909090'
const QUERY = 'https://me:CANARYpass@host.test/a/b?key=CANARYquery#CANARYhash'

/** The length of a part of a secret that cannot occur by chance. */
const TRACES = [
  'CANARY-2f',
  '2f7b91',
  '1CANARY_s',
  'CANARY_sheet',
  TAB,
  'CANARYpass',
  'CANARYquery',
  'CANARYhash',
]
const traceIn = (text: string): string | undefined => TRACES.find((trace) => text.includes(trace))

const settings = {
  ...SETTINGS,
  options: {
    'surveillance-lists': { ...SETTINGS.options['surveillance-lists'], sheetId: SHEET, asmTabId: TAB },
  },
  headers: { authorization: `Bearer ${TOKEN}`, 'x-key': TOKEN },
  retries: 0,
}

const secrets = [
  TOKEN,
  `Bearer ${TOKEN}`,
  SHEET,
  TAB,
  QUERY,
  JSON.stringify(TOKEN),
  encodeURIComponent(`Bearer ${TOKEN}`),
]
const STOCKS = Array.from({ length: 1_000 }, (_, place) =>
  stockNamed(place === 7 ? SHEET : `S${place}`, place),
)

const reply = (body: string, status = 200): Observable<HttpReply> => of({ status, body: Buffer.from(body) })
const failing = (error: Error): Observable<never> => throwError(() => error)

/** Errors that contain a secret, after a number of other characters. */
const failures: readonly ((said: string, before: string) => Observable<HttpReply>)[] = [
  (said, before) => failing(new TransportError('reset', before + said, { cause: new Error(said) })),
  (said, before) => reply(`<html>${before}${said}</html>`),
  (said, before) => reply(`${before}${said}`),
  (said, before) => reply(`{"data":[1,"${before}${said}`),
  (said, before) => reply(JSON.stringify({ success: false, message: before + said })),
  (said, before) => reply(JSON.stringify({ status: 'error', data: null, before, said: { said } })),
  (said, before) => reply(JSON.stringify({ data: { [before + said]: said } })),
  (said, before) => reply(JSON.stringify({ data: [{ isin: before + said }] })),
  (said, before) => reply(`Symbol,${before}${said}\n1,2,${said}\n`),
  (said) => reply(said, 503),
  (said) => reply(said, 403),
]

/** Derives from the seed the kind of error, the secret, and the text before it. */
const choices = fc.sample(
  fc.tuple(
    fc.nat(failures.length - 1),
    fc.constantFrom(...secrets),
    fc.string({ unit: fc.constantFrom('x', ' ', '"'), maxLength: 90 }),
  ),
  { numRuns: 5_000, seed },
)

const counting = () => {
  let requestCount = 0
  const transport: Transport = ({ body }) => {
    if (body?.includes('"Isin"')) return reply(JSON.stringify({ data: STOCKS }))
    requestCount += 1
    const [way = 0, said = '', before = ''] = choices[requestCount % choices.length] ?? []
    return failures[way]?.(said, before) ?? reply('')
  }
  return { transport, requestCount: () => requestCount }
}

interface Observed {
  readonly events: readonly RunEvent[]
  readonly logs: readonly string[]
  readonly files: MemoryFiles
}

const run = async (transport: Transport): Promise<Observed> => {
  const [files, logs] = [new Map() as MemoryFiles, [] as string[]]
  const log = (fields: object, message: string): void => void logs.push(JSON.stringify(fields) + message)
  const collector = createQuickCollector({
    settings,
    transport,
    storage: memory(files),
    log: { debug: log, info: log, warn: log, error: log },
    clock: () => EVENING,
    random: () => 0.5,
  })
  return { events: await lastValueFrom(collector.events({ asOf: EVENING }).pipe(toArray())), logs, files }
}

it('ten thousand errors of all kinds leak no secret to events, logs, report or summary', async () => {
  const { transport, requestCount } = counting()
  let sent = 0
  while (sent < 10_000) {
    const { events, logs, files } = await run(transport)
    sent = requestCount()
    for (const event of events) expect(traceIn(JSON.stringify(event))).toBeUndefined()
    for (const line of logs) expect(traceIn(line)).toBeUndefined()
    expect(traceIn(files.get('.scripstream/report.json')?.text ?? TAB)).toBeUndefined()
    const finished = events.at(-1)
    if (finished?.type !== 'run-finished') throw new Error('no report')
    expect(traceIn(summaryLines(finished.report, { columns: 200 }).join('\n'))).toBeUndefined()
    expect(logs.length).toBeGreaterThan(1_000)
    expect(JSON.stringify(finished.report)).toContain('[redacted]')
  }
})

it('a subscribed stream leaks no secret', async () => {
  const collector = createQuickCollector({
    settings,
    transport: counting().transport,
    clock: () => EVENING,
    random: () => 0.5,
  })
  const items = await lastValueFrom(collector.stream('company-filings', { asOf: EVENING }).pipe(toArray()))
  expect(items).toHaveLength(STOCKS.length)
  const failed = items.flatMap(({ status, reason, degraded, error }) => [
    status,
    reason ?? '',
    degraded ?? '',
    inspect(error, { depth: 9 }),
  ])
  expect(failed.join('\n')).toContain('NothingAnsweredError: ')
  expect(failed.filter((text) => traceIn(text) !== undefined)).toEqual([])
})

it.each([
  ['a failed master list', new BadAnswerError('schema', `refused ${TOKEN} at ${QUERY}`)],
  ['a full disk', new StorageError(`no room for ${SHEET}`, { cause: new Error(TOKEN) })],
  ['a bug', new TypeError(`no ${TOKEN} at ${QUERY}`, { cause: new Error(`Bearer ${TOKEN}`) })],
])('%s that ends a run leaks no secret, in its stack and causes neither', async (_, failure) => {
  const texts: string[] = []
  await run(() => failing(failure)).then(
    ({ events }) => texts.push(JSON.stringify(events)),
    (error: Error) =>
      texts.push(
        error.message,
        error.stack ?? '',
        String(error.cause),
        (error.cause as Error | undefined)?.stack ?? '',
      ),
  )
  expect(texts.join('\n')).toContain('[redacted]')
  expect(traceIn(texts.join('\n'))).toBeUndefined()
})
