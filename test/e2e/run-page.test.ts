import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { firstValueFrom, ReplaySubject } from 'rxjs'
import { expect, it, onTestFinished } from 'vitest'
import type { RunEvent } from '../../src/model/event.js'
import type { RunReport } from '../../src/model/report.js'
import { toRunLogEntry } from '../../src/model/run-log.js'
import { streams } from '../../streams/registry.js'
import { runReport, scriptReport } from '../cli/support.js'
import { stock } from '../show/support.js'
import { describeInBrowser, findInaccessible, openFolder } from '../support/browser.js'
import { temporaryFolder } from '../support/folders.js'
import { serveFolder } from '../support/page-server.js'
import { followLive, started } from '../web/support.js'

const HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'

const REVERSED = '\u202e../../etc'

/** A folder with the reports of runs, the newest last. */
const folderOf = (...reports: readonly RunReport[]): string => {
  const out = temporaryFolder()
  const state = join(out, '.scripstream')
  mkdirSync(state)
  writeFileSync(
    join(state, 'runs.ndjson'),
    reports.map((report) => `${JSON.stringify(toRunLogEntry(report, {}))}\n`).join(''),
  )
  const last = reports.at(-1)
  if (last) writeFileSync(join(state, 'report.json'), JSON.stringify(last))
  return out
}

const failed = runReport({
  run: 'r2',
  outcome: 'partial',
  scripts: {
    'master-data': scriptReport(),
    'market-news': scriptReport({
      outcome: 'partial',
      items: { success: 58, empty: 0, skipped: 0, rate_limit: 0, error: 2 },
      problems: [{ item: 'M&M', status: 'error', reason: `no answer ${HOSTILE}` }],
    }),
  },
})

