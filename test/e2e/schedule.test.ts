import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lastWeekday, SESSION_END, SESSION_START, toDay, toInstant } from '../../src/model/trading-day.js'
import { temporaryFolder } from '../support/folders.js'
import { type Ended, endOf, provider, run } from './command.js'

/** Text of a unit file: quotes, and doubled % and $. */
const readUnitArgs = (line: string): readonly string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replace(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'),
  )

const unescapeXml = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

/** The commands of an entry, each with its arguments, as its scheduler starts them. */
const readCommands: Readonly<Record<string, (entry: string) => readonly (readonly string[])[]>> = {
  cron: (entry) => {
    const line = entry.trim().split('\n').at(-1) ?? ''
    return [['/bin/sh', '-c', line.replace(/^(\S+ ){5}/, '').replaceAll('\\%', '%')]]
  },
  // The first unit is the daily run; the second is for one that was killed.
  systemd: (entry) =>
    [...(entry.split(/^# ~.*scripstream-failure\.service$/m)[0] ?? '').matchAll(/^ExecStart=(.*)$/gm)].map(
      ([, line = '']) => readUnitArgs(line),
    ),
  launchd: (entry) => {
    const list = /ProgramArguments<\/key>\s*<array>(.*)<\/array>/.exec(entry)?.[1] ?? ''
    return [[...list.matchAll(/<string>(.*?)<\/string>/gs)].map(([, text = '']) => unescapeXml(text))]
  },
}

/** Runs commands one after another, as long as they succeed, with no variables but these. */
const runAll = async (
  commands: readonly (readonly string[])[],
  cwd: string,
  env: Readonly<Record<string, string>>,
) => {
  const ended: Ended[] = []
  for (const command of commands) {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    ended.push(
      await endOf(spawn('env', ['-i', ...variables, ...command], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })),
    )
    if (ended.at(-1)?.code !== 0) break
  }
  return ended
}

const isUnderWay = (now: number): boolean =>
  lastWeekday(toDay(now)) === toDay(now) &&
  now >= toInstant(toDay(now), SESSION_START) &&
  now < toInstant(toDay(now), SESSION_END)

describe('a printed entry', () => {
  it.each(['cron', 'systemd', 'launchd'])(
    'for %s runs from another folder, with nothing but a short PATH, twice',
    async (name) => {
      const { simulator } = await provider({ asOf: Date.now })
      const folder = join(temporaryFolder(), "a 100% market's")
      mkdirSync(folder)
      const { urls, options } = simulator.settings
      writeFileSync(join(folder, 'scripstream.config.json'), JSON.stringify({ out: 'market', urls, options }))
      const {
        stdout: entry,
        stderr,
        code,
      } = await run(['schedule', name, '--export-to', 'market.duckdb'], { cwd: folder })
      expect([code, stderr]).toEqual([0, ''])

      const commands = readCommands[name]?.(entry) ?? []
      // On some days the simulated market has a close outside its band, which the check tells.
      const toQuiet = (command: readonly string[]) =>
        expect.objectContaining({
          code: 0,
          stdout: command.join(' ').includes('verify') ? expect.any(String) : '',
          stderr: '',
        })
      for (const attempt of ['first', 'second']) {
        simulator.control({ reset: true })
        const ended = await runAll(commands, name === 'systemd' ? folder : temporaryFolder(), {
          PATH: '/usr/bin:/bin',
        })
        expect(ended).toEqual(commands.map(toQuiet))
        const requests = Object.values(simulator.stats().endpoints).reduce(
          (total, one) => total + one.requests,
          0,
        )
        if (attempt === 'first') expect(requests).toBeGreaterThan(1)
        // A session under way changes all the time: it is fetched again. On a day without one, a run looks
        // once whether there is one.
        else if (!isUnderWay(Date.now())) expect(requests).toBeLessThanOrEqual(1)
      }
      expect(readdirSync(folder).sort()).toEqual(['market', 'market.duckdb', 'scripstream.config.json'])
    },
  )
})
