import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../support/folders.js'

const ROOT = join(import.meta.dirname, '../..')
const PYTHON = process.env.DOORS_PYTHON ?? 'python3'
const hasPython = spawnSync(PYTHON, ['-c', 'import duckdb, pandas, polars, pyarrow']).status === 0

interface Manifest {
  readonly bin?: string | Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

const readManifest = (folder: string): Manifest => {
  const text = readFileSync(join(folder, 'package.json'), 'utf8')
  return JSON.parse(text) as Manifest
}

interface Block {
  readonly kind: string
  readonly text: string
}

const readBlocks = (guide: string): readonly Block[] => {
  const page = readFileSync(join(ROOT, 'src/guides', guide), 'utf8')
  return [...page.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, kind = '', text = '']) => ({ kind, text }))
}

const link = (target: string, path: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  rmSync(path, { force: true })
  symlinkSync(target, path)
}

/** Links a package, and its commands. */
const linkPackage = (name: string, modules: string): void => {
  const folder = join(modules, name)
  if (name !== 'scripstream') link(join(ROOT, 'node_modules', name), folder)
  const { bin = {} } = readManifest(folder)
  const commands = typeof bin === 'string' ? { [basename(name)]: bin } : bin
  for (const [command, file] of Object.entries(commands)) {
    link(join(folder, file), join(modules, '.bin', command))
  }
}

/** Unpacks scripstream, and links its dependencies and the peers that it needs, as npm does. */
const unpack = (tarball: string, modules: string): void => {
  const folder = join(modules, 'scripstream')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
  const { dependencies } = readManifest(folder)
  for (const name of ['scripstream', ...Object.keys(dependencies), 'rxjs', 'zod']) linkPackage(name, modules)
}

/** `npm install` without a network: only what the line names is there afterwards. */
const install = (names: readonly string[], folder: string): void => {
  const modules = join(folder, 'node_modules')
  for (const name of names) {
    if (name.endsWith('.tgz')) unpack(join(folder, name), modules)
    else linkPackage(name, modules)
  }
}

/** An empty folder beside the clone, with `npx` and the Python of an environment. */
const createFolder = (): string => {
  const parent = temporaryFolder()
  const folder = join(parent, 'mine')
  const writeScript = (name: string, ...lines: readonly string[]): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 })
  }
  symlinkSync(ROOT, join(parent, 'scripstream'))
  writeScript('bin/npx', 'name=$1', 'shift', `exec "${process.execPath}" "node_modules/.bin/$name" "$@"`)
  writeScript('env/bin/python', `exec ${PYTHON} "$@"`)
  // As `npm init -y` writes it.
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }')
  return folder
}

const isProgram = (line: string): boolean => line.startsWith('env/bin/python')

/** What a test cannot do: ask a registry, run Python without its packages, or zipline. */
const isLeftOut = (line: string): boolean => {
  const isRegistry = /^npm init |^zipline |-m venv |\/pip /.test(line)
  return isRegistry || (isProgram(line) && !hasPython)
}

/** Runs every line, and compares what it prints with what the page says. Returns what was left out. */
const runGuide = (guide: string, folder: string): readonly string[] => {
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`
  // `npm pack` takes the build as it is: others use it, too.
  const env = { ...process.env, PATH, npm_config_ignore_scripts: 'true' }
  const leftOut: string[] = []

  const runLine = (line: string): string | undefined => {
    if (isLeftOut(line)) {
      leftOut.push(line)
      return undefined
    }
    const [, names] = /^npm install (.+)$/.exec(line) ?? []
    if (names !== undefined) {
      install(names.split(' '), folder)
      return undefined
    }
    const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { cwd: folder, env, encoding: 'utf8' })
    expect([line, status, status === 0 ? '' : stderr]).toEqual([line, 0, ''])
    return stdout
  }

  let answer: string | undefined
  for (const { kind, text } of readBlocks(guide)) {
    const [, file] = /^(?:\/\/|#) (\w[\w.]*\.\w+)/.exec(text) ?? []
    if (kind === 'sh') for (const line of text.trim().split('\n')) answer = runLine(line)
    else if (kind === 'text' && answer !== undefined) expect(answer).toBe(text)
    else if (file !== undefined) writeFileSync(join(folder, file), text)
  }
  return leftOut
}

/** Guides that share a folder are done one after the other. */
const FOLDERS = ['excel-and-sql.md, node.md', 'python.md', 'operator.md']

it.for(FOLDERS)('every command of %s works, and answers what the page says', (guides, { skip }) => {
  const folder = createFolder()
  const leftOut = guides.split(', ').flatMap((guide) => runGuide(guide, folder))
  const programs = leftOut.filter(isProgram)
  const advice = 'set DOORS_PYTHON to a Python with duckdb, pandas, polars and pyarrow'
  skip(programs.length > 0, `not run: ${programs.join(', ')}; ${advice}`)
})
