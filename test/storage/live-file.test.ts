import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isRow } from '../../src/model/row.js'
import { createLiveFile, createLiveFileReader } from '../../src/storage/run-state.js'
import { temporaryFolder } from '../support/folders.js'

const parse = (state: unknown) => (isRow(state) ? state : undefined)

const setUp = () => {
  const root = temporaryFolder()
  const folder = join(root, '.scripstream')
  mkdirSync(folder)
  return { root, folder, path: join(folder, 'live.json'), file: createLiveFile<{ done: number }>(root) }
}

describe('the live file of a run', () => {
  it('shows other processes the newest state, until the run ends', () => {
    const { root, folder, file } = setUp()
    const read = createLiveFileReader(root, parse)
    expect(read()).toBeUndefined()
    file.write({ done: 1 })
    expect(createLiveFileReader(root, parse)()).toEqual({ done: 1 })
    file.write({ done: 2 })
    expect(createLiveFileReader(root, parse)()).toEqual({ done: 2 })
    file.remove()
    expect(createLiveFileReader(root, parse)()).toBeUndefined()
    expect(existsSync(join(folder, 'live.json.next'))).toBe(false)
  })

  it('is read again only when it has changed', () => {
    const { root, path, file } = setUp()
    file.write({ done: 1 })
    const read = createLiveFileReader(root, parse)
    const state = read()
    expect(read()).toBe(state)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"done":1', '"done":7'))
    const { atime, mtimeMs } = statSync(path)
    utimesSync(path, atime, (mtimeMs + 5_000) / 1_000)
    expect(read()).toEqual({ done: 7 })
  })

  it('does not count once its process has ended', () => {
    const { root, path, file } = setUp()
    file.write({ done: 1 })
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.replace(`"pid":${process.pid}`, `"pid":${2 ** 30}`))
    expect(createLiveFileReader(root, parse)()).toBeUndefined()
  })

  it('of another machine counts for a minute after its last change', () => {
    const { root, path } = setUp()
    writeFileSync(
      path,
      JSON.stringify({ holder: { pid: 1, host: 'other', token: 'live', boot: 'x' }, state: { done: 1 } }),
    )
    const at = statSync(path).mtimeMs
    expect(createLiveFileReader(root, parse, () => at + 59_000)()).toEqual({ done: 1 })
    expect(createLiveFileReader(root, parse, () => at + 61_000)()).toBeUndefined()
  })

  it.each(['', '{"holder":', '[]', '{"holder":{"pid":1}}', '{"state":1}'])(
    'that is damaged (%s) counts as none',
    (text) => {
      const { root, path } = setUp()
      writeFileSync(path, text)
      expect(createLiveFileReader(root, parse)()).toBeUndefined()
    },
  )

  it('creates no folder', () => {
    const root = join(temporaryFolder(), 'none')
    const file = createLiveFile(root)
    file.write({})
    file.remove()
    expect(existsSync(root)).toBe(false)
  })
})
