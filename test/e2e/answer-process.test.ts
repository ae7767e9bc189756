import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { readRecordedChecks } from '../../src/verify/recorded-checks.js'
import { runReport } from '../cli/support.js'
import { stock } from '../show/support.js'
import { duckdb, folderWith } from '../tables/support.js'
import { main, start } from './command.js'

const isLinux = process.platform === 'linux'

/** Serves a folder with two stocks. Each process notes its arguments in `processes.txt`. */
const serve = async (files: Readonly<Record<string, string | object>> = {}) => {
  const out = folderWith({ 'master_isin_map.json': [stock('A'), stock('B', 'INE000000002')], ...files })
  const note = join(out, 'note.cjs')
  writeFileSync(
    note,
    "require('node:fs').appendFileSync('processes.txt', [...process.argv.slice(2, 4), require('node:os').getPriority()].join(' ') + '\\n')",
  )
  const child = start(['serve', '--out', out, '--port', '0'], {
    cwd: out,
    env: { NODE_OPTIONS: `--require "${note}"` },
  })
  onTestFinished(async () => {
    if (child.kill('SIGTERM')) await once(child, 'close')
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const origin = /http:\S+\d/.exec(String(line))?.[0] ?? ''
  // It is read first, and what answers stays.
  for (const path of ['market', 'market/stocks', 'today', 'market/feed'])
    await (await fetch(`${origin}/api/${path}`)).text()
  const kept = isLinux ? listChildren(child.pid ?? 0).trim() : ''
  const listNew = (): string =>
    listChildren(child.pid ?? 0)
      .replace(kept, '')
      .trim()
  const ask = async (sql: string, signal?: AbortSignal) => {
    const headers = { 'content-type': 'application/json', origin }
    const response = await fetch(`${origin}/api/query`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ sql }),
      signal: signal ?? null,
    })
    return {
      status: response.status,
      body: (await response.json()) as { readonly rows?: unknown; readonly error?: string },
    }
  }
  // A thread of such a process notes only its priority. The first answer is the market.
  const listProcesses = () =>
    readFileSync(join(out, 'processes.txt'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('serve'))
      .toSpliced(1, 1)
  return { pid: child.pid ?? 0, kept, listNew, origin, out, ask, listProcesses }
}

const listChildren = (pid: number): string => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')

describe.skipIf(!duckdb)(`a query to "serve"${duckdb ? '' : ' (skipped: DuckDB is not installed)'}`, () => {
  it('is answered, or refused in plain words, in a process of its own that ends with it', async () => {
    const { pid, listNew, ask } = await serve()
    expect(await ask('select symbol from master order by 1')).toMatchObject({
      status: 200,
      body: { rows: [['A'], ['B']] },
    })
    expect(await ask('delete from master')).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('query is read-only') },
    })
    if (!isLinux) return
    expect(readFileSync(`/proc/${pid}/maps`, 'utf8')).not.toMatch(/duckdb/)
    expect(listNew()).toBe('')
  })

  it.skipIf(!isLinux)('runs beside another one, and ends when its reader leaves', async () => {
    const { listNew, ask } = await serve()
    const leaving = new AbortController()
    const endless = ask(
      'select sum(a.range * b.range % 7) as n from range(1000000) a, range(1000000) b',
      leaving.signal,
    ).catch(String)
    await expect.poll(listNew).not.toBe('')
    expect(await ask('select 1')).toMatchObject({ status: 200, body: { rows: [['1']] } })
    leaving.abort()
    expect(await endless).toContain('Abort')
    await expect.poll(listNew).toBe('')
    await expect.poll(() => ask('select 1')).toMatchObject({ status: 200, body: { rows: [['1']] } })
  })
})

/** The status of a process; empty once it has ended. */
const readStatus = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}

const toCsvAddress = (origin: string, sql: string): string =>
  `${origin}/api/query.csv?${new URLSearchParams({ sql })}`

