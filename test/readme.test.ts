import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { streams } from '../streams/registry.js'
import { blocks, listBlocks, withBlocks } from './support/readme.js'

const ROOT = new URL('../', import.meta.url)
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'src/storage/UPGRADING.md',
  'src/cli/README.md',
  'src/analysis/README.md',
  'src/analysis/tables/README.md',
  'src/pipeline/README.md',
  'src/fleet/README.md',
  'src/limiter/README.md',
  'src/market/README.md',
  'src/operators/README.md',
  'src/storage/README.md',
  'src/telemetry/README.md',
  'src/web/README.md',
  'streams/README.md',
  'test/bench/README.md',
  'test/simulation/README.md',
]
const read = (page: string): string => readFileSync(new URL(page, ROOT), 'utf8')
const all = blocks()

/** After a change, `UPDATE_README=1 npx vitest run test/readme.test.ts` writes the blocks again. */
it.each(pages)('%s shows graph, outputs, settings, example and figures as the code has them', (page) => {
  const expected = withBlocks(read(page), all)
  if (process.env.UPDATE_README) writeFileSync(new URL(page, ROOT), expected)
  else expect(read(page)).toBe(expected)
})

it('shows each generated block on exactly one page', () => {
  expect(pages.flatMap((page) => listBlocks(read(page))).sort()).toEqual(Object.keys(all).sort())
})

it.each(pages)('%s links to files that exist', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link)
  expect(links.filter((link) => !existsSync(new URL(link, new URL(page, ROOT))))).toEqual([])
})

it('checks the page of every folder', () => {
  const found = ['src', 'streams', 'sinks', 'test'].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
  expect(found.filter((file) => /(README|UPGRADING)\.md$/.test(file)).sort()).toEqual(pages.filter((page) => page.includes('/')).sort())
})

it.each(pages.filter((page) => page.includes('/')))('%s names source files that exist', (page) => {
  const names = [...read(page).matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => name)
  const links = [...read(page).matchAll(/\]\(([^)#]+\.ts)\)/g)].map(([, link = '']) => link.split('/').at(-1))
  const isFound = (name: string): boolean =>
    links.includes(name) || [ROOT, new URL(page, ROOT), new URL('streams/', ROOT)].some((base) => existsSync(new URL(name, base)))
  expect(names.filter((name) => !isFound(name))).toEqual([])
})

it('names the stream and the workers of each Python script', () => {
  const rows = [...read('streams/README.md').matchAll(/\[`(\S+)`\]\(\1\.ts\) \| .+, (\d+) \|$/gm)]
  expect(rows).toHaveLength(16)
  for (const [, name, workers] of rows) expect(streams.find((stream) => stream.name === name)?.workers).toBe(Number(workers))
})

it('keeps the README within 200 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(201)
})
