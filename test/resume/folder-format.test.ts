import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { runProgram } from '../../src/cli/program.js'
import { UsageError } from '../../src/model/errors.js'
import { FOLDER_FORMAT } from '../../src/storage/run-state.js'
import { streams } from '../../streams/registry.js'
import { createTestDependencies, createTestIo } from '../cli/support.js'
import { EVENING } from '../streams/support.js'
import { temporaryFolder } from '../support/folders.js'
import { tryRun } from './support.js'

const DAY = 86_400_000
const toFormatFile = (out: string): string => join(out, '.scripstream', 'format.json')

/** The bytes of every file. */
const readAll = (out: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(out, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => [join(parentPath, name), readFileSync(join(parentPath, name), 'latin1')]),
  )

const createNewerFolder = async (): Promise<string> => {
  const out = temporaryFolder()
  await tryRun({ out, now: EVENING - DAY })
  writeFileSync(toFormatFile(out), `{"format":${FOLDER_FORMAT + 1},"more":true}`)
  return out
}

describe('the format of a folder', () => {
  it('is recorded by a run', async () => {
    const out = temporaryFolder()
    await tryRun({ out })
    expect(JSON.parse(readFileSync(toFormatFile(out), 'utf8'))).toEqual({ format: FOLDER_FORMAT })
  })

  it('is added to a folder of a version that recorded none, whose unfinished run is resumed', async () => {
    const out = temporaryFolder()
    const first = await tryRun({ out, hangs: (request) => request.includes('DELTA') && !request.startsWith('fundamental') })
    rmSync(toFormatFile(out))
    const { report, requests } = await tryRun({ out })
    expect(report?.outcome).toBe('complete')
    expect(requests.length).toBeLessThan(first.requests.length)
    expect(JSON.parse(readFileSync(toFormatFile(out), 'utf8'))).toEqual({ format: FOLDER_FORMAT })
  })
})

describe('a folder of a newer version', () => {
  it('is refused by a run, which changes nothing and names the way out', async () => {
    const out = await createNewerFolder()
    const before = readAll(out)
    await expect(tryRun({ out })).rejects.toThrow(UsageError)
    await expect(tryRun({ out })).rejects.toThrow(
      `${out} was written by a newer version of scripstream (its format is ${FOLDER_FORMAT + 1}, this version reads ${FOLDER_FORMAT}); update scripstream, or use another folder`,
    )
    expect(readAll(out)).toEqual(before)
  })

  it.each([
    [['plan']],
    [['log']],
    [['brief']],
    [['drift']],
    [['drift', 'accept']],
    [['history']],
    [['history', 'prune', '--before', '2026-01-01']],
    [['query', 'select 1']],
    [['verify']],
    [['diff']],
    [['show', 'ALPHA']],
    [['export', '--to', '/nowhere/screener.csv']],
  ])('is refused by %j', async (args) => {
    const out = await createNewerFolder()
    const before = readAll(out)
    const io = createTestIo({ env: {} })
    const dependencies = createTestDependencies(undefined, { streams, storage: (settings) => folder(settings.out) })
    expect(await runProgram([...args, '--out', out], io, dependencies)).toBe(2)
    expect(io.err.text().replaceAll(/\s+/g, ' ')).toContain('written by a newer version of scripstream')
    expect(readAll(out)).toEqual(before)
  })
})
