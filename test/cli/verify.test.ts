import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runProgram } from '../../src/cli/program.js'
import { Settings } from '../../src/model/settings.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from './support.js'

/** A folder with one stock, whose one candle is there twice. */
const out = mkdtempSync(join(tmpdir(), 'scripstream-'))
const CANDLE = '1093372200,1,2,0.5,1.5,10\n'
mkdirSync(join(out, 'ohlcv_data'))
writeFileSync(join(out, 'master_isin_map.json'), '[{"Symbol":"INFY","ISIN":"INE009A01021","Name":"Infosys","Sid":"1594","FnoFlag":1}]')
writeFileSync(join(out, 'ohlcv_data/INFY.csv'), `Timestamp,Open,High,Low,Close,Volume\n${CANDLE}${CANDLE}`)
afterAll(() => rmSync(out, { recursive: true }))

const verified = async (limits: Readonly<Record<string, number>>, ...args: readonly string[]) => {
  const io = createTestIo()
  const loadSettings = () => Settings.parse({ out, verify: limits })
  const code = await runProgram(['verify', ...args], io, createTestDependencies(undefined, { streams, loadSettings }))
  return { code, text: io.out.text(), err: io.err.text() }
}

describe('the exit code of verify', () => {
  it.each([
    ['no limit is set, and there is an error', {}, 4],
    ['errors are allowed', { errors: 1 }, 0],
    ['errors are allowed, but none of this check', { errors: 1, 'duplicate-candles': 0 }, 4],
    ['other checks are limited', { errors: 1, 'large-moves': 0, warnings: 0 }, 0],
  ])('shows that %s', async (_, limits, code) => {
    const result = await verified(limits, '--only', 'duplicate-candles', '--json')
    expect([result.code, result.err]).toEqual([code, ''])
    const { findings, passed } = JSON.parse(result.text)
    expect([findings.length, passed.length]).toEqual([1, code === 0 ? 0 : 1])
  })

  it('is 0 for a check that finds nothing', async () => {
    expect((await verified({}, '--only', 'unordered-candles')).code).toBe(0)
  })
})
