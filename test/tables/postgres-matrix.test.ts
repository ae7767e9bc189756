import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { listTables } from '../../src/engine/define-stream.js'
import { listColumns } from '../../src/model/table.js'
import { quoteName } from '../../src/storage/duckdb.js'
import { postgres } from '../../src/tables/export/postgres.js'
import { listViews } from '../../src/tables/views/index.js'
import { streams } from '../../streams/registry.js'
import { endOf, start } from '../e2e/command.js'
import { temporaryFolder } from '../support/folders.js'
import { until } from '../support/until.js'
import { hasServer, run, SERVER, SKIPPED } from './postgres-server.js'
import { collected, duckdb, objectsOf } from './support.js'

const DATABASE = `export_matrix_${process.pid}`
const OTHER_SETTINGS = `${DATABASE}_settings`
const LATIN = `${DATABASE}_latin`
const ROLE = `${DATABASE}_role`
const tables = listTables(streams)
const hasPooler = spawnSync('pgbouncer', ['--version']).status === 0

const write = (url: string, out: string, schema?: string, names?: readonly string[]) =>
  lastValueFrom(postgres(url, { streams, schema, tables: names }).write(out).pipe(toArray()))

/**
 * A value as both databases can have it: JSON without its spelling, times with a blank, numbers without the
 * last digits, which depend on the order in which threads add.
 */
const toPlain = (value: unknown): unknown => {
  if (typeof value === 'number') return Number(value.toPrecision(12))
  if (typeof value !== 'string') return typeof value === 'object' ? JSON.stringify(value) : value
  if (/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(value)) return value.replace('T', ' ').replace(/\.0+$/, '')
  return /^[[{]/.test(value) ? JSON.stringify(JSON.parse(value)) : value.replace(/(:\d\d)\.0+$/, '$1')
}

const toLines = (rows: readonly Record<string, unknown>[], columns: readonly string[]): readonly string[] =>
  rows.map((row) => JSON.stringify(columns.map((name) => toPlain(row[name])))).sort()

/** What `query` answers for a table, which takes a while. */
const asked = new Map<string, Promise<readonly string[]>>()

/** The tables whose rows are not those of `query`, and the number of those compared. */
const compare = async (database: string, schema: string, out: string) => {
  const different: string[] = []
  let compared = 0
  for (const table of [...tables, ...listViews(tables)]) {
    const target = `${quoteName(schema)}.${quoteName(table.name)}`
    const [found] = await run(database, `SELECT to_regclass('${target}') IS NOT NULL AS is_there`)
    if (!found?.is_there) continue
    const columns = listColumns(table).map(({ name }) => name)
    const list = columns.map(quoteName).join(', ')
    const rows = await run(database, `SELECT row_to_json(t) AS row FROM (SELECT ${list} FROM ${target}) AS t`)
    const loaded = toLines(
      rows.map(({ row }) => row as Record<string, unknown>),
      columns,
    )
    const answer =
      asked.get(table.name) ??
      objectsOf(`SELECT ${list} FROM ${quoteName(table.name)}`, out).then((lines) => toLines(lines, columns))
    asked.set(table.name, answer)
    compared += loaded.length > 0 ? 1 : 0
    if (JSON.stringify(loaded) !== JSON.stringify(await answer)) different.push(table.name)
  }
  return { different, compared }
}

const EQUAL = { different: [], compared: expect.toSatisfy((count: number) => count > 35) }

const walOf = async (act: () => Promise<unknown>): Promise<number> => {
  const position = async () => (await run(DATABASE, 'SELECT pg_current_wal_lsn() AS at'))[0]?.at
  const before = await position()
  await act()
  const [found] = await run(DATABASE, `SELECT (pg_current_wal_lsn() - '${before}')::float8 AS bytes`)
  return Number(found?.bytes)
}

/** Starts a pooler of one server connection that is lent for a transaction only. Resolves to its address. */
const startPooler = async (): Promise<string> => {
  const port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = server.address() as AddressInfo
      server.close(() => resolve(free))
    })
  })
  const { hostname, port: serverPort, username } = new URL(SERVER)
  const file = join(temporaryFolder(), 'pooler.ini')
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${serverPort || 5432} user=${username}`,
    '[pgbouncer]',
    `listen_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any\nunix_socket_dir =`,
    'pool_mode = transaction\ndefault_pool_size = 1',
  ]
  writeFileSync(file, settings.join('\n'), { mode: 0o644 })
  const isRoot = process.getuid?.() === 0
  const pooler = spawn('pgbouncer', isRoot ? ['-u', 'nobody', file] : [file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  onTestFinished(() => void pooler.kill())
  await new Promise<void>((resolve, reject) => {
    pooler.stderr.on('data', (text: Buffer) => String(text).includes('process up') && resolve())
    pooler.once('exit', (code) => reject(new Error(`the pooler ended with ${code}`)))
  })
  return `postgres://${username}@127.0.0.1:${port}`
}

