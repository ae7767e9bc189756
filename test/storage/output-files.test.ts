import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createOutputMatcher, listOutputFiles } from '../../src/storage/output-files.js'
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
    for (const file of ['news/A.json', 'news/.A.json', 'news/A.csv', 'a.json']) writeFileSync(join(root, file), '')
    expect(await listOutputFiles(root, 'news/*.json')).toEqual(['news/A.json'])
    expect(await listOutputFiles(root, '*.json')).toEqual(['a.json'])
    expect(await listOutputFiles(root, 'gone/*.json')).toEqual([])
    expect(await listOutputFiles(root, 'a.json/*.json')).toEqual([])
    expect(await listOutputFiles(root, 'gone.json')).toEqual(['gone.json'])
  })
})
