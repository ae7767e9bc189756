import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'
import { ROOT, run } from './packed.js'

const { scripts, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
  readonly version: string
}
/** The version after the present one. */
const next = version.replace(/\d+$/, (patch) => String(Number(patch) + 1))

describe('npm version', () => {
  /** A repository with the parts of this one that a release changes. */
  const createRepository = (changelog: string): string => {
    const root = temporaryFolder()
    mkdirSync(join(root, '.ci'))
    for (const file of ['package.json', 'package-lock.json', '.ci/changelog.js'])
      copyFileSync(join(ROOT, file), join(root, file))
    writeFileSync(join(root, 'CHANGELOG.md'), changelog)
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], { cwd: root })
    git('init', '--quiet')
    git('add', '.')
    git('commit', '--quiet', '--message', 'all')
    return root
  }
  const release = (root: string) =>
    execFileSync('npm', ['version', 'patch', '--no-git-tag-version'], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    })

  it('moves what is unreleased in the changelog under the new version, and stages it', () => {
    const before =
      '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- new\n\n## [0.0.1] - 2026-01-01\n\n- first\n'
    const root = createRepository(before)
    release(root)
    expect(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))).toMatchObject({ version: next })
    const after = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    const heading = /^## \[(.+)\] - \d{4}-\d\d-\d\d$/m.exec(after)
    expect(heading?.[1]).toBe(next)
    expect(after).toBe(before.replace('## [Unreleased]\n', `## [Unreleased]\n\n${heading?.[0]}\n`))
    expect(
      execFileSync('git', ['diff', '--cached', '--name-only'], { cwd: root, encoding: 'utf8' }),
    ).toContain('CHANGELOG.md')
  })

  it.each([
    ['# Changelog\n\n## [Unreleased]\n\n## [0.0.1] - 2026-01-01\n\n- first\n', 'names no change'],
    [
      `# Changelog\n\n## [Unreleased]\n\n- new\n\n## [${next}] - 2026-01-01\n\n- first\n`,
      `already has ${next}`,
    ],
    ['# Changelog\n', 'has no line'],
  ])('fails and leaves the changelog as it is: %j', (changelog, why) => {
    const root = createRepository(changelog)
    expect(() => release(root)).toThrow(why)
    expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toBe(changelog)
  })
})

describe('the check of licences', () => {
  const check = (license: string) => {
    const root = temporaryFolder()
    mkdirSync(join(root, 'dist/bundle/cli'), { recursive: true })
    const packages = {
      '': {},
      'node_modules/one': { version: '1.0.0', license: 'MIT' },
      'node_modules/tool': { version: '1.0.0', license: 'GPL-3.0', dev: true },
    }
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ packages }))
    writeFileSync(
      join(root, 'dist/bundle/cli/LICENSES.txt'),
      `two 2.0.0 (ISC)\n\ntext\n\n${'-'.repeat(80)}\n\n@a/three 3.0.0 (${license})\n\ntext\n`,
    )
    return run([join(ROOT, '.ci/licences.js')], root)
  }

  it('lists what is installed and what is bundled, without the tools', () => {
    const output =
      '@a/three 3.0.0 (MIT)\none 1.0.0 (MIT)\ntwo 2.0.0 (ISC)\n1 installed, 2 bundled: all licences are allowed\n'
    expect(check('MIT')).toEqual({ status: 0, output })
  })

  it('fails and names the package of a licence that is not allowed', () => {
    const { status, output } = check('AGPL-3.0')
    expect(status).toBe(1)
    expect(output).toContain('these licences are not allowed: @a/three 3.0.0 (AGPL-3.0)')
  })

  it('passes for this package', () =>
    expect(run([join(ROOT, '.ci/licences.js')], ROOT)).toMatchObject({ status: 0 }))
})

describe('the workflows', () => {
  const folder = join(ROOT, '.github/workflows')
  it.each(readdirSync(folder))('%s names scripts that exist', (file) => {
    const named = [
      ...readFileSync(join(folder, file), 'utf8').matchAll(/npm run (?:--silent )?([\w:]+)/g),
    ].map(([, name = '']) => name)
    expect(named.length).toBeGreaterThan(1)
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })
})
