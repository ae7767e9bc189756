import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { EMPTY, lastValueFrom } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { folder } from '../../sinks/folder.js'
import { hasStamp, type WriteOptions, writeFileAtomically } from '../../src/storage/file-system.js'
import {
  compactOutputDigests,
  createDigestLog,
  createOutputMatcher,
  DAMAGED,
  digestFile,
  listOutputFiles,
  readOutputDigests,
} from '../../src/storage/output-files.js'
import { openSession } from '../sinks/support.js'
import { temporaryFolder } from '../support/folders.js'

describe('an output path with *', () => {
  it.each([
    ['news/*_news.json', 'news/A_news.json', true],
    ['news/*_news.json', 'news/.A_news.json', false],
    ['news/*_news.json', 'news/A_filings.json', false],
    ['news/*_news.json', 'news/b/A_news.json', false],
    ['news/*_news.json', 'other/A_news.json', false],
    ['*.json', 'a.json', true],
    ['*.json', 'news/a.json', false],
    ['one.json', 'one.json', true],
    ['one.json', 'other.json', false],
  ])('%s matches %s: %s', (output, file, isMatch) => {
    expect(createOutputMatcher(['x.csv', output])(file)).toBe(isMatch)
  })

  it('lists the files in its folder; none if that is missing or a file', async () => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'news'))
    for (const file of ['news/A.json', 'news/.A.json', 'news/A.csv', 'a.json'])
      writeFileSync(join(root, file), '')
    expect(await listOutputFiles(root, 'news/*.json')).toEqual(['news/A.json'])
    expect(await listOutputFiles(root, '*.json')).toEqual(['a.json'])
    expect(await listOutputFiles(root, 'gone/*.json')).toEqual([])
    expect(await listOutputFiles(root, 'a.json/*.json')).toEqual([])
    expect(await listOutputFiles(root, 'gone.json')).toEqual(['gone.json'])
  })
})

const SIZES = [0, 1, 1_048_575, 1_048_576, 2_500_000]

const createFolder = () => {
  const root = temporaryFolder()
  mkdirSync(join(root, '.scripstream'))
  const log = createDigestLog(root)
  const write = (file: string, text: string, options: WriteOptions = {}): Promise<number> =>
    writeFileAtomically(join(root, file), [text], { ...options, watcher: log.watch(file) })
  const stored = async () => Object.fromEntries(await readOutputDigests(root))
  return { root, log, write, stored, path: join(root, '.scripstream/output-digests') }
}

it.each(SIZES)('records the digest, size and time of a file of %d bytes, new or unchanged', async (size) => {
  const { root, log, write, stored, path } = createFolder()
  await log.open()
  await write('a b.json', 'x'.repeat(size), { asOf: 1_234_567 })
  const expected = { 'a b.json': digestFile(join(root, 'a b.json')) }
  expect(expected['a b.json'].stamp).toEqual([size, 1_234_567])
  expect(await stored()).toEqual(expected)
  writeFileSync(path, '')
  await write('a b.json', 'x'.repeat(size), { asOf: 9_999_999 })
  expect(await stored()).toEqual(expected)
  log.close()
})

it('uses the digest of the content before if a kill or a failure prevented the rename', async () => {
  const { root, log, write, stored } = createFolder()
  await log.open()
  await write('a.json', 'old', { asOf: 1_000 })
  const before = await stored()
  log.watch('a.json')?.end([3, 2_000])
  expect(await stored()).toEqual(before)
  log.close()
  await compactOutputDigests(root)
  expect(await stored()).toEqual(before)
})

it('uses the last digest of a file that was written twice at the same time and size', async () => {
  const { root, log, write, stored } = createFolder()
  await log.open()
  await write('a.json', 'old', { asOf: 1_000 })
  await write('a.json', 'new', { asOf: 1_000 })
  log.close()
  expect(await stored()).toEqual({ 'a.json': digestFile(join(root, 'a.json')) })
})