describeInBrowser('the run', (open) => {
  it('shows how the last run ended, what is missing and why, with texts of the provider as text', async () => {
    const { page, problems } = await openFolder(open, folderOf(failed), '/run')
    await page
      .getByRole('heading', { name: 'Not complete' })
      .or(page.getByRole('heading', { name: 'Complete, but' }))
      .waitFor()
    const losses = page.locator('.losses')
    await losses.getByText(HOSTILE).waitFor()
    await losses.getByText('M&M').waitFor()
    expect(await page.title()).toBe('Run · scripstream')
    expect(await page.locator('#page img, #page script').count()).toBe(0)
    await page.getByRole('button', { name: /^market-news: 2 failed/ }).click()
    await page.waitForURL('**/run?stream=market-news')
    await page.getByRole('region', { name: 'Details of market-news' }).getByText(HOSTILE).waitFor()
    expect(problems).toEqual([])
  })

  it('says what to do where no run has finished', async () => {
    const { page, problems } = await openFolder(open, temporaryFolder(), '/run')
    await page.getByRole('heading', { name: 'No data yet' }).waitFor()
    await page.getByText('scripstream run --simulate').waitFor()
    await page.goto(`${new URL(page.url()).origin}/runs`)
    await page.getByRole('heading', { name: 'No run is recorded yet' }).waitFor()
    await page.goto(`${new URL(page.url()).origin}/runs/none`)
    await page.getByRole('alert').getByText('no run none is recorded in this folder').waitFor()
    expect(problems.filter((problem) => !problem.includes('404'))).toEqual([])
  })

  it('follows an active run: progress, waiting, marbles, and its end', async () => {
    const live = followLive(streams)
    const emit = (...events: readonly RunEvent[]): void => events.forEach(live.event)
    const item = (symbol: string, changes: object = {}): RunEvent => ({
      type: 'item-finished',
      stream: 'market-news',
      item: symbol,
      status: 'success',
      ...changes,
    })
    const hosts = streams.map(({ name }) => ({
      name,
      state: 'waiting' as const,
      hosts: name === 'market-news' ? ['news'] : [],
    }))
    emit(
      started([], { streams: hosts }),
      { type: 'stream-started', at: 1_000, stream: 'market-news' },
      { type: 'items-known', stream: 'market-news', total: 60 },
      item('TCS'),
      item('INFY', { status: 'error', reason: 'no answer' }),
    )
    const { page, problems } = await openFolder(open, folderOf(failed), '/run?marbles=1', {
      live: () => live.state(2_000),
    })
    await page.getByRole('heading', { name: /^▸? ?Running: / }).waitFor()
    const node = page.getByRole('button', { name: /^market-news: / })
    expect(await node.getAttribute('aria-label')).toBe('market-news: 1 failed, 2 of 60 items')
    await page.locator('.graph a[href="/stock/TCS"]').waitFor()
    await page.locator('.graph .marble.failed').waitFor()
    emit({
      type: 'host-paused',
      at: 2_000,
      hosts: ['news'],
      why: 'refuses',
      since: 2_000,
      until: Date.now() + 60_000,
    })
    await page.getByRole('button', { name: /^market-news: waits .*rate limit/ }).waitFor()
    emit({ type: 'run-finished', report: failed })
    await page.getByRole('heading', { name: /Running/ }).waitFor({ state: 'detached' })
    expect(problems).toEqual([])
  })

  it('shows the end of a run of another process by its report, with the marbles that were seen', async () => {
    const live = followLive(streams)
    live.event(
      started([], { run: 'r2', streams: streams.map(({ name }) => ({ name, state: 'waiting' as const })) }),
    )
    live.event({ type: 'stream-started', at: 1_000, stream: 'market-news' })
    live.event({ type: 'items-known', stream: 'market-news', total: 60 })
    live.event({ type: 'item-finished', stream: 'market-news', item: 'TCS', status: 'success' })
    let isActive = true
    const { page } = await openFolder(open, folderOf(failed), '/run?marbles=1', {
      live: () => (isActive ? live.state(2_000) : undefined),
    })
    await page.getByRole('button', { name: /^market-news: .* 1 of 60 items/ }).waitFor()
    isActive = false
    await page.getByRole('heading', { name: /Running/ }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: /^market-news: 2 failed .* 60 of 60 items/ }).waitFor()
    await page.locator('.graph a[href="/stock/TCS"]').waitFor()
  })

  it('shows a run that ended too fast to be seen, streams that an interrupted run had not ended, and warnings', async () => {
    const interrupted = runReport({
      run: 'r1',
      outcome: 'interrupted',
      scripts: {
        'market-news': scriptReport({
          outcome: 'failed',
          requests: 4,
          items: { success: 0, empty: 0, skipped: 0, rate_limit: 0, error: 0 },
        }),
        'company-filings': scriptReport({ outcome: 'skipped', durationMs: 0, requests: 0, files: 0 }),
      },
    })
    const out = folderOf(interrupted)
    const { page, problems } = await openFolder(open, out, '/run')
    await page.getByRole('heading', { name: 'Interrupted' }).waitFor()
    await page.getByText('0 of 1 stream complete').waitFor()
    await page.getByRole('button', { name: /^market-news: ! interrupted/ }).waitFor()
    await page.getByRole('button', { name: /^company-filings: not started/ }).waitFor()
    await page.getByText('report: not ended: 2 of 2 streams').waitFor()
    expect(await page.getByRole('heading', { name: 'What is missing, and why' }).count()).toBe(0)
    const reason = 'all 60 series end before 2026-02-12'
    const resumed = runReport({
      run: 'r1',
      notes: ['the log is full'],
      scripts: { 'all-ohlcv': scriptReport({ problems: [{ reason }] }) },
    })
    writeFileSync(join(out, '.scripstream/report.json'), JSON.stringify(resumed))
    await page.getByRole('heading', { name: 'Complete' }).waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: 'all-ohlcv all 60 series end before 12 Feb 2026' })
      .waitFor()
    await page
      .getByRole('listitem')
      .filter({ hasText: /^the log is full$/ })
      .waitFor()
    expect(problems).toEqual([])
  })

  it('shows the end of a run whose server ends with it', async () => {
    const live = followLive(streams)
    live.event(
      started([], { run: 'r2', streams: streams.map(({ name }) => ({ name, state: 'waiting' as const })) }),
    )
    const out = folderOf(runReport({ run: 'r1' }))
    const { page, server } = await openFolder(open, out, '/run', { live: () => live.state(2_000) })
    await page.getByRole('heading', { name: /Running: / }).waitFor()
    const report = runReport({ run: 'r2', outcome: 'failed', error: 'the disk is full' })
    writeFileSync(join(out, '.scripstream/report.json'), JSON.stringify(report))
    live.event({ type: 'run-finished', report })
    await server.close()
    await page.getByRole('heading', { name: 'The last run failed' }).waitFor()
    await page.getByRole('status').getByText('the disk is full').waitFor()
    await page.getByRole('alert').getByText('does not answer').waitFor()
  })

  it('says that the server has ended', async () => {
    const { page, server } = await openFolder(open, folderOf(failed), '/run')
    await page.locator('.graph').waitFor()
    await server.close()
    await page.getByRole('alert').getByText('does not answer').waitFor()
  })

  it('goes on by itself when the server is started again, with what the folder holds then', async () => {
    const { page, server } = await openFolder(open, folderOf(failed), '/run')
    await page.locator('.graph').waitFor()
    await server.close()
    await page.getByRole('alert').getByText('does not answer').waitFor()
    const live = followLive(streams)
    live.event(started([], { streams: streams.map(({ name }) => ({ name, state: 'waiting' as const })) }))
    const again = await serveFolder(folderOf(failed), {
      port: Number(new URL(server.origin).port),
      live: () => live.state(2_000),
    })
    onTestFinished(() => again.close())
    await page.getByRole('heading', { name: /Running: / }).waitFor()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('names a stream that failed, with its error, and goes to its details with the keyboard only', async () => {
    const down = runReport({
      run: 'r3',
      outcome: 'partial',
      scripts: {
        'master-data': scriptReport(),
        'market-news': scriptReport({ outcome: 'failed', error: `news is down ${REVERSED}` }),
      },
    })
    const { page, problems } = await openFolder(open, folderOf(down), '/run', { dark: true })
    await page.getByRole('heading', { name: 'Not complete' }).waitFor()
    await page.getByRole('button', { name: /^market-news: ✕ failed/ }).focus()
    await page.keyboard.press('Enter')
    await page
      .getByRole('region', { name: 'Details of market-news' })
      .getByText(`news is down ${REVERSED}`)
      .waitFor()
    expect(problems).toEqual([])
  })

  it('lists earlier runs, and opens one by its bar and by its line', async () => {
    const { page, problems } = await openFolder(open, folderOf(runReport({ run: 'r1' }), failed), '/runs')
    await page.getByRole('heading', { name: '2 runs: 1 partial, 1 complete' }).waitFor()
    await page.locator('tbody a').first().click()
    await page.waitForURL('**/runs/r2')
    await page
      .getByRole('button', { name: /^market-news/ })
      .first()
      .click()
    await page.waitForURL('**/runs/r2?stream=market-news')
    await page.getByRole('region', { name: 'Details of market-news' }).getByText(HOSTILE).waitFor()
    await page.keyboard.press('[')
    await page.waitForURL('**/runs/r1')
    expect(problems).toEqual([])
  })

  it('shows the data checks of the last run when they are made, with texts of the provider as text, and in one line on the first page', async () => {
    const out = folderOf(failed)
    writeFileSync(join(out, 'master_isin_map.json'), JSON.stringify([stock('M&M')]))
    const begin = new ReplaySubject<void>(1)
    const about = {
      check: 'large-moves',
      severity: 'warning',
      symbol: 'M&M',
      day: '2026-02-12',
      state: 'new',
    } as const
    const finding = { ...about, detail: `moved ${HOSTILE}` }
    const facts = {
      run: 'r2',
      checkedAt: '2026-02-12T14:40:00.000Z',
      stocks: 1,
      files: 1,
      accepted: 0,
      notes: [],
      acceptedStamp: 0,
    }
    const check = async () => {
      await firstValueFrom(begin)
      return { ...facts, findings: [finding] }
    }
    const { page, problems } = await openFolder(open, out, '/runs/r2', { check })
    await page.getByRole('status').getByText('The files are being checked').waitFor()
    begin.next()
    const checks = page.locator('#checks')
    await checks.getByText('1 new finding; 1 in all').waitFor()
    await checks.getByText(`12 Feb 2026: moved ${HOSTILE}`).waitFor()
    await checks.locator('a[href="/stock/M%26M"]').waitFor()
    await page.goto(new URL('/run', page.url()).href)
    await page.getByRole('link', { name: '1 new finding; 1 in all' }).click()
    await page.waitForURL('**/runs/r2')
    expect(problems).toEqual([])
  })

  it.each([390, 1_024, 1_440])(
    'fits %d pixels, and no view is wider than the window or has a serious fault of accessibility',
    async (width) => {
      for (const path of ['/?marbles=1&stream=market-news', '/runs', '/runs/r2']) {
        const { page } = await openFolder(open, folderOf(runReport({ run: 'r1' }), failed), path, {
          width,
          dark: width === 390,
        })
        await page.getByRole('heading', { level: 1 }).waitFor()
        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(
          0,
        )
        expect(await findInaccessible(page), path).toEqual([])
      }
    },
  )
})
