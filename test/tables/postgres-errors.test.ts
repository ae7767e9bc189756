import { type AddressInfo, createServer, type Socket } from 'node:net'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { StorageError } from '../../src/model/errors.js'
import { postgres } from '../../src/tables/export/postgres.js'
import { streams } from '../../streams/registry.js'
import { until } from '../support/until.js'
import { hasServer, run, SERVER, SKIPPED } from './postgres-server.js'
import { folderWith, duckdb as isThere } from './support.js'

const DATABASE = `export_errors_${process.pid}`

const folder = (deals = 1): string =>
  folderWith({ 'bulk_block_deals.json': Array.from({ length: deals }, () => ({ sym: 'B' })) })

const write = (url: string, out: string, schema?: string): Promise<unknown> =>
  lastValueFrom(
    postgres(url, { streams, schema, tables: ['deals'] })
      .write(out)
      .pipe(toArray()),
  )

const failureOf = (written: Promise<unknown>): Promise<unknown> =>
  written.then(
    () => 'it did not fail',
    (error: unknown) => error,
  )

type Reply = readonly [type: string, ...parts: readonly (string | number)[]]

const toMessage = ([type, ...parts]: Reply): Buffer => {
  const body = Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part)
      const number = Buffer.alloc(4)
      number.writeInt32BE(part)
      return number
    }),
  )
  const head = Buffer.from(`${type}    `)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const READY: Reply = ['Z', 'T']
const refusal = (text: string): Reply => ['E', `SERROR\0C53100\0M${text}\0\0`]
const COPY_IN: Reply = ['G', '\0\0\0']
const DONE: Reply = ['C', 'SELECT 0\0']
/** The replies to the messages of a statement with parameters. */
const EXTENDED: Readonly<Record<string, readonly Reply[]>> = {
  P: [['1']],
  D: [['t', '\0\0'], ['n']],
  B: [['2']],
  E: [DONE],
  S: [READY],
}