it('records as damaged what continues a file with another content, but the same size and time', async () => {
  const { root, log, write, stored } = createFolder()
  const digestAfter = async (base: string): Promise<string | undefined> => {
    await writeFileAtomically(join(root, 'a.csv'), ['more'], {
      asOf: 2_000,
      watcher: log.watch('a.csv', Buffer.from(base)),
    })
    return (await stored())['a.csv']?.digest
  }
  await log.open()
  await write('a.csv', 'base', { asOf: 1_000 })
  const intact = digestFile(join(root, 'a.csv'))
  expect(await digestAfter('base')).toBe(digestFile(join(root, 'a.csv')).digest)
  expect(await digestAfter('mode')).toBe(DAMAGED)
  expect(await digestAfter('more')).toBe(DAMAGED)
  log.close()
  await log.open()
  expect(await digestAfter('more')).toBe(DAMAGED)
  // Somebody else wrote it: it is the new content.
  utimesSync(join(root, 'a.csv'), 3, 3)
  expect(await digestAfter('more')).not.toBe(DAMAGED)
  await write('a.csv', 'base', { asOf: 1_000 })
  expect((await stored())['a.csv']).toEqual(intact)
  log.close()
})

it('finds the digest of a file whose time was restored without the fraction of the second', async () => {
  const { root, log, write, stored } = createFolder()
  await log.open()
  await write('a.json', 'old', { asOf: 7_456 })
  // A kill before the rename leaves the digest of a content that was never there.
  log.watch('a.json')?.end([3, 9_123])
  log.close()
  const { digest } = digestFile(join(root, 'a.json'))
  utimesSync(join(root, 'a.json'), 7, 7)
  expect((await stored())['a.json']?.digest).toBe(digest)
  expect([7_000, 7_456, 7_400, 8_000].map((at) => hasStamp([3, at], [3, 7_456]))).toEqual([
    true,
    true,
    false,
    false,
  ])
})

it('ignores a line that a kill has cut, and does not spoil the next one', async () => {
  const { root, log, write, stored, path } = createFolder()
  await log.open()
  await write('a.json', 'a')
  log.close()
  const [line = ''] = readFileSync(path, 'utf8').trim().split('\n')
  appendFileSync(path, line.replace('a.json', 'b.js'))
  expect(Object.keys(await stored())).toEqual(['a.json'])
  await log.open()
  await write('c.json', 'c')
  log.close()
  await compactOutputDigests(root)
  expect(Object.keys(await stored())).toEqual(['a.json', 'c.json'])
})

it('leaves one line for each output, also for one that is gone, until a whole run does without it', async () => {
  const { root, log, write, stored, path } = createFolder()
  await log.open()
  for (const file of ['a.json', 'b.json', 'news/c.json', 'a.json']) await write(file, `${Math.random()}`)
  log.close()
  await compactOutputDigests(root)
  for (const file of ['b.json', 'news/c.json']) rmSync(join(root, file))
  await compactOutputDigests(root)
  expect(readFileSync(path, 'utf8').split('\n').filter(Boolean)).toEqual(
    ['a', 'b', 'news/c'].map((name) =>
      expect.stringMatching(new RegExp(`^[\\da-f]{8} \\d+ \\S+ ${name}\\.json$`)),
    ),
  )
  await compactOutputDigests(root, ['a.json', 'news/*.json'])
  expect(Object.keys(await stored())).toEqual(['a.json', 'b.json'])
})

it('keeps no digest of a new file whose rename a kill or a failure prevented', async () => {
  const { root, log, write, stored } = createFolder()
  await log.open()
  await write('a.json', 'old')
  log.watch('new.json')?.end([3, 2_000])
  log.close()
  // Until the end of the run, it may also be one that somebody has deleted.
  expect(Object.keys(await stored())).toEqual(['a.json', 'new.json'])
  await compactOutputDigests(root)
  rmSync(join(root, 'a.json'))
  await log.open()
  log.watch('a.json')?.end([3, 2_000])
  log.close()
  await compactOutputDigests(root)
  expect(Object.keys(await stored())).toEqual(['a.json'])
})

it('records nothing outside a run, and no files about runs', async () => {
  const { log, write, stored, path } = createFolder()
  await write('a.json', 'a')
  await log.open()
  await write('.scripstream/report.json', '{}')
  log.close()
  await write('b.json', 'b')
  expect(await stored()).toEqual({})
  expect(statSync(path).size).toBe(1)
})

it.runIf(existsSync('/proc/self/fd'))(
  'does not stay open if the run is broken off while it begins',
  async () => {
    const root = temporaryFolder()
    const { session, release } = await openSession(folder(root))
    const committing = lastValueFrom(session.commit?.() ?? EMPTY)
    release()
    await committing
    const opened = readdirSync('/proc/self/fd').map((fd) => {
      const path = join('/proc/self/fd', fd)
      return existsSync(path) ? readlinkSync(path) : ''
    })
    expect(opened.filter((path) => path.startsWith(root))).toEqual([])
  },
)
