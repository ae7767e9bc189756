import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EMPTY, lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import type { Output } from '../../src/engine/define-stream.js'
import { StorageError } from '../../src/model/errors.js'
import { writeFileAtomically } from '../../src/storage/file-system.js'
import { filesIn, temporaryFolder } from '../support/folders.js'
import { contextOf, inFolder, NOW, outcomeOf, sink } from './support.js'

function* failingAfter(text: string): Generator<string> {
  yield text
  throw new Error('the source broke')
}

describe('writing a file', () => {
  it('creates folders, sets the modification time and emits the size', async () => {
    const path = join(temporaryFolder(), 'a', 'b', 'c.txt')
    expect(await writeFileAtomically(path, ['₹', '1\n'], { asOf: NOW })).toBe(5)
    expect(readFileSync(path, 'utf8')).toBe('₹1\n')
    expect(statSync(path).mtimeMs).toBe(NOW)
  })

  it('writes chunks of any size unchanged', async () => {
    const path = join(temporaryFolder(), 'big.txt')
    const parts = ['a'.repeat(700_000), '₹'.repeat(900_000), '', 'end']
    expect(await writeFileAtomically(path, parts, { asOf: NOW })).toBe(700_000 + 2_700_000 + 3)
    expect(readFileSync(path, 'utf8')).toBe(parts.join(''))
  })

  it('writes texts and bytes in order, and does not touch a file with the same content', async () => {
    const path = join(temporaryFolder(), 'mixed.txt')
    for (const size of [1, 600_000, 2_000_000]) {
      const parts = [
        '₹',
        Buffer.from('b'.repeat(size)),
        'c',
        '',
        'd'.repeat(size),
        Buffer.alloc(0),
        Buffer.from('€'),
        Buffer.from('f'),
      ]
      expect(await writeFileAtomically(path, parts, { asOf: NOW })).toBe(2 * size + 8)
      expect(readFileSync(path, 'utf8')).toBe(parts.join(''))
      await writeFileAtomically(path, parts, { asOf: NOW + 60_000 })
      expect(statSync(path).mtimeMs).toBe(NOW)
    }
  })

  it('leaves the old file and no temporary file after a failure', async () => {
    const root = temporaryFolder()
    const path = join(root, 'a.txt')
    writeFileSync(path, 'old')
    await expect(writeFileAtomically(path, failingAfter('x'.repeat(3 << 20)), { asOf: NOW })).rejects.toThrow(
      'the source broke',
    )
    expect(filesIn(root)).toEqual({ 'a.txt': 'old' })
  })

  it('leaves no temporary file if a folder has the name of the file', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'a.txt'))
    await expect(writeFileAtomically(join(root, 'a.txt'), ['x'], { asOf: NOW })).rejects.toThrow()
    expect(readdirSync(root)).toEqual(['a.txt'])
  })

  it('writes two files with the same first hundred characters concurrently', async () => {
    const root = temporaryFolder()
    const names = Array.from({ length: 8 }, (_, place) => `${'N'.repeat(100)}~${place}.csv`)
    await Promise.all(
      names.map((name, place) =>
        writeFileAtomically(join(root, name), [String(place).repeat(1_000 * (place + 1))], { asOf: NOW }),
      ),
    )
    expect(filesIn(root)).toEqual(
      Object.fromEntries(names.map((name, place) => [name, String(place).repeat(1_000 * (place + 1))])),
    )
  })

  it('leaves one whole file after two concurrent writes', async () => {
    const root = temporaryFolder()
    const texts = ['a'.repeat(2 << 20), 'b'.repeat(1 << 20)]
    await Promise.all(texts.map((text) => writeFileAtomically(join(root, 'a.txt'), [text], { asOf: NOW })))
    expect(texts).toContain(filesIn(root)['a.txt'])
    expect(readdirSync(root)).toEqual(['a.txt'])
  })
})

describe('a folder', () => {
  const output: Output = { shape: 'text', file: '{SYMBOL}.csv' }
  const named = (fileName: string) => ({
    ...outcomeOf(0, ['x']),
    item: { ...outcomeOf(0, []).item, fileName },
  })

  it('is created with the first file, not earlier', async () => {
    const root = join(temporaryFolder(), 'later')
    const storage = folder(root)
    expect(await lastValueFrom(storage.stored.exists('a.csv'))).toBe(false)
    expect(await lastValueFrom(storage.stored.tail('a.csv'))).toBeUndefined()
    expect(await lastValueFrom(storage.stored.document('a.json'))).toBeUndefined()
    expect(() => statSync(root)).toThrow()
    await lastValueFrom(storage.storeDocument('report.json', { a: 1 }))
    expect(filesIn(root)).toEqual({ '.scripstream/report.json': '{\n  "a": 1\n}\n' })
  })

  it.each(['../x', '..', '../../etc/x', '/etc/x', 'a/../../x'])(
    'rejects a path outside the folder: %s',
    async (fileName) => {
      const parent = temporaryFolder()
      const place = inFolder(join(parent, 'out'))
      const file = { ...output, file: '{SYMBOL}' }
      await expect(sink(place, file, [named(fileName)])).rejects.toThrow(StorageError)
      expect(readdirSync(parent)).toEqual([])
    },
  )

  it('names the file and the folder that has its name', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'ohlcv'), 'a file')
    const error: unknown = await sink(inFolder(root), { ...output, file: 'ohlcv/{SYMBOL}.csv' }, [
      outcomeOf(0, ['x']),
    ]).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(StorageError)
    expect(String(error)).toContain(join(root, 'ohlcv', 'S0.csv'))
  })

  it('fails only for the damaged document', async () => {
    const root = temporaryFolder()
    writeFileSync(join(root, 'a.json'), '{"a":')
    await expect(lastValueFrom(folder(root).stored.document('a.json'))).rejects.toMatchObject({
      name: 'DamagedFileError',
      verdict: 'give-up',
    })
  })

  it('uses the clock of the run as modification time', async () => {
    const root = temporaryFolder()
    await sink(inFolder(root), output, [outcomeOf(0, ['x'])], contextOf(0, NOW - 86_400_000))
    expect(statSync(join(root, 'S0.csv')).mtimeMs).toBe(NOW - 86_400_000)
  })
})

it('moves a file over another one, and its saved state from before the run', async () => {
  const root = temporaryFolder()
  mkdirSync(join(root, '.scripstream/previous/candles'), { recursive: true })
  mkdirSync(join(root, 'candles'))
  for (const file of ['candles/A.csv', '.scripstream/previous/candles/A.csv', 'candles/A~INE149K01016.csv'])
    writeFileSync(join(root, file), file)
  const storage = folder(root)
  for (const name of ['A', 'B', 'A'])
    await lastValueFrom(storage.move?.(`candles/${name}.csv`, `candles/${name}~INE149K01016.csv`) ?? EMPTY, {
      defaultValue: undefined,
    })
  expect(filesIn(root)).toEqual({
    '.scripstream/previous/candles/A~INE149K01016.csv': '.scripstream/previous/candles/A.csv',
    'candles/A~INE149K01016.csv': 'candles/A.csv',
  })
  expect(() => storage.move?.('../a', 'b')).not.toThrow()
  await expect(lastValueFrom(storage.move?.('../a', 'b') ?? EMPTY)).rejects.toThrow('outside')
})
