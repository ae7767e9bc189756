import { expect, it } from 'vitest'
import type { RunReport } from '../../src/model/report.js'
import { temporaryFolder } from '../support/folders.js'
import { serveProxy } from '../support/proxy.js'
import { provider, run } from './command.js'

it('the built command sends every request through the proxy of its environment', async () => {
  const { simulator, env } = await provider()
  const { seen, address } = await serveProxy(Number(new URL(simulator.origin).port))
  const hidden = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.replace('127.0.0.1', 'provider.example')]),
  )
  const { code, stdout } = await run(['run', '--json', '--as-of', '2026-02-12'], {
    cwd: temporaryFolder(),
    env: { ...hidden, HTTP_PROXY: address('user:p%40ss@') },
  })
  expect(code).toBe(0)
  const requests = Object.values((JSON.parse(stdout) as RunReport).scripts).reduce(
    (total, script) => total + script.requests,
    0,
  )
  expect(seen).toHaveLength(requests)
  expect(seen.filter((one) => !one.includes('http://provider.example'))).toEqual([])
})

it('the built command names a proxy that refuses, and what to do, and ends at once', async () => {
  const { env } = await provider()
  const { seen, address } = await serveProxy(0)
  const hidden = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [
      name,
      value.replace(/^http:..127\.0\.0\.1:\d+/, 'https://provider.example'),
    ]),
  )
  const { code, stdout, stderr } = await run(['run'], {
    cwd: temporaryFolder(),
    env: { ...hidden, HTTPS_PROXY: address('user:s3cret@') },
  })
  expect(code).toBe(1)
  const text = stdout.replaceAll(/\s+/g, ' ')
  expect(text).toContain(
    `the proxy ${address()} (HTTPS_PROXY) requires a user name and a password, or rejects them (407)`,
  )
  expect(text).toContain('Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY')
  expect(stdout + stderr).not.toContain('s3cret')
  expect(seen).toEqual(['CONNECT provider.example:443'])
})