describe.skipIf(!duckdb)('the whole result of a query as CSV', () => {
  const CANDLES = 'Timestamp,Open,High,Low,Close,Volume\n1770834600,1,2,0.5,1.5,10\n'

  it.skipIf(!isLinux)(
    'is passed on as it comes: two million candles need no more memory than a few',
    async () => {
      const { pid, origin, listNew } = await serve({ 'ohlcv_data/A.csv': CANDLES })
      const response = await fetch(toCsvAddress(origin, 'select c.* from candles c, range(2000000)'))
      expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      let [lines, peak] = [0, 0]
      for await (const chunk of response.body ?? []) {
        for (const byte of chunk) if (byte === 10) lines += 1
        peak = Math.max(peak, readMemory(String(pid), 'VmHWM'), readMemory(listNew(), 'VmHWM'))
      }
      expect(lines).toBe(2_000_001)
      expect(peak).toBeGreaterThan(50)
      expect(peak).toBeLessThan(400)
    },
  )

  it('is safe for spreadsheets, of a chosen day too, and refused in plain words before its first line', async () => {
    const { origin } = await serve()
    const read = async (address: string) => {
      const response = await fetch(address)
      return { status: response.status, body: await response.text() }
    }
    expect(
      await read(
        toCsvAddress(origin, 'select symbol, \'=1+1\' as "=f", null as n, -1 as m from master order by 1'),
      ),
    ).toEqual({
      status: 200,
      body: "symbol,'=f,n,m\nA,'=1+1,,-1\nB,'=1+1,,-1\n",
    })
    for (const [sql, words] of [
      ['delete from master', 'query is read-only'],
      ['from mastr', 'did you mean master'],
      ['', 'statement'],
    ] as const)
      expect(await read(toCsvAddress(origin, sql))).toMatchObject({
        status: 400,
        body: expect.stringContaining(words),
      })
    const past = `${toCsvAddress(origin, 'from master')}&as-of=`
    expect(await read(`${past}2020-01-01`)).toMatchObject({
      status: 400,
      body: expect.stringContaining('no day is recorded'),
    })
    expect(await read(`${past}yesterday`)).toMatchObject({
      status: 400,
      body: expect.stringContaining('is no day'),
    })
  })

  it.skipIf(!isLinux)('ends with the connection, and leaves its place to the next query', async () => {
    const { origin, ask, listNew } = await serve({ 'ohlcv_data/A.csv': CANDLES })
    const leaving = new AbortController()
    const sql = 'select c.* from candles c, range(1000000000)'
    const all = await Promise.all(
      [1, 2].map(() => fetch(toCsvAddress(origin, sql), { signal: leaving.signal })),
    )
    expect(all.map(({ status }) => status)).toEqual([200, 200])
    expect(listNew()).not.toBe('')
    const waiting = ask('select 1')
    leaving.abort()
    expect(await waiting).toMatchObject({ status: 200, body: { rows: [['1']] } })
    await expect.poll(listNew).toBe('')
  })
})

/** The most memory that a process has had, in MB; 0 once it has ended. */
/** A figure of the status of a process in MB: 0 after its end. */
const readMemory = (pid: string, name: 'VmHWM' | 'VmData'): number =>
  Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readStatus(pid))?.[1] ?? 0) / 1_000

/** The most memory of a child of a process, in MB, until `end`. */
const watchPeak = async (pid: number, end: Promise<unknown>): Promise<number> => {
  let peak = 0
  const watching = setInterval(() => {
    for (const child of listChildren(pid).trim().split(' ')) peak = Math.max(peak, readMemory(child, 'VmHWM'))
  }, 5)
  await end.finally(() => clearInterval(watching))
  return peak
}

const BOMBS = [
  "select list_aggregate(range(1000000000), 'sum')",
  "select length(repeat('x', 2000000000))",
  "select length(string_agg(repeat('x', 1000000), '')) from range(4000)",
]

