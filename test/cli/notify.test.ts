import { createHmac } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { lastValueFrom, of, Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { memory } from '../../sinks/memory.js'
import { formatCommandLine } from '../../src/cli/command-line.js'
import { notifyOfEnd } from '../../src/cli/notify/notify.js'
import type { Payload } from '../../src/cli/notify/payload.js'
import { runProgram } from '../../src/cli/program.js'
import type { EndedCommand, RunCommandContext } from '../../src/cli/run/context.js'
import type { ExitSignal } from '../../src/cli/signals.js'
import { createCollector } from '../../src/collector.js'
import { findOrigins, loadNotifySettings, loadSettings } from '../../src/config.js'
import type { Log } from '../../src/engine/event-bus.js'
import { NothingAnsweredError } from '../../src/model/errors.js'
import { Settings, type SettingsInput } from '../../src/model/settings.js'
import { streams } from '../../streams/registry.js'
import { closedPort, serveHttp } from '../http/support.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo, runReport, scriptReport } from './support.js'

const AT = Date.parse('2026-02-12T15:00:00Z')
const RETRY = { backoffMs: 1, throttleMs: 1, throttleMaxMs: 1 }

const notify = async (
  settings: SettingsInput,
  ended: Partial<EndedCommand> = {},
  signal$ = new Subject<ExitSignal>(),
) => {
  const io = { ...createTestIo({ env: { PATH: process.env.PATH } }), signal$ }
  const logged: string[] = []
  const write = (fields: object, message: string): void =>
    void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const context: RunCommandContext = {
    flags: {},
    run: {},
    args: [],
    sinks: [],
    settings: Settings.parse({ out: join(temporaryFolder(), 'none'), ...settings }),
    io,
    log,
    origins: new Map(),
    dependencies: createTestDependencies(),
  }
  const result = await lastValueFrom(
    notifyOfEnd({ exitCode: 3, at: AT, report: failed, ...ended }, context, RETRY),
  )
  return { result, err: io.err.text(), logged: logged.join('\n') }
}

const failed = runReport({
  outcome: 'partial',
  scripts: {
    'master-data': scriptReport(),
    'market-news': scriptReport({
      outcome: 'partial',
      items: { success: 1, empty: 0, skipped: 0, rate_limit: 0, error: 1 },
      problems: [{ item: 'TCS', status: 'error', code: 'deadline', reason: 'deadline: no byte for 10 s' }],
    }),
  },
  missing: { 'market-news': 1 },
})

/** An endpoint that answers with these statuses, then with 204. */
const serveHook = async (statuses: readonly (number | 'reset')[] = []) => {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = []
  const { url } = await serveHttp(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) })
    const status = statuses[received.length - 1] ?? 204
    if (status === 'reset') request.socket.destroy()
    else response.writeHead(status).end()
  })
  return { received, url: `${url}/hooks/T0KEN?key=s3cret` }
}

/** A command that stores its input and the text, and the files. */
const storing = () => {
  const folder = temporaryFolder()
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  return {
    command: `cat > '${folder}/payload'; printf %s "$SCRIPSTREAM_NOTIFY_TEXT" > '${folder}/text'`,
    read,
  }
}

