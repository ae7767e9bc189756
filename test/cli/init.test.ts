import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configTemplate } from '../../src/cli/init.js'
import { runProgram } from '../../src/cli/program.js'
import { loadSettings, settingRows } from '../../src/config.js'
import { Settings } from '../../src/model/settings.js'
import { streams } from '../../streams/registry.js'
import { temporaryFolder } from '../support/folders.js'
import { createTestDependencies, createTestIo } from './support.js'

const load = (text: string) => {
  const configFile = join(temporaryFolder(), 'settings.json')
  writeFileSync(configFile, text)
  return loadSettings({ configFile, streams })
}

describe('a settings file', () => {
  it('may have comments, trailing commas and a byte order mark', () => {
    expect(
      load(
        '\ufeff// first\n{ /* out */ "out": "/a b//c", // not a comment: //b\n "urls": { "news": "https://n.example", }, }',
      ).out,
    ).toBe('/a b/c')
  })

  it('is refused with the line and the column of the mistake, without quoting it', () => {
    expect(() => load('{\n  // a comment\n  "newsLimit": 5 "out": "secret"\n}')).toThrow(
      /: line 3, column 18: expected a comma, or the end of the list or object$/,
    )
    expect(() => load('{ "out": secret }')).toThrow(
      /: line 1, column 10: expected a text in double quotes, a number, /,
    )
  })
})

describe('the command init', () => {
  const env = {
    SCRIPSTREAM_NEWS_URL: 'https://news.example',
    SCRIPSTREAM_HEADERS: '{"key":"s3cret"}',
    NEWS_LIMIT: '20',
  }
  const run = async (...args: readonly string[]) => {
    const io = createTestIo({ env })
    const code = await runProgram(['init', ...args], io, {
      ...createTestDependencies(),
      streams,
      settingRows,
    })
    return { code, text: io.out.text(), err: io.err.text() }
  }

  it('writes a file that explains every setting and changes none', () => {
    const text = configTemplate(settingRows(streams))
    expect(load(text)).toEqual(Settings.parse({}))
    for (const { name, description } of settingRows(streams)) {
      expect(text).toContain(`"${name.replace(/^(urls|options.*)\./, '').replace('.<name>', '')}"`)
      if (!name.startsWith('urls.')) expect(text.replaceAll(/\n *\/\/ /g, ' ')).toContain(description)
    }
  })

  it('writes examples that are valid settings', () => {
    const uncommented = configTemplate(settingRows(streams))
      .replaceAll(/^( *)\/\/ ("[\w-]+": )/gm, '$1$2')
      .replaceAll('"…"', '"x"')
      .replaceAll('https://…', 'https://x.example')
      .replaceAll('Bearer …', 'Bearer x')
    expect(load(uncommented).workers).toEqual({ 'market-news': 15 })
  })

  it('keeps the values of variables, which may be secret, out', async () => {
    const config = join(temporaryFolder(), 'new.json')
    expect((await run('--config', config)).text).toBe(
      `Wrote ${config}.\nSet the addresses of your provider in it, then run "scripstream doctor".\n`,
    )
    expect(readFileSync(config, 'utf8')).not.toMatch(/s3cret|news\.example/)
  })

  it('never overwrites a file', async () => {
    const config = join(temporaryFolder(), 'mine.json')
    writeFileSync(config, '{}')
    expect(await run('--config', config)).toMatchObject({
      code: 2,
      err: expect.stringContaining('exists and was not changed'),
    })
    expect(readFileSync(config, 'utf8')).toBe('{}')
  })
})
