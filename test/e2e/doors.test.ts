import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'
import { main } from './command.js'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGES = ['rxjs', 'zod', '@duckdb', 'write-excel-file', 'prom-client']
const PYTHON = process.env.DOORS_PYTHON ?? 'python3'
const hasPython = spawnSync(PYTHON, ['-c', 'import duckdb, pandas, polars, pyarrow']).status === 0

interface Block {
  readonly kind: string
  readonly text: string
}

const readBlocks = (guide: string): readonly Block[] =>
  [...readFileSync(join(ROOT, 'src/guides', guide), 'utf8').matchAll(/```(\w+)\n(.*?)```/gs)].map(([, kind = '', text = '']) => ({
    kind,
    text,
  }))

/** What needs a network: the folder has links in its place. */
const isInstallation = (line: string): boolean => /^npm |-m venv |\/pip /.test(line) || (line.startsWith('env/bin/python') && !hasPython)

/** An empty folder in which the packages of a guide are installed, and the command is what `npx` starts. */
const createFolder = () => {
  const folder = temporaryFolder()
  for (const path of ['node_modules', 'bin', 'env/bin']) mkdirSync(join(folder, path), { recursive: true })
  symlinkSync(ROOT, join(folder, 'node_modules/scripstream'))
  for (const name of PACKAGES) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'bin/npx'), `#!/bin/sh\nshift\nexec "${process.execPath}" "${main}" "$@"\n`, { mode: 0o755 })
  writeFileSync(join(folder, 'env/bin/python'), `#!/bin/sh\nexec ${PYTHON} "$@"\n`, { mode: 0o755 })
  return folder
}

it.each(['excel-and-sql.md', 'python.md', 'node.md', 'operator.md'])(
  'every command of %s works, and answers what the page says',
  (guide) => {
    const folder = createFolder()
    const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
    let [answer, isKnown] = ['', false]
    for (const { kind, text } of readBlocks(guide)) {
      const [, file] = /^(?:\/\/|#) (\w[\w.]*\.\w+)/.exec(text) ?? []
      if (kind === 'text' && isKnown) expect(answer).toBe(text)
      else if (kind !== 'sh' && file !== undefined) writeFileSync(join(folder, file), text)
      else if (kind === 'sh')
        for (const line of text.trim().split('\n')) {
          isKnown = !isInstallation(line)
          if (!isKnown) continue
          const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { cwd: folder, env, encoding: 'utf8' })
          expect([line, status, status === 0 ? '' : stderr]).toEqual([line, 0, ''])
          answer = stdout
        }
    }
  },
)