describe('a notification by a command', () => {
  it('has the payload on its input and one line of text in its environment', async () => {
    const { command, read } = storing()
    expect(await notify({ notify: command })).toMatchObject({ result: 'sent', err: '' })
    const payload = JSON.parse(read('payload')) as Payload
    expect(payload).toMatchObject({
      version: 1,
      outcome: 'partial',
      exitCode: 3,
      run: 'r1',
      day: '2026-02-12',
      simulated: false,
      upToDate: false,
      startedAt: failed.startedAt,
      finishedAt: failed.finishedAt,
      counts: { stocks: 500, streams: 2, failedStreams: 1, items: 3, failedItems: 1, requests: 2, files: 2 },
      failed: [
        {
          stream: 'market-news',
          outcome: 'partial',
          missing: 1,
          problems: [{ item: 'TCS', status: 'error' }],
        },
      ],
    })
    expect(read('text')).toBe(payload.text)
    expect(payload.text).toMatch(/^scripstream: Partial\. market-news: 1 item missing\. /)
  })

  it('that fails causes a warning on stderr and in the log without the command, which may contain secrets', async () => {
    const { result, err, logged } = await notify({ notify: 'exit 7 # s3cret' })
    expect(result).toBe('failed')
    expect(err).toBe(
      'warning: the notification to your command was not sent: the command ended with exit code 7\n',
    )
    expect(logged).toContain(
      'notification-failed {"to":"your command","reason":"the command ended with exit code 7"}',
    )
    expect(err + logged).not.toContain('s3cret')
  })

  it('need not read its input', async () => {
    expect(
      (
        await notify(
          { notify: 'exec 0<&-; true' },
          { report: runReport({ ...failed, error: 'x'.repeat(500_000) }) },
        )
      ).result,
    ).toBe('sent')
  })

  it('ends on a signal', async () => {
    const signal$ = new Subject<ExitSignal>()
    const file = join(temporaryFolder(), 'pid')
    const ended = notify({ notify: `echo $$ > '${file}'; exec sleep 60` }, {}, signal$)
    while (!existsSync(file) || readFileSync(file, 'utf8') === '') await setImmediate()
    signal$.next('SIGINT')
    expect((await ended).err).toContain('was not sent: interrupted')
    const isRunning = (): boolean => {
      try {
        return process.kill(Number(readFileSync(file, 'utf8')), 0)
      } catch {
        return false
      }
    }
    while (isRunning()) await setImmediate()
  })
})

describe('a notification of a run that failed as a whole', () => {
  it('has no changes, which are those of an earlier run, and says why once', async () => {
    const [out, { command, read }] = [temporaryFolder(), storing()]
    const error = 'master-data failed: the provider answered 503'
    const report = runReport({
      outcome: 'failed',
      error,
      scripts: { 'master-data': scriptReport({ outcome: 'failed', error }) },
      missing: { 'master-data': 1 },
    })
    mkdirSync(join(out, '.scripstream'))
    writeFileSync(join(out, 'master_isin_map.json'), '[]')
    writeFileSync(join(out, '.scripstream/report.json'), JSON.stringify(report))
    await notify({ notify: command, out }, { exitCode: 1, report })
    const payload = JSON.parse(read('payload')) as Payload
    expect(payload).not.toHaveProperty('changes')
    expect(payload).toMatchObject({ error, failed: [{ stream: 'master-data', missing: 1 }] })
    expect(payload.text).toBe(`scripstream: Failed: ${error}.`)
  })
})

describe('what fails while the text of a notification is made', () => {
  it('is a line in it: a watchlist whose file is missing, and changes that cannot be found', async () => {
    const { command, read } = storing()
    const watchlists = { a: '@missing.txt', b: ['TCS'] }
    expect(await notify({ notify: command, watchlists })).toMatchObject({ result: 'sent', err: '' })
    const { text, notes } = JSON.parse(read('payload')) as Payload
    expect(notes).toEqual([
      expect.stringMatching(/^watchlists\.a: .*missing\.txt/),
      expect.stringMatching(/^changes and findings are left out: no run has finished in /),
    ])
    for (const note of notes ?? []) expect(text).toContain(note)
  })

  it('silences no alarm of a run that could not start', async () => {
    const { received, url } = await serveHook()
    const ended = {
      exitCode: 2,
      report: undefined,
      error: new Error(`no address${' of many'.repeat(90)}`),
    } as object
    expect(await notify({ notify: url, watchlists: { a: '@missing.txt' } }, ended)).toMatchObject({
      result: 'sent',
      err: '',
    })
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({
      error: expect.stringMatching(/^no address of many of many/),
      text: expect.stringContaining('missing.txt'),
      notes: [expect.stringContaining('missing.txt')],
    })
  })
})