/** A server that accepts every statement, and answers the messages of COPY of one type as a test says. */
const startServer = async (on: 'd' | 'c', answer: (socket: Socket) => void): Promise<string> => {
  const server = createServer((socket) => {
    let received = Buffer.alloc(0)
    let isStarted = false
    let isRefused = false
    const reply = (...replies: readonly Reply[]): boolean =>
      replies.length > 0 && socket.write(Buffer.concat(replies.map(toMessage)))
    const take = (type: string, body: Buffer): void => {
      if (type === 'Q') reply(...(body.toString().startsWith('COPY') ? [COPY_IN] : [DONE, READY]))
      else if (type === on && !isRefused) {
        isRefused = true
        answer(socket)
      } else reply(...(EXTENDED[type] ?? []))
    }
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
      for (;;) {
        const head = isStarted ? 1 : 0
        if (received.length < head + 4) return
        const end = head + received.readInt32BE(head)
        if (received.length < end) return
        const message = received.subarray(0, end)
        received = received.subarray(end)
        if (isStarted) take(message.toString('latin1', 0, 1), message.subarray(5))
        else reply(['R', 0], READY)
        isStarted = true
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `postgres://me@127.0.0.1:${(server.address() as AddressInfo).port}/x`
}

const refuseRows = (socket: Socket): void =>
  void socket.write(Buffer.concat([refusal('no space left on device'), READY].map(toMessage)))

describe.skipIf(!isThere)('an export to a server that stops a table', () => {
  it.each([
    { what: 'at its first rows', on: 'd', answer: refuseRows, text: 'no space left on device' },
    { what: 'after its last row', on: 'c', answer: refuseRows, text: 'no space left on device' },
    {
      what: 'by closing the connection at its first rows',
      on: 'd',
      answer: (socket: Socket) => socket.destroy(),
      text: 'the server closed the connection',
    },
    {
      what: 'by closing the connection after its last row',
      on: 'c',
      answer: (socket: Socket) => void socket.end(),
      text: 'the server closed the connection',
    },
  ] as const)('$what ends with its reason', async ({ on, answer, text }) => {
    const url = await startServer(on, answer)
    const failure = await failureOf(write(url, folder(5_000)))
    expect(failure).toBeInstanceOf(StorageError)
    expect(String(failure)).toMatch(text)
  })
})

/** Adds a check to the table that rows are copied into, as a way to stop the server at any row. */
const createCheck = (check: string): string => `
  CREATE OR REPLACE FUNCTION stop_copy() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
    IF to_regclass('pg_temp.staging_deals') IS NOT NULL AND NOT EXISTS
      (SELECT FROM pg_constraint WHERE conrelid = to_regclass('pg_temp.staging_deals'))
    THEN ALTER TABLE pg_temp.staging_deals ADD CONSTRAINT stopped CHECK (${check}); END IF;
  END $$;
  DROP EVENT TRIGGER IF EXISTS stop_copy;
  CREATE EVENT TRIGGER stop_copy ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION stop_copy();`

describe.skipIf(!isThere || !hasServer)(`an export that PostgreSQL stops${SKIPPED}`, () => {
  const url = `${SERVER}/${DATABASE}`
  const deals = () => run(DATABASE, 'SELECT symbol FROM scripstream.deals')
  beforeAll(() => run('postgres', `CREATE DATABASE ${DATABASE}`))
  afterAll(() => run('postgres', `DROP DATABASE ${DATABASE} WITH (FORCE)`))

  it.each([
    { what: 'the only row', check: "symbol <> 'B'", rows: 1, text: 'violates check constraint "stopped"' },
    { what: 'rows in the middle', check: "symbol <> 'B'", rows: 50_000, text: 'violates check constraint' },
    { what: 'a statement in time', check: 'pg_sleep(60) IS NULL', rows: 1, text: 'statement timeout' },
    {
      what: 'the connection',
      check: 'pg_terminate_backend(pg_backend_pid())',
      rows: 1,
      text: 'the server closed the connection',
    },
  ])('at $what ends with its reason, and changes nothing', async ({ check, rows, text }) => {
    await run(
      DATABASE,
      'DROP EVENT TRIGGER IF EXISTS stop_copy',
      'DROP SCHEMA IF EXISTS scripstream CASCADE',
      `ALTER DATABASE ${DATABASE} SET statement_timeout = '2s'`,
    )
    await write(url, folder())
    const dropTrigger = () => run(DATABASE, 'DROP EVENT TRIGGER IF EXISTS stop_copy')
    onTestFinished(() => dropTrigger().then(() => undefined))
    await run(DATABASE, createCheck(check))
    const failure = await failureOf(write(url, folder(rows)))
    expect(failure).toBeInstanceOf(StorageError)
    expect(String(failure)).toContain(text)
    await dropTrigger()
    expect(await deals()).toEqual([{ symbol: 'B' }])
    await write(url, folder(2))
    expect(await deals()).toHaveLength(2)
  })

  it('leaves a column that somebody added, and adds those that are missing', async () => {
    await write(url, folder(), 'added')
    await run(
      DATABASE,
      'ALTER TABLE added.deals ADD COLUMN seen boolean NOT NULL DEFAULT false',
      'ALTER TABLE added.deals DROP COLUMN client',
    )
    await write(url, folder(2), 'added')
    expect(await run(DATABASE, 'SELECT symbol, seen, client FROM added.deals')).toEqual(
      Array.from({ length: 2 }, () => ({ symbol: 'B', seen: false, client: null })),
    )
  })

  it('needs no lock on a complete table that others read, and says which table is in use', async () => {
    const { default: connect } = await import('postgres')
    const reader = connect(url, { max: 1, onnotice: () => undefined })
    onTestFinished(() => reader.end({ timeout: 1 }))
    await write(url, folder(), 'used')
    const exported = await reader.begin(async (transaction) => {
      await transaction.unsafe('SELECT * FROM used.deals')
      await write(url, folder(2), 'used')
      return (await run(DATABASE, 'SELECT count(*)::int AS deals FROM used.deals'))[0]
    })
    expect(exported).toEqual({ deals: 2 })
    await run(
      DATABASE,
      'ALTER TABLE used.deals DROP COLUMN client',
      `ALTER DATABASE ${DATABASE} RESET statement_timeout`,
    )
    const failure = await reader.begin(async (transaction) => {
      await transaction.unsafe('SELECT * FROM used.deals')
      return failureOf(write(url, folder(3), 'used'))
    })
    expect(String(failure)).toMatch(
      /other sessions use "used"."deals", which needs new columns, for more than 2 s; end them/,
    )
  })

  it('changes columns when a reader has ended, and lets others read a table while it loads rows', async () => {
    const { default: connect } = await import('postgres')
    const holder = connect(url, { max: 1, onnotice: () => undefined })
    onTestFinished(() => holder.end({ timeout: 1 }))
    const lastStatement = (text: string) =>
      run(
        DATABASE,
        `SELECT FROM pg_stat_activity WHERE datname = '${DATABASE}' AND application_name = 'scripstream' AND ${text}`,
      )
    await write(url, folder(), 'waiting')
    await run(DATABASE, 'ALTER TABLE waiting.deals DROP COLUMN client')
    await run(DATABASE, `ALTER DATABASE ${DATABASE} RESET statement_timeout`)
    let isEnded = false
    let exported: Promise<unknown> | undefined
    await holder.begin(async (transaction) => {
      // Only the record of versions, which is written after the rows, is locked to the end.
      await transaction.unsafe('LOCK waiting.loaded_tables IN EXCLUSIVE MODE')
      await transaction
        .savepoint(async (reading) => {
          await reading.unsafe('LOCK waiting.deals IN ACCESS SHARE MODE')
          exported = write(url, folder(2), 'waiting').finally(() => {
            isEnded = true
          })
          exported.catch(() => undefined)
          await until('the export tries again', async () => {
            if (isEnded) await exported
            return (await lastStatement("query LIKE 'SELECT pg_sleep%'")).length > 0
          })
          throw new Error('the reader has ended')
        })
        .catch(() => undefined)
      await until('the export waits to record the version', async () => {
        if (isEnded) await exported
        return (await lastStatement("wait_event_type = 'Lock' AND query LIKE '%loaded_tables%'")).length > 0
      })
      await run(
        DATABASE,
        'BEGIN',
        'LOCK waiting.deals IN ACCESS SHARE MODE NOWAIT',
        'SELECT client FROM waiting.deals',
      )
    })
    await exported
    expect(await run(DATABASE, 'SELECT client FROM waiting.deals')).toHaveLength(2)
  })

  it('compresses whole pages in the log of changes, for itself only', async () => {
    const isOn = "current_setting('wal_compression') <> 'off'"
    await run(
      DATABASE,
      'CREATE TABLE public.noted (is_on boolean)',
      `CREATE FUNCTION note_setting() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO public.noted VALUES (${isOn}); END $$`,
      'CREATE EVENT TRIGGER note_setting ON ddl_command_end EXECUTE FUNCTION note_setting()',
    )
    onTestFinished(() => run(DATABASE, 'DROP EVENT TRIGGER note_setting').then(() => undefined))
    await run(DATABASE, `ALTER DATABASE ${DATABASE} SET wal_compression = off`)
    await write(url, folder(), 'compressed')
    expect(await run(DATABASE, 'SELECT DISTINCT is_on FROM public.noted')).toEqual([{ is_on: true }])
    expect(await run(DATABASE, `SELECT ${isOn} AS is_on`)).toEqual([{ is_on: false }])
  })

  it('names a column of somebody else that no row can be without, before it copies', async () => {
    await write(url, folder(), 'required')
    await run(DATABASE, 'TRUNCATE required.deals', 'ALTER TABLE required.deals ADD COLUMN note text NOT NULL')
    expect(String(await failureOf(write(url, folder(2), 'required')))).toMatch(
      /"required"."deals" has the column note, which no export fills; give it a default, or allow NULL/,
    )
  })

  it('keeps views and indexes on a table, and takes no rows in place of those with an index of their own', async () => {
    await write(url, folder(), 'kept')
    await run(
      DATABASE,
      'CREATE VIEW kept.mine AS SELECT symbol FROM kept.deals',
      'CREATE INDEX mine_too ON kept.deals (symbol)',
      'CREATE UNIQUE INDEX mine_alone ON kept.deals (symbol, exchange)',
    )
    await write(url, folderWith({ 'bulk_block_deals.json': [{ sym: 'B', qty: 5 }] }), 'kept')
    expect(await run(DATABASE, 'SELECT * FROM kept.mine')).toEqual([{ symbol: 'B' }])
    expect(
      await run(
        DATABASE,
        "SELECT indexname FROM pg_indexes WHERE schemaname = 'kept' AND tablename = 'deals'",
      ),
    ).toHaveLength(2)
  })

  it('never loads into a table of another program, also one with the same columns', async () => {
    await run(
      DATABASE,
      'CREATE SCHEMA mine',
      'CREATE TABLE mine.deals (symbol text, as_of date)',
      "INSERT INTO mine.deals VALUES ('B', NULL)",
    )
    expect(String(await failureOf(write(url, folder(2), 'mine')))).toMatch('a table of another program')
    expect(await run(DATABASE, 'SELECT * FROM mine.deals')).toEqual([{ symbol: 'B', as_of: null }])
  })

  it('never loads into a table of another program', async () => {
    await run(DATABASE, 'CREATE TABLE public.deals (id serial PRIMARY KEY, note text)')
    await run(DATABASE, "INSERT INTO public.deals (note) VALUES ('mine')")
    expect(String(await failureOf(write(url, folder(), 'public')))).toMatch(
      /"public"."deals" is a table of another program; export to another schema/,
    )
    expect(await run(DATABASE, 'SELECT * FROM public.deals')).toEqual([{ id: 1, note: 'mine' }])
  })
})
