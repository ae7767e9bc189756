import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { catchError, defer, lastValueFrom, map, mergeMap, of, range, tap, toArray } from 'rxjs'
import { expect, onTestFinished } from 'vitest'
import { findHints } from '../../src/cli/hints.js'
import { createLimiter } from '../../src/limiter/create-limiter.js'
import type { RunReport } from '../../src/model/report.js'
import { retryFailures } from '../../src/operators/retry-failures.js'
import { provider, run } from '../e2e/command.js'
import { closedPort } from '../http/support.js'
import { hashOutputs, temporaryFolder } from '../support/folders.js'

type Program = 'nginx' | 'haproxy'

/** Debian has servers in a folder that users do not have in their path. */
const PATH = `${process.env.PATH}:/usr/sbin`
const isInstalled = (name: string): boolean => spawnSync(name, ['-v'], { env: { PATH } }).error === undefined

/** The programs that are missing, as the end of a title; empty if there are all. */
export const explainMissing = (...names: readonly (Program | 'openssl')[]): string => {
  const missing = names.filter((name) => !isInstalled(name))
  return missing.length === 0 ? '' : ` (skipped: ${missing.join(', ')} not installed)`
}

export interface Box {
  readonly program: Program
  /** The settings within `http` of nginx, or those behind the defaults of haproxy. */
  readonly settings: (place: { readonly port: string; readonly provider: string }) => string
}

/** What stands in one `server` of nginx, with what belongs before it. */
export const nginx = (inServer: string, before = '', listen = ''): Box => ({
  program: 'nginx',
  settings: ({ port, provider }) => `
    ${before}
    upstream provider { server ${provider}; keepalive 50; }
    server {
      listen 127.0.0.1:${port} ${listen};
      ${inServer.replaceAll('PASS', PASS)}
    }`,
})

const PASS = 'proxy_pass http://provider; proxy_http_version 1.1; proxy_set_header Connection "";'

const FILES: Readonly<Record<Program, (folder: string, settings: string) => string>> = {
  nginx: (folder, settings) => `
    daemon off; master_process off; pid nginx.pid; error_log box.log;
    events { worker_connections 512; }
    http {
      access_log off;
      ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
      ${settings}
    }`,
  haproxy: (_, settings) => `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
${settings}
`,
}

/** Starts a box before the simulated provider; it stops when the test ends. Returns its address. */
const startBox = async ({ program, settings }: Box, origin: string): Promise<string> => {
  const folder = temporaryFolder()
  const address = await closedPort()
  const { port } = new URL(address)
  const file = join(folder, 'box.conf')
  writeFileSync(file, FILES[program](folder, settings({ port, provider: new URL(origin).host })))
  const args = program === 'nginx' ? ['-p', folder, '-c', file] : ['-db', '-f', file]
  const child = spawn(program, args, { cwd: folder, env: { PATH }, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  await expect.poll(() => answers(Number(port))).toBe(true)
  return address
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

/** The key and the certificate of a server, as settings of nginx. */
export const certificate = (): string => {
  const folder = temporaryFolder()
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const files = ['-keyout', key, '-out', cert, '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files], { stdio: 'ignore' })
  return `ssl_certificate ${cert}; ssl_certificate_key ${key};`
}

const RUN = ['run', '--json', '--out', 'data', '--as-of', '2026-02-12T20:00:00+05:30']

/** A run without the box, and one with it and `args`: into an empty folder, or `again` into the same one. */
export const runThrough = async (
  box: Box,
  { again = false, stocks = 12, args = [] as readonly string[] } = {},
) => {
  const { simulator, env } = await provider({ stocks, latencyMs: 5 })
  const [first, second] = [temporaryFolder(), temporaryFolder()]
  const direct = await run(RUN, { cwd: first, env })
  expect(direct.code).toBe(0)
  const address = await startBox(box, simulator.origin)
  const boxed = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.replace(simulator.origin, address)]),
  )
  const expected = hashOutputs(join(first, 'data'))
  const cwd = again ? first : second
  const { code, stdout } = await run([...RUN, ...args], { cwd, env: boxed })
  const report = JSON.parse(stdout) as RunReport
  return {
    code,
    files: hashOutputs(join(cwd, 'data')),
    expected,
    hints: findHints(report).join(' '),
    /** The requests, of those without the box. */
    share: countRequests(report) / countRequests(JSON.parse(direct.stdout) as RunReport),
  }
}

/** So many requests of an app's own client through a box, with a limiter. Resolves to their ends. */
export const fetchThrough = async (box: Box, count: number, workers: number) => {
  let arrived = 0
  const server = createServer((_, response) => {
    arrived += 1
    setTimeout(() => response.end('{}'), 20)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const address = await startBox(box, `http://127.0.0.1:${port}`)
  const limiter = createLimiter()
  let sent = 0
  const request$ = defer(() => {
    sent += 1
    return fetch(address)
  }).pipe(
    tap((response) => {
      if (!response.ok) throw Object.assign(new Error(`${response.status}`), { response })
    }),
    mergeMap((response) => response.json()),
  )
  const ends = await lastValueFrom(
    range(count).pipe(
      mergeMap(
        () =>
          request$.pipe(
            limiter.through(),
            retryFailures(),
            map(() => 'answered'),
            catchError((error: Error) => of(error.message)),
          ),
        workers,
      ),
      toArray(),
    ),
  )
  return { ends: [...new Set(ends)], arrived, share: sent / count }
}

const countRequests = ({ scripts }: RunReport): number =>
  Object.values(scripts).reduce((total, { requests }) => total + requests, 0)