describe('a notification to an address', () => {
  it('that is refused shows why, without the secrets of the address', async () => {
    const { url } = await serveHttp((_, response) => {
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end('{"url":"/hooks/B0123456789?key=s3cret","message":"Cannot send"}')
    })
    const { err } = await notify({ notify: `${url}/hooks/B0123456789?key=s3cret` })
    expect(err).toMatch(
      /was not sent: the address answered 400 \(application\/json, \d+ B, .*Cannot send\\"\}"\)/,
    )
    expect(err).not.toMatch(/B0123|s3cret/)
  })

  it('is posted as JSON with its time, and unsigned without a secret', async () => {
    const { received, url } = await serveHook()
    expect(await notify({ notify: url })).toMatchObject({ result: 'sent', err: '' })
    expect(received).toHaveLength(1)
    expect(received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-scripstream-timestamp': '0',
    })
    expect(received[0]?.headers).not.toHaveProperty('x-scripstream-signature')
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ outcome: 'partial' })
  })

  it('is signed with the secret over time and body', async () => {
    const { received, url } = await serveHook()
    await notify({ notify: url, notifySecret: 'a long secret' })
    const { headers, body = '' } = received[0] ?? {}
    const expected = createHmac('sha256', 'a long secret')
      .update(`${headers?.['x-scripstream-timestamp']}.${body}`)
      .digest('hex')
    expect(headers?.['x-scripstream-signature']).toBe(`sha256=${expected}`)
    expect(body).not.toContain('a long secret')
  })

  it('is sent again after a reset, a 5xx and a 429', async () => {
    const { received, url } = await serveHook([503, 429, 'reset', 500])
    expect((await notify({ notify: url })).result).toBe('sent')
    expect(received).toHaveLength(5)
  })

  it.each([
    [404, 1],
    [302, 1],
    [500, 5],
    [429, 5],
  ])('is given up after %i, which came %i times, and only names the host', async (status, times) => {
    const { received, url } = await serveHook(Array(9).fill(status))
    const { result, err, logged } = await notify({ notify: url, notifySecret: 'a long secret' })
    expect(result).toBe('failed')
    expect(received).toHaveLength(times)
    expect(err).toMatch(
      new RegExp(`^warning: the notification to 127.0.0.1:\\d+ was not sent: the address answered ${status}`),
    )
    expect(err + logged).not.toMatch(/T0KEN|s3cret|a long secret/)
  })

  it('is given up after some time if nothing listens', async () => {
    const { err } = await notify({ notify: `${await closedPort()}/T0KEN` })
    expect(err).toMatch(
      /^warning: the notification to 127.0.0.1:\d+ was not sent: connect: 127.0.0.1:\d+ refuses connections\n$/,
    )
  })
})

describe('a notification is due', () => {
  const complete = runReport()
  it.each([
    ['failure', { exitCode: 0, report: complete }, 'not due'],
    // Its folder has no record of a run: what changed is unknown.
    ['change', { exitCode: 0, report: complete }, 'sent'],
    ['always', { exitCode: 0, report: complete }, 'sent'],
    ['failure', { exitCode: 3 }, 'sent'],
    ['change', { exitCode: 3 }, 'sent'],
    ['failure', { exitCode: 1, report: complete }, 'sent'],
    ['failure', { exitCode: 143, signal: 'SIGTERM' }, 'sent'],
    ['always', { exitCode: 130, signal: 'SIGINT' }, 'not due'],
    ['failure', { exitCode: 2, report: undefined, error: new NothingAnsweredError('no list') }, 'sent'],
  ] as const)('on %s after %j: %s', async (notifyOn, ended, expected) => {
    expect((await notify({ notify: 'true', notifyOn }, ended as Partial<EndedCommand>)).result).toBe(expected)
  })

  it('without a target never', async () =>
    expect((await notify({ notifyOn: 'always' })).result).toBe('not due'))

  it('if the command ends with an error, which it contains without secrets', async () => {
    const { command, read } = storing()
    const headers = { authorization: 'Bearer 0123456789' }
    await notify({ notify: command, headers }, {
      report: undefined,
      exitCode: 1,
      error: new Error('refused Bearer 0123456789'),
    } as object)
    expect(JSON.parse(read('payload'))).toMatchObject({
      outcome: 'failed',
      exitCode: 1,
      error: 'refused [redacted]',
      failed: [],
    })
  })
})

