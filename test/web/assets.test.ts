import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { PAGE_FOLDER } from '../support/page-server.js'

const files = readdirSync(PAGE_FOLDER, { recursive: true, encoding: 'utf8' })
const scripts = files.filter((name) => name.endsWith('.js'))
const sizeOf = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + statSync(join(PAGE_FOLDER, name)).size, 0)

describe('the built page', () => {
  it('has less than 300 kB of script, and loads the charts only with a chart, the writer of CSV only for a file', () => {
    const csv = scripts.filter((name) =>
      readFileSync(join(PAGE_FOLDER, name), 'utf8').includes('quoted_empty'),
    )
    expect(csv).toEqual([expect.stringMatching(/^chunks/)])
    expect(sizeOf(csv)).toBeLessThan(33_000)
    expect(sizeOf(scripts) - sizeOf(csv)).toBeLessThan(300_000)
    expect(sizeOf(scripts.filter((name) => !name.startsWith('chunks')))).toBeLessThan(100_000)
    expect(readFileSync(join(PAGE_FOLDER, 'page.js'), 'utf8')).not.toContain('createChart=')
  })

  it('loads nothing from elsewhere and has no inline script', () => {
    const html = readFileSync(join(PAGE_FOLDER, 'index.html'), 'utf8')
    expect([...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, target]) => target)).toEqual([
      '/icon.svg',
      '/page.css',
      '/theme.js',
      '/page.js',
    ])
    expect(html).not.toMatch(/<script(?![^>]*src=)|style=|\son\w+=/)
    expect(readFileSync(join(PAGE_FOLDER, 'page.css'), 'utf8')).not.toMatch(/url\(|@import/)
  })
})
