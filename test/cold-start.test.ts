import { readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { describe, expect, it } from 'vitest'
import { main } from './e2e/command.js'

const ROOT = join(import.meta.dirname, '..')

/** The modules that a file loads before its first line runs. Types load nothing; `import()` loads later. */
const loadedBy = (file: string): readonly string[] =>
  [
    ...readFileSync(join(ROOT, file), 'utf8').matchAll(
      /^(?:import|export) (?!type )(?:[^'=]* from )?'([^']+)'/gm,
    ),
  ].map(([, target = '']) => target)

/** All modules loaded before a file runs: our own files by path, packages by name. */
const allLoadedBy = (entry: string): ReadonlySet<string> => {
  const loaded = new Set<string>()
  const walk = (file: string): void => {
    for (const target of loadedBy(file)) {
      const path = target.startsWith('.')
        ? posix.join(posix.dirname(file), target).replace(/\.js$/, '.ts')
        : target
      if (loaded.has(path)) continue
      loaded.add(path)
      if (target.startsWith('.')) walk(path)
    }
  }
  walk(entry)
  return loaded
}

describe('the command', () => {
  const loaded = allLoadedBy('src/cli/main.ts')

  it('loads what every run needs before it starts', () => {
    expect([...loaded]).toEqual(
      expect.arrayContaining([
        'rxjs',
        'zod',
        'streams/all-ohlcv.ts',
        'sinks/folder.ts',
        'src/cli/run/command.ts',
      ]),
    )
  })

  it.each([
    'ndjson',
    'pino',
    'undici',
    'src/simulator/index.ts',
    'src/simulator/server.ts',
    'src/fleet/index.ts',
    'bullmq',
    'ioredis',
  ])('starts without %s, which most runs never need', (what) => {
    expect([...loaded]).not.toContain(what)
  })
})

describe('an app that imports the package', () => {
  const loaded = allLoadedBy('src/index.ts')

  it('has the collector and its streams', () => {
    expect([...loaded]).toEqual(
      expect.arrayContaining(['rxjs', 'src/collector.ts', 'streams/registry.ts', 'sinks/folder.ts']),
    )
  })

  it.each([
    'src/cli/',
    'src/simulator/',
    'src/testing.ts',
    'src/limiter/index.ts',
    'src/fleet/',
    'bullmq',
    'ioredis',
    'ndjson',
    'commander',
    'undici',
    'pino',
    'hyparquet',
    'hyparquet-writer',
    'src/storage/history/record-day.ts',
  ])('does not load %s by that', (what) =>
    expect([...loaded].filter((file) => file.startsWith(what))).toEqual([]),
  )
})

describe('an app that imports the operators alone', () => {
  const loaded = [...allLoadedBy('src/limiter/index.ts')]

  it('loads RxJS, and no other package and no module of Node', () =>
    expect(loaded.filter((target) => !target.endsWith('.ts'))).toEqual(['rxjs']))

  it('loads none of the engine, of the streams or of the schemas', () =>
    expect(loaded.filter((file) => !/^(?:rxjs$|src\/(?:model|operators|limiter)\/)/.test(file))).toEqual([]))
})

describe('the command as it is built', () => {
  const importsOf = (file: string): readonly string[] =>
    [...readFileSync(file, 'utf8').matchAll(/^import (?:.* from )?"([^"]+)";$/gm)].map(
      ([, target = '']) => target,
    )
  // The entry checks the version of Node and then loads this file.
  const files: string[] = [join(dirname(main), 'main.js')]
  for (const file of files) {
    const beside = importsOf(file).filter((target) => target.startsWith('./'))
    files.push(
      ...beside.map((target) => join(dirname(file), target)).filter((target) => !files.includes(target)),
    )
  }
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n')
  const sources = [...text.matchAll(/^\/\/ ((?:dist|node_modules)\/.+)$/gm)].map(([, source = '']) => source)

  it('is what npm start runs, and the README', () => {
    const path = relative(ROOT, main).replaceAll(sep, '/')
    for (const file of ['package.json', 'README.md'])
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(`node ${path}`)
  })

  it('is one file, plus chunks shared with commands that are loaded later; the rest comes from Node', () => {
    const loaded = files.flatMap(importsOf)
    expect(loaded).toContain('node:fs')
    expect(loaded.filter((target) => !target.startsWith('node:') && !target.startsWith('./'))).toEqual([])
    expect(files.length).toBeLessThan(5)
    expect(sources).toEqual(
      expect.arrayContaining([
        'dist/src/cli/main.js',
        'dist/streams/registry.js',
        'node_modules/string-width/index.js',
      ]),
    )
  })

  it.each([
    'node_modules/ndjson/',
    'dist/src/simulator/server',
    'dist/src/fleet/',
    'node_modules/bullmq/',
    'node_modules/ioredis/',
    'node_modules/pino/',
    'node_modules/undici/',
    'node_modules/rxjs/dist/cjs/',
  ])('holds nothing of %s', (what) => expect(sources.filter((source) => source.startsWith(what))).toEqual([]))
})