describe('the command run', () => {
  const run = async (...args: readonly string[]) => {
    const io = createTestIo({ env: { PATH: process.env.PATH } })
    const event$ = of({ type: 'run-finished', at: 0, report: failed } as const)
    const code = await runProgram(
      ['run', '--out', join(temporaryFolder(), 'x'), ...args],
      io,
      createTestDependencies(event$),
    )
    return { code, err: io.err.text() }
  }

  it('sends a notification, and keeps its exit code if that fails', async () => {
    const { command, read } = storing()
    expect((await run('--notify', command)).code).toBe(3)
    expect(JSON.parse(read('payload'))).toMatchObject({ run: 'r1', exitCode: 3 })
    const { code, err } = await run('--notify', 'false')
    expect(code).toBe(3)
    expect(err).toContain('warning: the notification to your command was not sent')
  })

  it('rejects an unknown condition', async () => {
    expect(await run('--notify', 'true', '--notify-on', 'never')).toMatchObject({
      code: 2,
      err: expect.stringContaining('failure, change or always'),
    })
  })
})

describe('a run that cannot start notifies', () => {
  it.each([
    ['with a wrong setting', { retires: 3 }, /has no setting "retires"/],
    ['with a log file that cannot be opened', { logFile: 'none/x.log' }, /the log file .* cannot be written/],
    [
      'with a watchlist that is missing, although nothing else is wrong',
      { watchlists: { a: '@none.txt' } },
      /not set: /,
    ],
    ['with a module of streams that is missing', { streams: 'none.js' }, /none\.js does not exist/],
    ['without addresses', {}, /not set: /],
  ])('%s', async (_, settings, reason) => {
    const { command, read } = storing()
    const folder = temporaryFolder()
    const config = join(folder, 'c.json')
    writeFileSync(config, JSON.stringify({ ...settings, notify: command, out: 'data' }))
    const io = createTestIo({ env: { PATH: process.env.PATH } })
    const dependencies = createTestDependencies(undefined, {
      streams,
      loadSettings,
      loadNotifySettings,
      findOrigins,
      createCollector,
      storage: () => memory(new Map()),
    })
    expect(await runProgram(['run', '--quiet', '--config', config], io, dependencies)).toBe(2)
    const payload = JSON.parse(read('payload')) as Payload
    expect(payload).toMatchObject({
      command: 'run',
      outcome: 'failed',
      exitCode: 2,
      folder: join(folder, 'data'),
    })
    expect(payload.error).toMatch(reason)
    expect(payload.text).toMatch(/^scripstream: Failed: /)
  })
})

describe('the target and the secret of notifications', () => {
  const env = {
    SCRIPSTREAM_NOTIFY: 'https://hooks.example/T0KEN',
    SCRIPSTREAM_NOTIFY_SECRET: 'a long secret',
    SCRIPSTREAM_NOTIFY_ON: 'always',
  }

  it('come from the environment', () => {
    expect(loadSettings({ env, streams: [] })).toMatchObject({
      notify: env.SCRIPSTREAM_NOTIFY,
      notifySecret: 'a long secret',
      notifyOn: 'always',
    })
  })

  it.each([
    [
      { SCRIPSTREAM_NOTIFY: 'https://' },
      /^SCRIPSTREAM_NOTIFY must be a command or an http\(s\) address \(value not shown\)$/,
    ],
    [
      { SCRIPSTREAM_NOTIFY_SECRET: 's3cret' },
      /^SCRIPSTREAM_NOTIFY_SECRET must have at least 8 characters \(value not shown\)$/,
    ],
    [
      { SCRIPSTREAM_NOTIFY_ON: 'never' },
      /^SCRIPSTREAM_NOTIFY_ON must be failure, change or always, but is "never"/,
    ],
  ])('are checked without being shown: %j', (wrong, message) =>
    expect(() => loadSettings({ env: wrong, streams: [] })).toThrow(message),
  )

  it('are not repeated in a command', () => {
    expect(formatCommandLine(['run', '--notify', 'https://x/T0KEN', '--json'])).toBe(
      "scripstream run --notify '…' --json",
    )
    expect(formatCommandLine(['run', '--notify=curl T0KEN'])).not.toContain('T0KEN')
  })
})