describe.skipIf(!duckdb || !hasServer)(`PostgreSQL as it is set up${SKIPPED}`, () => {
  let market: Awaited<ReturnType<typeof collected>>
  beforeAll(async () => {
    market = await collected()
    await run(
      'postgres',
      `CREATE DATABASE ${DATABASE}`,
      `CREATE DATABASE ${OTHER_SETTINGS}`,
      `CREATE DATABASE ${LATIN} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`,
      `CREATE ROLE ${ROLE} LOGIN`,
      ...[
        "timezone TO 'America/New_York'",
        "datestyle TO 'SQL, DMY'",
        'extra_float_digits TO -3',
        'standard_conforming_strings TO off',
        "default_transaction_isolation TO 'serializable'",
      ].map((setting) => `ALTER DATABASE ${OTHER_SETTINGS} SET ${setting}`),
    )
  })
  afterAll(async () => {
    market.remove()
    const drop = [DATABASE, OTHER_SETTINGS, LATIN].map((name) => `DROP DATABASE ${name} WITH (FORCE)`)
    await run('postgres', ...drop, `DROP ROLE ${ROLE}`)
  })

  it('has the values of query, and writes nothing for rows that are the same', async () => {
    await write(`${SERVER}/${DATABASE}`, market.out)
    expect(await compare(DATABASE, 'scripstream', market.out)).toEqual(EQUAL)
    await run(DATABASE, 'UPDATE scripstream.loaded_tables SET version = NULL', 'CHECKPOINT', 'VACUUM')
    const rows = `SELECT string_agg(xmin::text, ',' ORDER BY ctid) AS rows FROM scripstream.candles_adjusted`
    const before = await run(DATABASE, rows)
    expect(await walOf(() => write(`${SERVER}/${DATABASE}`, market.out))).toBeLessThan(1_500_000)
    expect(await run(DATABASE, rows)).toEqual(before)
    expect(await walOf(() => write(`${SERVER}/${DATABASE}`, market.out))).toBeLessThan(200_000)
  })

  it('of another time zone, date style, precision and isolation has the values of query', async () => {
    await write(`${SERVER}/${OTHER_SETTINGS}`, market.out)
    await run(OTHER_SETTINGS, 'UPDATE scripstream.loaded_tables SET version = NULL')
    await write(`${SERVER}/${OTHER_SETTINGS}`, market.out)
    await run('postgres', `ALTER DATABASE ${OTHER_SETTINGS} RESET ALL`)
    expect(await compare(OTHER_SETTINGS, 'scripstream', market.out)).toEqual(EQUAL)
  })

  it('of an encoding without all characters is refused with its name', async () => {
    await expect(write(`${SERVER}/${LATIN}`, market.out)).rejects.toThrow(
      /no equivalent in encoding "LATIN1"/,
    )
    expect(await run(LATIN, "SELECT FROM pg_namespace WHERE nspname = 'scripstream'")).toEqual([])
  })

  it('lets a role load into a schema of its own or of another one, and refuses one that may only read', async () => {
    const url = `${SERVER.replace(/\/\/[^@]*@/, `//${ROLE}@`)}/${DATABASE}`
    const names = ['deals', 'candles']
    await run(DATABASE, `CREATE SCHEMA own AUTHORIZATION ${ROLE}`)
    await write(url, market.out, 'own', names)
    await write(`${SERVER}/${DATABASE}`, market.out, 'lent', names)
    await run(
      DATABASE,
      `GRANT USAGE ON SCHEMA lent TO ${ROLE}`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA lent TO ${ROLE}`,
      'DELETE FROM lent.deals',
    )
    await expect(write(url, market.out, 'lent', names)).rejects.toThrow(/permission denied for table deals/)
    expect(await run(DATABASE, 'SELECT FROM lent.deals')).toEqual([])
    await run(DATABASE, `GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lent TO ${ROLE}`)
    await write(url, market.out, 'lent', names)
    for (const schema of ['own', 'lent'])
      expect((await compare(DATABASE, schema, market.out)).different).toEqual([])
    await expect(write(url, market.out, 'none', names)).rejects.toThrow(/permission denied for database/)
    await run(DATABASE, `DROP OWNED BY ${ROLE} CASCADE`)
  })

  it('gets each row once from two exports at the same time', async () => {
    const exports = () => [1, 2].map(() => write(`${SERVER}/${DATABASE}`, market.out, 'twice'))
    await Promise.all(exports())
    await run(DATABASE, 'DELETE FROM twice.deals_valued', 'DELETE FROM twice.candles')
    await Promise.all(exports())
    expect(await compare(DATABASE, 'twice', market.out)).toEqual(EQUAL)
  })

  it('needs no lock that a reader of all its tables would have to end for', async () => {
    const { default: connect } = await import('postgres')
    const client = connect(`${SERVER}/${DATABASE}`, { max: 1, onnotice: () => undefined })
    onTestFinished(() => client.end({ timeout: 1 }))
    await write(`${SERVER}/${DATABASE}`, market.out, 'read')
    const fewer = ['candles', 'index_candles', 'fundamentals', 'breadth']
    await run(
      DATABASE,
      'UPDATE read.loaded_tables SET version = NULL',
      ...fewer.map(
        (name) => `DELETE FROM read.${name} WHERE ctid IN (SELECT ctid FROM read.${name} LIMIT 5)`,
      ),
      'UPDATE read.candles SET close = 0 WHERE ctid IN (SELECT ctid FROM read.candles LIMIT 5)',
      "COMMENT ON TABLE read.candles IS 'older'",
      'COMMENT ON COLUMN read.deals.symbol IS NULL',
      'COMMENT ON SCHEMA read IS NULL',
      'DROP TABLE read.ratios',
    )
    const readable = await run(DATABASE, "SELECT tablename FROM pg_tables WHERE schemaname = 'read'")
    expect(readable.length).toBeGreaterThan(35)
    await client.begin(async (reader) => {
      const list = readable.map(({ tablename }) => `read.${quoteName(String(tablename))}`)
      await reader.unsafe(`LOCK ${list.join(', ')} IN ACCESS SHARE MODE`)
      await write(`${SERVER}/${DATABASE}`, market.out, 'read')
    })
    expect(await compare(DATABASE, 'read', market.out)).toEqual(EQUAL)
  })

  it('has all rows after an export that was killed in the middle', async () => {
    const place = { cwd: market.out, env: {} }
    const args = ['export', '--to', `${SERVER}/${DATABASE}`, '--schema', 'killed', '-o', market.out]
    await write(`${SERVER}/${DATABASE}`, market.out, 'killed', ['deals', 'candles'])
    await run(DATABASE, 'DELETE FROM killed.deals', 'DELETE FROM killed.candles')
    const sleep = 'SELECT pg_sleep(600)'
    const holding = run(DATABASE, 'BEGIN', 'LOCK killed.candles IN EXCLUSIVE MODE', sleep).catch(
      () => undefined,
    )
    const holder = `FROM pg_stat_activity WHERE datname = '${DATABASE}' AND query = '${sleep}'`
    await until('the table is held', async () => (await run(DATABASE, `SELECT ${holder}`)).length > 0)
    const child = start(args, place)
    const ended = endOf(child)
    const isWaiting = `SELECT FROM pg_stat_activity WHERE datname = '${DATABASE}' AND application_name = 'scripstream' AND wait_event_type = 'Lock'`
    await until('the export waits', async () => {
      if (child.exitCode !== null) throw new Error((await ended).stderr)
      return (await run(DATABASE, isWaiting)).length > 0
    })
    child.kill('SIGKILL')
    await ended
    await run(DATABASE, `SELECT pg_terminate_backend(pid) ${holder}`)
    await holding
    const left = 'SELECT FROM killed.deals UNION ALL SELECT FROM killed.candles'
    expect(await run(DATABASE, left)).toEqual([])
    await write(`${SERVER}/${DATABASE}`, market.out, 'killed')
    expect(await compare(DATABASE, 'killed', market.out)).toEqual(EQUAL)
  })

  it.skipIf(!hasPooler)(
    `behind a pooler of transactions has the values of query${hasPooler ? '' : ' (skipped: no pgbouncer)'}`,
    async () => {
      const url = `${await startPooler()}/${DATABASE}`
      for (const _ of ['once', 'again']) await write(url, market.out, 'pooled')
      expect(await compare(DATABASE, 'pooled', market.out)).toEqual(EQUAL)
    },
  )
})