describe.skipIf(!duckdb || !isLinux)(
  `a statement that wants too much memory${isLinux ? '' : ' (skipped: measured with /proc)'}`,
  () => {
    it.each(BOMBS)('is refused below 2 GB: %s', async (sql) => {
      const { pid, ask } = await serve()
      const answer = ask(sql)
      const peak = await watchPeak(pid, answer)
      expect(await answer).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(/needs more memory|memory may have run out/) },
      })
      expect(peak).toBeGreaterThan(50)
      expect(peak).toBeLessThan(2_000)
    })

    it('is ended by its own watcher where the system does not limit it', async () => {
      const out = folderWith({ 'master_isin_map.json': [stock('A')] })
      const child = spawn(process.execPath, [main, 'serve', '--answer', '--out', out], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      const ended = once(child, 'close')
      child.stdin.end(
        JSON.stringify({ query: { sql: "select length(repeat('x', 2000000000))" }, server: process.pid }),
      )
      const peak = await watchPeak(process.pid, ended)
      expect(await ended).toEqual([null, 'SIGKILL'])
      expect(peak).toBeLessThan(3_000)
    })

    it('ends with its server, even if that is killed', async () => {
      const { pid, listNew, ask } = await serve()
      const endless = ask(
        'select sum(a.range * b.range % 7) as n from range(1000000) a, range(1000000) b',
      ).catch(() => undefined)
      await expect.poll(listNew).not.toBe('')
      const child = listNew()
      // It is at work, and no longer waits for its task.
      await expect.poll(() => readFileSync(`/proc/${child}/maps`, 'utf8')).toContain('duckdb')
      process.kill(pid, 'SIGKILL')
      await endless
      await expect.poll(() => /State:\s+[^XZ]/.test(readStatus(child))).toBe(false)
    })
  },
)

describe.skipIf(!duckdb || !isLinux)(
  `what the page shows${isLinux ? '' : ' (skipped: measured with /proc)'}`,
  () => {
    it('is answered by one process that stays, and by another one after its end', async () => {
      const { pid, kept, origin } = await serve()
      const read = async (path: string) =>
        (await (await fetch(`${origin}/api/${path}`)).json()) as { readonly symbol?: string }
      expect(kept).toMatch(/^\d+$/)
      expect([(await read('stock/A')).symbol, (await read('stock/B')).symbol]).toEqual(['A', 'B'])
      expect(listChildren(pid).trim()).toBe(kept)
      // Addresses that its allocator keeps would count for the limit: they were 1.8 GB.
      expect(readMemory(kept, 'VmData')).toBeLessThan(500)
      process.kill(Number(kept), 'SIGKILL')
      await expect.poll(() => listChildren(pid)).toBe('')
      expect((await read('stock/A')).symbol).toBe('A')
      expect(listChildren(pid).trim()).toMatch(/^\d+$/)
    })
  },
)

describe('what the last run changed', () => {
  it('is compared in a process of its own, once', async () => {
    const { origin, listProcesses } = await serve()
    const read = async () => (await fetch(`${origin}/api/changes`)).json()
    const changes = await read()
    expect(changes).toMatchObject({ since: null, sections: [] })
    expect(await read()).toEqual(changes)
    expect(listProcesses()).toEqual(['serve --out 0', 'serve --answer 0'])
  })
})

describe('the data checks of a run', () => {
  it('are made in a process of its own with the lowest priority, once, and kept in the folder', async () => {
    const report = runReport({ run: 'r1', scripts: {} })
    const { origin, out, listProcesses } = await serve({
      '.scripstream/report.json': report,
      '.scripstream/runs.ndjson': JSON.stringify(toRunLogEntry(report, {})),
      'market_news/A_news.json': '{',
    })
    const read = async () => (await fetch(`${origin}/api/runs/r1/checks`)).json()
    const checks = await read()
    expect(checks).toMatchObject({
      tone: 'failed',
      kinds: [
        {
          check: 'files',
          findings: [{ subject: 'A', detail: expect.stringMatching(/^market_news.A_news.json: /) }],
        },
      ],
    })
    expect(await read()).toEqual(checks)
    expect(listProcesses()).toEqual(['serve --out 0', `serve --answer ${constants.priority.PRIORITY_LOW}`])
    expect(await readRecordedChecks(out, 'r1')).toMatchObject({ findings: [{ check: 'files' }] })
  })
})
