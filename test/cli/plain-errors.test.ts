import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { createCollector } from '../../src/collector.js'
import { findOrigins, loadSettings } from '../../src/config.js'
import { describeNetworkError } from '../../src/model/errors.js'
import { builtInHosts } from '../../src/model/settings.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo } from './support.js'

let root: string
beforeEach(() => {
  root = temporaryFolder()
  mkdirSync(join(root, 'folder'))
  writeFileSync(join(root, 'file'), 'text')
  writeFileSync(
    join(root, 'types.json'),
    '{ "out": 5, "exchange": "", "workers": 4, "streams": 5, "options": { "surveillance-lists": { "sheetId": "" } } }',
  )
  writeFileSync(join(root, 'fault.json'), '[{ "on": "news", "mode": "nope", "x": 1 }]')
})

/** The error of a command; in its arguments and in the result, `ROOT` is the folder. */
const errorOf = async (...args: readonly string[]): Promise<string> => {
  const io = createTestIo()
  const dependencies = createTestDependencies(undefined, {
    streams,
    loadSettings,
    findOrigins,
    createCollector,
    storage: ({ out }) => folder(out),
  })
  await runProgram(
    args.map((arg) => arg.replace('ROOT', root)),
    io,
    dependencies,
  )
  return io.err.text().replaceAll(root, 'ROOT')
}

describe('an error is written in plain words, without the text of the system or of a library', () => {
  it.each([
    [['run', '--config', 'ROOT/none.json'], 'cannot use the settings file ROOT/none.json: it does not exist'],
    [['run', '--config', 'ROOT/folder'], 'cannot use the settings file ROOT/folder: it is a directory'],
    [
      ['run', '--symbols', '@ROOT/none.txt'],
      '--symbols: the file "ROOT/none.txt" cannot be read: it does not exist',
    ],
    [['run', '--out', 'ROOT/file'], 'ROOT/file is a file; choose a folder with --out'],
    [['run', '--dry-run', '--out', 'ROOT/file'], 'ROOT/file is a file; choose a folder with --out'],
    [
      ['history', '--runs', '--out', 'ROOT/file/sub'],
      'ROOT/file/sub/.scripstream/format.json cannot be read: a file has the name of its folder',
    ],
    [
      ['run', '--dry-run', '--out', 'ROOT/file/sub'],
      'ROOT/file/sub/.scripstream/session.json cannot be read: a file has the name of its folder',
    ],
    [
      ['run', '--log-file', 'ROOT/folder'],
      'the log file ROOT/folder cannot be written: a directory has that name',
    ],
    [
      ['init', '--config', 'ROOT/none/a.json'],
      'ROOT/none/a.json cannot be written: its folder does not exist or cannot be created; choose another file with --config',
    ],
    [
      ['simulate', '--faults', 'ROOT/none.json'],
      '--faults: the file "ROOT/none.json" cannot be read: it does not exist',
    ],
  ])('%j', async (args, expected) =>
    expect(await errorOf(...args)).toMatch(new RegExp(`^error: ${expected.replaceAll(/[.$()]/g, '\\$&')}\n`)),
  )

  it.each([
    ['run', '--only', 'market-news'],
    ['stream', 'market-news'],
    ['serve', '--out', 'ROOT/folder', '--port', '0'],
  ])('names where the file of holidays is set: %s', async (...command) => {
    const urls = Object.fromEntries(builtInHosts.map((host) => [host, 'http://127.0.0.1:1']))
    writeFileSync(
      join(root, 'holidays.json'),
      `{ "out": "new",\n "holidays": "none.txt",\n "urls": ${JSON.stringify(urls)} }`,
    )
    expect(await errorOf(...command, '--config', 'ROOT/holidays.json')).toBe(
      'error: holidays in ROOT/holidays.json:2: the file "ROOT/none.txt" cannot be read: it does not exist\n',
    )
  })

  it.each([
    ['run', '--symbols', '@a'],
    ['run', '--dry-run', '--symbols', '@a'],
    ['brief', '--symbols', '@a'],
    ['stream', 'market-news', '--symbols', '@a'],
  ])('names where the watchlist with a missing file is set: %s', async (...command) => {
    const urls = Object.fromEntries(builtInHosts.map((host) => [host, 'http://127.0.0.1:1']))
    writeFileSync(
      join(root, 'lists.json'),
      `{ "urls": ${JSON.stringify(urls)},\n "watchlists": { "a": "@none.txt" } }`,
    )
    expect(await errorOf(...command, '--config', 'ROOT/lists.json')).toBe(
      'error: watchlists.a in ROOT/lists.json:2: the file "ROOT/none.txt" cannot be read: it does not exist\n',
    )
  })

  it('names what a setting must be', async () => {
    const lines = (await errorOf('run', '--config', 'ROOT/types.json')).trim().split('\n')
    expect(lines.map((line) => line.replace(/ in ROOT.types.json:1/, '').trim()).sort()).toEqual([
      'error: 5 settings are wrong:',
      'exchange must be an exchange code such as NSE, but is ""',
      'options.surveillance-lists.sheetId must not be empty (value not shown)',
      'out must be a text, but is 5',
      'streams must be a path or a list of paths, but is 5',
      'workers must be such as market-news=10, in a file { "market-news": 10 }, but is 4',
    ])
  })

  it('names what a field of a file must be', async () => {
    expect(await errorOf('simulate', '--faults', 'ROOT/fault.json')).toMatch(
      /^error: --faults: ROOT.fault.json has invalid content\n {2}0.mode must be one of status, reset, .*\n {2}0 has no field "x"\n$/,
    )
  })

  it('doctor says that a folder cannot be created, and leaves nothing behind', async () => {
    const io = createTestIo()
    await runProgram(
      ['doctor', '--out', join(root, 'file/sub')],
      io,
      createTestDependencies(undefined, { loadSettings }),
    )
    expect(io.out.text().replaceAll(/\s+/g, ' ')).toContain(
      'sub cannot be written: a file has the name of its folder',
    )
    expect(readdirSync(root).sort()).toEqual(['fault.json', 'file', 'folder', 'types.json'])
  })
})

describe('an error of a connection', () => {
  it.each([
    [
      { code: 'ETIMEDOUT', message: 'connect ETIMEDOUT 10.0.0.1:80 - Local (undefined:undefined)' },
      'connect ETIMEDOUT 10.0.0.1:80',
    ],
    [{ code: 'ECONNREFUSED', address: '::1', port: 80 }, '[::1]:80 refuses connections'],
    [{ code: 'ENOTFOUND', hostname: 'news.example' }, 'unknown host news.example'],
    [{ code: 'EMFILE', address: '127.0.0.1', port: 80 }, 'too many open files'],
    [
      { code: 'ERR_SSL_WRONG_VERSION_NUMBER' },
      'this port does not speak TLS; an address with http instead of https may be right',
    ],
  ])('is described by its code: %j', (fields, text) =>
    expect(describeNetworkError(Object.assign(new Error('raw'), fields))).toBe(text),
  )

  it('of OpenSSL is cut to its reason', () => {
    const raw =
      '807C1F39EE7F0000:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../deps/x.c:1605:SSL alert number 40'
    expect(describeNetworkError(new Error(raw))).toBe('TLS failed: sslv3 alert handshake failure')
  })

  it('says that a port is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const error = await new Promise((resolve) =>
      createServer()
        .once('error', resolve)
        .listen((server.address() as AddressInfo).port, '127.0.0.1'),
    )
    expect(describeNetworkError(error)).toBe('another process uses it')
  })
})
