import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { UsageError } from '../../src/model/errors.js'
import { requireOptional } from '../../src/model/optional-package.js'
import { temporaryFolder } from '../support/folders.js'

const PACKAGE = 'scripstream-test-package'
let root = ''

beforeEach(() => {
  root = temporaryFolder()
  const folder = join(root, 'node_modules', PACKAGE)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'index.js'), 'module.exports = 7')
  onTestFinished(() => void vi.restoreAllMocks())
})

const startAs = (program: string | undefined): void => {
  const { argv } = process
  process.argv = [argv[0] ?? '', ...(program === undefined ? [] : [program])]
  onTestFinished(() => {
    process.argv = argv
  })
}

describe('an optional package', () => {
  it('is found in the current folder', () => {
    startAs(undefined)
    vi.spyOn(process, 'cwd').mockReturnValue(root)
    expect(requireOptional(PACKAGE, 'missing')).toBe(7)
  })

  it('is found beside the program, such as a bundle, from any folder, also from one that is gone', () => {
    startAs(join(root, 'dist/app.cjs'))
    vi.spyOn(process, 'cwd').mockImplementation(() => {
      throw Object.assign(new Error('ENOENT: no such file or directory, uv_cwd'), { code: 'ENOENT' })
    })
    expect(requireOptional(PACKAGE, 'missing')).toBe(7)
  })

  it('that is nowhere is named, with the command that installs it', () => {
    startAs('')
    const load = (): unknown => requireOptional(PACKAGE, 'no package')
    expect(load).toThrow(UsageError)
    expect(load).toThrow(`no package: npm install ${PACKAGE}`)
  })
})
