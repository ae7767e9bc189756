import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'
import { KNOWN, serveService } from './chat-services.js'
import { run } from './command.js'

const hasCurl = spawnSync('curl', ['--version']).status === 0
const GUIDE = readFileSync(join(import.meta.dirname, '../../src/guides/operator.md'), 'utf8')

const FILES = '/etc/scripstream/'
const RECIPE = /^\| (\w+) \| `("notify": ".+")` \|$/gm
const CURL_FILE = /```ini\n# \/etc\/scripstream\/(\w+)\n(.*?)```/gs
const HOST = /https:\/\/[^/"]+/
const PLACEHOLDER = /TEAM|ID|TOKEN|TOPIC|CHAT/g

/** The rows of the guide: a service, and a line of a settings file. */
const recipes = [...GUIDE.matchAll(RECIPE)].map(([, service = '', line = '']) => {
  const { notify } = JSON.parse(`{${line}}`) as { readonly notify: string }
  return { service, notify }
})

/** The files for curl, by name. */
const curlFiles = [...GUIDE.matchAll(CURL_FILE)].map(([, name = '', text = '']) => ({ name, text }))

const isAddress = (notify: string): boolean => notify.startsWith('https://')

/** Replaces the names of the guide, and nothing else. */
const fillIn = (text: string, url: string, token: string): string => {
  const values: Readonly<Record<string, string>> = { ...KNOWN, TOKEN: token }
  return text.replace(HOST, url).replace(PLACEHOLDER, (name) => values[name] ?? name)
}

/** A folder with the settings and the files of a recipe, as the guide says to write them. */
const writeRecipe = (notify: string, url: string, token = KNOWN.TOKEN): string => {
  const folder = temporaryFolder()
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text, { mode: 0o600 })
  const target = fillIn(notify, url, token).replace(FILES, `${folder}/`)
  write('scripstream.config.json', JSON.stringify({ notify: target, notifyOn: 'always' }))
  for (const { name, text } of curlFiles) write(name, fillIn(text, url, token))
  return folder
}

it('has a line for each of five services, and a file for each curl', () => {
  expect(recipes.map(({ service }) => service)).toEqual(['Slack', 'Discord', 'ntfy', 'Telegram', 'gotify'])
  const commands = recipes.filter(({ notify }) => !isAddress(notify)).map(({ notify }) => notify)
  const named = commands.map((command) => command.split(FILES)[1]?.split(' ')[0])
  expect(named).toEqual(curlFiles.map(({ name }) => name))
  // The process list shows a command.
  for (const command of commands) expect(command).not.toMatch(/TOKEN|TOPIC|CHAT|https?:/)
})

describe.each(recipes)('the line for $service', ({ service, notify }) => {
  beforeEach(({ skip }) => skip(!isAddress(notify) && !hasCurl, 'curl is not installed'))

  it('sends why a run failed', async () => {
    const { url, deliveries } = await serveService(service)
    const { code, stderr } = await run(['run'], { cwd: writeRecipe(notify, url) })
    expect([code, stderr]).toEqual([2, expect.not.stringContaining('was not sent')])
    const shown = expect.stringMatching(/^scripstream: Failed: .+$/)
    expect(deliveries).toMatchObject([{ status: 200, shown }])
  })

  it('sends one line of text when a first run is complete', async () => {
    const { url, deliveries } = await serveService(service)
    const first = ['run', '--simulate=12', '--quiet', '--as-of', '2026-02-12', '--skip', 'indices-ohlcv']
    expect(await run(first, { cwd: writeRecipe(notify, url) })).toEqual({ code: 0, stdout: '', stderr: '' })
    const shown = expect.stringMatching(/^scripstream: Complete: .+$/)
    expect(deliveries).toMatchObject([{ status: 200, shown }])
    // A command sends the text alone. An address gets the whole payload, of which the service shows the text.
    if (!isAddress(notify)) expect(deliveries[0]?.bytes).toBeLessThan(1_000)
  })

  it('fails with a wrong token, which no output names', async () => {
    const { url, deliveries } = await serveService(service)
    const cwd = writeRecipe(notify, url, 'wr0ng-t0ken')
    const { code, stdout, stderr } = await run(['run'], { cwd })
    expect([code, stderr]).toEqual([2, expect.stringContaining('was not sent')])
    expect(stdout + stderr).not.toContain('wr0ng')
    expect(deliveries).toMatchObject([{ shown: undefined }])
  })

  it('tries again while the service is busy, and keeps special characters', async () => {
    const { url, deliveries } = await serveService(service, 1)
    const file = 'M&M; 50% + a=1'
    const { stderr } = await run(['run', '--symbols', `@${file}`], { cwd: writeRecipe(notify, url) })
    expect(stderr).not.toContain('was not sent')
    expect(deliveries).toMatchObject([{ status: 503 }, { status: 200, shown: expect.stringContaining(file) }])
  })
})

describe('a service refuses', () => {
  const post = async (service: string, path: string, body: string, headers: Record<string, string> = {}) => {
    const { url } = await serveService(service)
    const response = await fetch(url + path, { method: 'POST', body, headers })
    return `${response.status} ${await response.text()}`
  }
  const bearer = { authorization: `Bearer ${KNOWN.TOKEN}` }
  const webhook = `/api/webhooks/${KNOWN.ID}/${KNOWN.TOKEN}`

  it('the payload itself, where it needs other fields', async () => {
    const payload = JSON.stringify({ version: 1, text: 'scripstream: Complete.', outcome: 'complete' })
    const json = { 'content-type': 'application/json' }
    expect(await post('Discord', webhook, payload, json)).toMatch(/^400 .*Cannot send an empty message/)
    const telegram = await post('Telegram', `/bot${KNOWN.TOKEN}/sendMessage`, payload, json)
    expect(telegram).toMatch(/^400 .*chat_id is empty/)
    const gotify = await post('gotify', '/message', payload, { ...json, ...bearer })
    expect(gotify).toMatch(/^400 .*Field 'message' is required/)
  })

  it('a text over its limit', async () => {
    const topic = `/${KNOWN.TOPIC}`
    expect(await post('ntfy', topic, 'x'.repeat(4_095), bearer)).toMatch(/^200 /)
    expect(await post('ntfy', topic, 'x'.repeat(4_096), bearer)).toMatch(/^400 .*attachments not allowed/)
    const long = JSON.stringify({ text: 'x'.repeat(2_001) })
    expect(await post('Discord', `${webhook}/slack`, long)).toMatch(/^400 .*Invalid Form Body/)
  })
})
