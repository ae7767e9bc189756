import { lastValueFrom } from 'rxjs'
import { createCollector } from 'scripstream'
import { StorageError } from 'scripstream/errors'
import { marketNews, masterData } from 'scripstream/streams'
import { expect, it, onTestFinished } from 'vitest'
import { type SqliteDatabase, sqlite } from '../../src/examples/11-sqlite.js'
import { serveProvider } from './support.js'

interface Opened extends SqliteDatabase {
  prepare(sql: string): ReturnType<SqliteDatabase['prepare']> & { all(): readonly Record<string, unknown>[] }
  close(): void
}
/** `node:sqlite` of this Node; undefined before 22.13. */
const builtIn = (process as { getBuiltinModule?: (id: string) => unknown }).getBuiltinModule?.(
  'node:sqlite',
) as { readonly DatabaseSync: new (path: string) => Opened } | undefined

const openDatabase = (): Opened => {
  if (builtIn === undefined) throw new Error('this Node has no node:sqlite')
  const database = new builtIn.DatabaseSync(':memory:')
  onTestFinished(() => database.close())
  return database
}

it.skipIf(builtIn === undefined)(
  '11: stores the rows of each item once, also after a second run (needs node:sqlite: Node 22.13)',
  async () => {
    const { settings } = await serveProvider()
    const database = openDatabase()
    const collector = createCollector({
      settings,
      streams: [masterData, marketNews],
      storage: sqlite(database),
    })
    const { outcome, scripts } = await lastValueFrom(collector.run())
    expect(outcome).toBe('complete')
    const count =
      "select count(*) as rows, count(distinct item) as items from records where file like 'market_news/%'"
    const [first] = database.prepare(count).all()
    expect(first?.items).toBe(scripts['market-news']?.items.success)
    expect(
      database
        .prepare("select record ->> 'Title' as title from records where file like 'market_news/%' limit 1")
        .all(),
    ).toEqual([{ title: expect.stringMatching(/./) }])
    await lastValueFrom(collector.run({ fresh: true }))
    expect(database.prepare(count).all()).toEqual([first])
  },
)

/** A database that records its statements, and in which one of them fails. */
const createRecorder = (fails: string): { readonly database: SqliteDatabase; readonly ran: string[] } => {
  const ran: string[] = []
  const run = (sql: string): void => {
    ran.push(sql.trim().split(' ')[0] ?? '')
    if (sql.startsWith(fails)) throw new Error('database or disk is full')
  }
  return { database: { exec: run, prepare: (sql) => ({ run: () => run(sql) }) }, ran }
}

it('11: ends the run with the reason, and keeps the earlier rows, if an item cannot be stored', async () => {
  const { settings } = await serveProvider()
  const { database, ran } = createRecorder('insert')
  const run$ = createCollector({ settings, streams: [masterData], storage: sqlite(database) }).run()
  const error = await lastValueFrom(run$).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StorageError)
  expect(String(error)).toContain('cannot be stored in SQLite: database or disk is full')
  expect(ran.slice(-4)).toEqual(['begin', 'delete', 'insert', 'rollback'])
})
