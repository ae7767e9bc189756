import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
// Our compiler has no API yet; an older one, a dependency of the type checker of the package, has.
import type ts from '../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'

const require = createRequire(import.meta.url)
const typescript = createRequire(require.resolve('@arethetypeswrong/core'))('typescript') as typeof ts

/** Texts of source files by path, relative to the project. */
type Sources = Readonly<Record<string, string>>

const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 60
const MAX_COMMENT_COLUMNS = 110
const MAX_IMPORTS = 15
/** Growth is paid for by deletion: these only go down. Tokens, so that packed lines save nothing. */
const MAX_SIZE = { tokens: 507_950, sharedNames: 40 }

const ENGINE_AND_BELOW = ['model', 'operators', 'limiter', 'http', 'market', 'engine'] as const
const REGISTRY_AND_BELOW = [...ENGINE_AND_BELOW, 'storage', 'sinks', 'streams'] as const

/** What each layer may import besides itself. A file directly in `src` is a layer by its name. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  operators: ['model'],
  limiter: ['model', 'operators'],
  http: ['model', 'operators', 'limiter'],
  market: ['model', 'operators', 'http'],
  simulator: ['model', 'src/http/endpoint.ts'],
  engine: ['model', 'operators', 'limiter', 'http', 'market'],
  storage: ENGINE_AND_BELOW,
  sinks: [...ENGINE_AND_BELOW, 'storage'],
  streams: ENGINE_AND_BELOW,
  define: ENGINE_AND_BELOW,
  errors: ['model', 'market'],
  telemetry: ['model', 'engine'],
  tables: ['model', 'market', 'engine', 'storage', 'sinks'],
  verify: ['model', 'market', 'engine', 'storage', 'sinks', 'tables'],
  'folder-analysis': [...REGISTRY_AND_BELOW, 'tables', 'verify'],
  fleet: REGISTRY_AND_BELOW,
  collector: [...REGISTRY_AND_BELOW, 'tables'],
  config: [...REGISTRY_AND_BELOW, 'tables', 'verify'],
  testing: [...REGISTRY_AND_BELOW, 'collector', 'simulation'],
  simulation: [...REGISTRY_AND_BELOW, 'tables', 'verify', 'simulator', 'collector'],
  index: [...REGISTRY_AND_BELOW, 'tables', 'telemetry', 'collector', 'config'],
  // Examples import the package by its name only.
  examples: [],
  show: [...REGISTRY_AND_BELOW, 'tables', 'verify'],
  web: [...REGISTRY_AND_BELOW, 'tables', 'verify', 'show'],
  cli: [
    ...REGISTRY_AND_BELOW,
    'tables',
    'verify',
    'telemetry',
    'simulator',
    'fleet',
    'collector',
    'config',
    'index',
    'show',
    'web',
  ],
}

const layerOf = (file: string): string => {
  const [top = '', next = ''] = file.split('/')
  return top === 'src' ? next.replace(/\.ts$/, '') : top
}

const importsOf = (text: string): readonly string[] =>
  [...text.matchAll(/(?:^|[\s;}])(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].map(([, target = '']) => target)

/** The project's own files that a file imports. */
const neighboursOf = (file: string, sources: Sources): readonly string[] =>
  importsOf(sources[file] ?? '')
    .filter((target) => target.startsWith('.'))
    .map((target) => posix.join(dirname(file), target).replace(/\.js$/, '.ts'))

const wrongImports = (sources: Sources): readonly string[] =>
  Object.keys(sources).flatMap((file) => {
    const allowed = MAY_IMPORT[layerOf(file)]
    if (allowed === undefined) return [`${file} is in no layer`]
    return neighboursOf(file, sources)
      .filter(
        (target) => ![layerOf(file), ...allowed].some((name) => name === layerOf(target) || name === target),
      )
      .map((target) => `${file} imports ${target}`)
  })

const brokenImports = (sources: Sources): readonly string[] =>
  Object.keys(sources).flatMap((file) =>
    neighboursOf(file, sources)
      .filter((target) => !(target in sources))
      .map((target) => `${file} imports ${target}`),
  )

const circles = (sources: Sources): readonly string[] => {
  const done = new Set<string>()
  const found: string[] = []
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(' > '))
    if (path.includes(file) || done.has(file)) return
    for (const next of neighboursOf(file, sources)) walk(next, [...path, file])
    done.add(file)
  }
  for (const file of Object.keys(sources)) walk(file, [])
  return found
}

const linesOf = (text: string): number => text.replace(/\n$/, '').split('\n').length

const longFiles = (sources: Sources): readonly string[] =>
  Object.keys(sources).filter((file) => linesOf(sources[file] ?? '') > MAX_FILE_LINES)

/** The functions over the limit, by file and first line. */
const longFunctions = (sources: Sources): readonly string[] =>
  Object.entries(sources).flatMap(([file, text]) => {
    const source = typescript.createSourceFile(file, text, typescript.ScriptTarget.ES2022)
    const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1
    const found: string[] = []
    const visit = (node: ts.Node): void => {
      if (typescript.isFunctionLike(node)) {
        const [first, last] = [lineAt(node.getStart(source)), lineAt(node.getEnd())]
        if (last - first + 1 > MAX_FUNCTION_LINES) found.push(`${file}:${first}`)
      }
      typescript.forEachChild(node, visit)
    }
    visit(source)
    return found
  })

/** Literals that are spread in a literal of their kind: they only pack several entries into one line. */
const packedLiterals = (sources: Sources): readonly string[] =>
  Object.entries(sources).flatMap(([file, text]) => {
    const source = typescript.createSourceFile(file, text, typescript.ScriptTarget.ES2022)
    const found: string[] = []
    const visit = (node: ts.Node): void => {
      const spread = typescript.isObjectLiteralExpression(node)
        ? node.properties.filter(typescript.isSpreadAssignment)
        : typescript.isArrayLiteralExpression(node)
          ? node.elements.filter(typescript.isSpreadElement)
          : []
      for (const { expression } of spread)
        if (expression.kind === node.kind) found.push(`${file}: ...${expression.getText(source)}`)
      typescript.forEachChild(node, visit)
    }
    visit(source)
    return found
  })

/** Lines of comments that are too long; code of an example may be. */
const longComments = (sources: Sources): readonly string[] =>
  Object.entries(sources).flatMap(([file, text]) =>
    [...text.matchAll(/^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*)/gm)]
      .flatMap(([comment]) => comment.replace(/@example[\s\S]*?(?=\n\s*\* @|\*\/)/g, '').split('\n'))
      .filter((line) => line.length > MAX_COMMENT_COLUMNS)
      .map((line) => `${file}: ${line.trim()}`),
  )

/**
 * The number of import and re-export statements of each file over the limit. A barrel (`index.ts`) only
 * lists, so it may have more.
 */
const filesWithManyImports = (sources: Sources): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(sources)
      .filter(([file]) => posix.basename(file) !== 'index.ts')
      .map(([file, text]) => {
        const { statements } = typescript.createSourceFile(file, text, typescript.ScriptTarget.ES2022)
        const imports = statements.filter(
          (statement) =>
            typescript.isImportDeclaration(statement) ||
            (typescript.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined),
        )
        return [file, imports.length] as const
      })
      .filter(([, imports]) => imports > MAX_IMPORTS),
  )

/** Top-level names that several files define: a reader cannot tell which one is meant. */
const sharedNames = (sources: Sources): readonly string[] => {
  const names = Object.values(sources).flatMap((text) => [
    ...new Set(
      [...text.matchAll(/^(?:export )?(?:const|function|class|interface|type|let) (\w+)/gm)].map(
        ([, name = '']) => name,
      ),
    ),
  ])
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
}

/** The tokens of a source, without comments. */
const countTokens = (text: string): number => {
  const source = typescript.createSourceFile('any.ts', text, typescript.ScriptTarget.Latest, true)
  const count = (node: ts.Node): number => {
    if (typescript.isJSDoc(node)) return 0
    const children = node.getChildren(source)
    if (children.length === 0) return node.getText(source) === '' ? 0 : 1
    return children.reduce((sum, child) => sum + count(child), 0)
  }
  return count(source)
}

const httpClients = (sources: Sources): readonly string[] =>
  Object.keys(sources).filter((file) =>
    importsOf(sources[file] ?? '').some((target) => /^undici(\/|$)|^(node:)?https?$/.test(target)),
  )

/** The jobs of packages, and the only files that give them one. */
const JOBS: Readonly<Record<string, readonly string[]>> = {
  pino: ['src/cli/run/log.ts'],
  ndjson: ['sinks/ndjson.ts'],
  'csv-stringify': ['src/market/list-sources.ts', 'src/web/page/parts/csv.ts'],
  undici: ['src/http/connections.ts', 'src/http/exchange.ts'],
}

const packageOf = (target: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(target)?.[0] ?? target

const importersOf = (name: string, sources: Sources): readonly string[] =>
  Object.keys(sources)
    .filter(
      (file) =>
        layerOf(file) !== 'examples' &&
        importsOf(sources[file] ?? '').some((target) => packageOf(target) === name),
    )
    .sort()

/**
 * Imports of files that a package does not offer: it offers what its manifest exports, or else its main file
 * alone.
 */
const privateImports = (sources: Sources): readonly string[] =>
  Object.keys(sources).flatMap((file) =>
    importsOf(sources[file] ?? '')
      .filter((target) => !/^(?:\.|node:|scripstream(?:\/|$))/.test(target) && target !== packageOf(target))
      .filter((target) => {
        const manifest = readFileSync(join(root, 'node_modules', packageOf(target), 'package.json'), 'utf8')
        const { main, exports } = JSON.parse(manifest) as {
          readonly main?: string
          readonly exports?: object
        }
        const path = target.slice(packageOf(target).length + 1)
        return exports ? !(`./${path}` in exports) : path !== main
      })
      .map((target) => `${file} imports ${target}`),
  )

/**
 * Files that write a line of JSON or CSV by hand, each for a reason. A cost is the CPU of the command with
 * the package, in its comment there.
 */
const OWN_LINES: Readonly<Record<string, string>> = {
  'sinks/create-storage.ts': 'writes one document',
  'src/cli/answer-process.ts': 'is how two processes of ours talk',
  'src/cli/notify/send.ts': 'writes one document',
  'src/cli/query/print.ts': 'costs 1.3 times, and JSON.stringify rounds',
  'src/cli/stream/records.ts': 'costs 1.23 times',
  'src/market/candle-file.ts': 'writes candles, most of them as bytes',
  'src/storage/full-run.ts': 'writes one document',
  'src/storage/previous-outputs.ts': 'writes one document',
  'src/storage/run-state.ts': 'writes one document',
  'src/tables/export/bundle.ts': 'writes candles, and costs 1.25 times',
}

/**
 * Templates with a line of JSON, not an indented document, or of cells, and no event of a page. Lines of the
 * journal are its own format.
 */
const ownLines = (sources: Sources): readonly string[] =>
  Object.keys(sources).filter((file) =>
    /\bJSON\.stringify\((?:[^()]|\([^()]*\))*(?<!, 2)\)\)?\}\\n(?!\\n)|\.join\(','\)\}\\n/.test(
      withoutComments(sources[file] ?? ''),
    ),
  )

/** Files that use the disk of the machine, each for a reason: a simulation does not replace it there. */
const OWN_DISK: Readonly<Record<string, string>> = {
  'src/storage/disk.ts': 'is the disk',
  'src/cli/main.ts': 'reads package.json of the program',
  'src/cli/hints.ts': 'finds out how the program is installed',
  'src/web/server/assets.ts': 'reads the page, a part of the program',
  'src/cli/completion.ts': 'reads the scripts for shells, parts of the program',
  'src/cli/app-streams.ts': 'imports a module of the user',
  'src/cli/options.ts': 'reads standard input',
  'src/cli/doctor/local.ts': 'measures the free space, and reads the versions of packages',
  'src/cli/doctor/settings.ts': 'tries what a run writes, and takes it back',
  'src/cli/answer-process.ts': 'deletes what another process has left',
  'src/fleet/blobs.ts': 'stores data of a fleet in its shared folder',
}

/** Imports of the file system of Node, and of timers that a simulation cannot replace. */
const machineImports = (sources: Sources): readonly string[] =>
  Object.keys(sources).filter((file) =>
    importsOf(sources[file] ?? '').some((target) => /^(node:)?(fs|timers)(\/promises)?$/.test(target)),
  )

const withoutComments = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')

const ownTime = (sources: Sources): readonly string[] =>
  Object.keys(sources)
    .filter((file) => ['operators', 'engine', 'streams'].includes(layerOf(file)))
    .flatMap((file) => {
      const text = withoutComments(sources[file] ?? '').replaceAll('clock = Date.now', '')
      return [...text.matchAll(/\bDate\.now\b|\bnew Date\(\s*\)|\bset(?:Timeout|Interval)\(/g)].map(
        ([what]) => `${file}: ${what}`,
      )
    })

/**
 * Flags and calls of the command in string literals of the library, whose errors name settings; the command
 * and its page add the advice.
 */
const commandSyntaxInTexts = (sources: Sources): readonly string[] =>
  Object.entries(sources)
    // The READMEs of the recorded days and of the lake name commands.
    .filter(([file]) => !['cli', 'web'].includes(layerOf(file)) && posix.basename(file) !== 'guide.ts')
    .flatMap(([file, text]) => {
      const source = typescript.createSourceFile(file, text, typescript.ScriptTarget.ES2022)
      const found: string[] = []
      const visit = (node: ts.Node): void => {
        const words =
          'text' in node && typescript.isLiteralExpression(node)
            ? node.text
            : typescript.isTemplateSpan(node)
              ? node.literal.text
              : ''
        const head = typescript.isTemplateExpression(node) ? node.head.text : ''
        // A text that only consists of such words is a name, such as that of a span.
        for (const [syntax] of `${head} ${words}`
          .trim()
          .matchAll(/(?<![\w-])--[a-z][\w-]*|(?<=.)\bscripstream [a-z]+\b/g))
          found.push(`${file}: ${syntax}`)
        typescript.forEachChild(node, visit)
      }
      visit(source)
      return found
    })

const defaultExports = (sources: Sources): readonly string[] =>
  Object.keys(sources).filter(
    (file) => !file.endsWith('.d.ts') && /^export default\b|\bas default\b/m.test(sources[file] ?? ''),
  )

const OBSERVING_CLASS =
  /class .*(?:extends (?:Subscription|Subscriber|Subject|Observable)|implements .*(?:Observer|SubscriptionLike|Unsubscribable))\b/

const root = join(import.meta.dirname, '..')
const sources: Sources = Object.fromEntries(
  ['src', 'streams', 'sinks'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => posix.join(folder, name))
      .map((file) => [file, readFileSync(join(root, file), 'utf8')] as const),
  ),
)

describe('the repository', () => {
  it('is read as a whole', () => {
    const layers = new Set(Object.keys(sources).map(layerOf))
    expect([...layers].sort()).toEqual(Object.keys(MAY_IMPORT).sort())
    expect(brokenImports(sources)).toEqual([])
  })

  it('does not grow', () => {
    const own = Object.fromEntries(Object.entries(sources).filter(([file]) => layerOf(file) !== 'examples'))
    const tokens = Object.values(sources).reduce((sum, text) => sum + countTokens(text), 0)
    expect(tokens).toBeLessThanOrEqual(MAX_SIZE.tokens)
    expect(sharedNames(own).length).toBeLessThanOrEqual(MAX_SIZE.sharedNames)
  })

  it('imports downwards only', () => expect(wrongImports(sources)).toEqual([]))
  it('has no circle of imports', () => expect(circles(sources)).toEqual([]))
  it('has no file over 400 lines', () => expect(longFiles(sources)).toEqual([]))
  it('has no function over 60 lines', () => expect(longFunctions(sources)).toEqual([]))
  it('packs no entries of a literal into another one', () => expect(packedLiterals(sources)).toEqual([]))
  it('has no comment over 110 columns', () => expect(longComments(sources)).toEqual([]))
  it('has no file with more than 15 imports', () => expect(filesWithManyImports(sources)).toEqual({}))
  it('reads the time from the scheduler and the injected clock only', () =>
    expect(ownTime(sources)).toEqual([]))
  it('names no flag and no call of the command in texts of the library', () =>
    expect(commandSyntaxInTexts(sources)).toEqual([]))
  it('reads and writes files through the disk that a simulation replaces, with the global timers', () =>
    expect([...machineImports(sources)].sort()).toEqual(Object.keys(OWN_DISK).sort()))
  it('leaves logs, NDJSON, CSV and requests to packages, each in its places', () => {
    const found = Object.fromEntries(Object.keys(JOBS).map((name) => [name, importersOf(name, sources)]))
    expect(found).toEqual(JOBS)
    expect([...ownLines(sources)].sort()).toEqual(Object.keys(OWN_LINES))
  })
  it('imports no private file of a package, and bundles the packages as they are', () => {
    expect(privateImports(sources)).toEqual([])
    expect(readFileSync(join(root, 'src/cli/bundle.js'), 'utf8')).not.toMatch(
      /\bplugins?\b|\b(?:transform|load|resolveId|handler)\b/,
    )
    const filters = [
      ...readFileSync(join(root, 'src/web/bundle.js'), 'utf8').matchAll(/filter: (.*)$/gm),
    ].map(([, filter]) => filter)
    expect(filters).toEqual([String.raw`{ id: /[\\/]src[\\/]web[\\/]page[\\/].*\.ts$/ },`])
  })
  it('loads undici by its file, because Bun has a package of its own by that name, without pools', () => {
    const byName = /^import (?!type )[^']* from 'undici'|(?<!typeof )import\('undici'\)/m
    expect(Object.keys(sources).filter((file) => byName.test(sources[file] ?? ''))).toEqual([])
    expect(importsOf(sources['src/http/connections.ts'] ?? '')).toContain('undici/index.js')
  })
  it('has no default exports', () => expect(defaultExports(sources)).toEqual([]))

  it('has no class that is a Subscription or an Observer: what an operator needs lives in its closure', () => {
    expect(Object.keys(sources).filter((file) => OBSERVING_CLASS.test(sources[file] ?? ''))).toEqual([])
  })

  it('retries in two operators only, which a run uses as an app does', () => {
    const retrying = Object.keys(sources).filter((file) =>
      /^import [^;]*\bretry\b[^;]* from 'rxjs'$/m.test(sources[file] ?? ''),
    )
    expect(retrying.filter((file) => layerOf(file) !== 'examples')).toEqual([
      'src/operators/retry-after-429.ts',
      'src/operators/retry-failures.ts',
    ])
  })

  it('has one file that sends requests, and the simulator as the only server', () => {
    expect(httpClients(sources).filter((file) => layerOf(file) !== 'cli')).toEqual(
      expect.arrayContaining(['src/http/connections.ts', 'src/simulator/server.ts']),
    )
    // Metrics during a run, and the page, are served on loopback.
    const others = httpClients(sources).filter(
      (file) => !['http', 'simulator', 'examples'].includes(layerOf(file)),
    )
    expect(others.filter((file) => !file.startsWith('src/web/server/'))).toEqual(['src/cli/run/metrics.ts'])
  })
})

describe('the checks of the repository', () => {
  it.each(['class A extends Subscription {', 'class A<T> extends B implements C, Observer<T> {'])(
    'find %s',
    (text) => expect(text).toMatch(OBSERVING_CLASS),
  )

  it.each([
    ['src/model/a.ts', '../operators/b.js'],
    ['src/operators/a.ts', '../http/b.js'],
    ['src/http/a.ts', '../engine/b.js'],
    ['src/simulator/a.ts', '../http/connections.js'],
    ['src/simulator/a.ts', '../operators/b.js'],
    ['src/engine/a.ts', '../simulator/b.js'],
    ['src/engine/a.ts', '../../streams/b.js'],
    ['src/storage/a.ts', '../tables/b.js'],
    ['sinks/a.ts', '../src/tables/b.js'],
    ['streams/a.ts', '../src/storage/b.js'],
    ['sinks/a.ts', '../streams/b.js'],
    ['streams/a.ts', '../sinks/b.js'],
    ['streams/a.ts', '../src/collector.js'],
    ['src/tables/a.ts', '../../streams/b.js'],
    ['src/engine/a.ts', '../tables/b.js'],
    ['src/config.ts', './collector.js'],
    ['src/collector.ts', './index.js'],
    ['src/index.ts', './cli/b.js'],
    ['src/index.ts', './simulator/b.js'],
    ['src/index.ts', './testing.js'],
    ['src/testing.ts', './simulator/b.js'],
    ['src/collector.ts', './fleet/b.js'],
    ['src/index.ts', './fleet/b.js'],
    ['src/engine/a.ts', '../fleet/b.js'],
    ['src/fleet/a.ts', '../collector.js'],
    ['src/examples/a.ts', '../index.js'],
    ['src/fleet/a.ts', '../cli/b.js'],
    ['src/web/server/a.ts', '../../cli/b.js'],
    ['src/tables/a.ts', '../web/b.js'],
    ['elsewhere/a.ts', './b.js'],
  ])('detect that %s must not import %s', (file, target) => {
    expect(wrongImports({ [file]: `import { b } from '${target}'\n` })).toHaveLength(1)
  })

  it.each([
    ['src/simulator/a.ts', '../http/endpoint.js'],
    ['sinks/a.ts', '../src/engine/b.js'],
    ['src/collector.ts', '../streams/registry.js'],
    ['src/cli/a.ts', '../simulator/b.js'],
    ['src/cli/a.ts', '../fleet/b.js'],
    ['src/fleet/a.ts', '../../streams/b.js'],
    ['src/cli/a.ts', './b.js'],
  ])('permit that %s imports %s', (file, target) => {
    expect(wrongImports({ [file]: `export * from '${target}'\n` })).toEqual([])
  })

  it.each([
    ["import '../x.js'"],
    ["import type { X } from '../x.js'"],
    ["import {\n  type X,\n  y,\n} from '../x.js'"],
    ["export * as x from '../x.js'"],
    ["const x = await import('../x.js')"],
    ["type X = import('../x.js').X"],
  ])('detect the import in %j', (text) => expect(importsOf(text)).toEqual(['../x.js']))

  it('detect a circle of any length', () => {
    const ring = {
      'src/model/a.ts': "from './b.js'",
      'src/model/b.ts': "from './c.js'",
      'src/model/c.ts': "from './a.js'",
    }
    expect(circles(ring)).toEqual(['src/model/a.ts > src/model/b.ts > src/model/c.ts > src/model/a.ts'])
    expect(circles({ 'src/model/a.ts': "from './a.js'" })).toHaveLength(1)
    expect(circles({ ...ring, 'src/model/c.ts': '' })).toEqual([])
  })

  it('detect a name that two files define', () => {
    expect(
      sharedNames({
        a: 'const x = 1\ntype y = 2',
        b: 'export const x = () => {\n  const y = 1\n}',
        c: 'interface z {}',
      }),
    ).toEqual(['x'])
  })

  it('count tokens, but no comments and no line ends', () => {
    expect(countTokens('/** a */\nconst a = [`b`, 1] // d\n')).toBe(countTokens('const a=[`b`,1]'))
    expect(countTokens('const a = 1')).toBe(4)
  })

  it('detect a file of 401 lines, but not one of 400', () => {
    expect(longFiles({ a: 'x\n'.repeat(401) })).toEqual(['a'])
    expect(longFiles({ a: 'x\n'.repeat(400) })).toEqual([])
  })

  it.each([
    ['function f() {', '}'],
    ['export const f = () => {', '}'],
    ['const f = () => () => [', ']'],
    ['f(function () {', '})'],
    ['const o = { f() {', '} }'],
    ['const o = { get f() {', '} }'],
    ['class C { constructor() {', '} }'],
    ['namespace N { if (a) { const f = async (b: B): Promise<void> => {', '} } }'],
  ])('detect a function of 61 lines, but not one of 60: %s', (head, tail) => {
    const toText = (lines: number): string => `\n${head}${'\n'.repeat(lines - 1)}${tail}\n`
    expect(longFunctions({ a: toText(61) })).toContain('a:2')
    expect(longFunctions({ a: toText(60) })).toEqual([])
  })

  it.each(['f({ a, ...{ b, c } })', 'const a = [b, ...[c, d]]', 'f({ a: [{ ...{ b } }] })'])(
    'detect the packed literal in %s',
    (text) => {
      expect(packedLiterals({ a: text })).toHaveLength(1)
      expect(packedLiterals({ a: text.replace('...', '...b ?? ') })).toEqual([])
    },
  )

  it.each(['  // $', '/** $ */', '/**\n * $\n */', '/**\n * @example\n * a\n * @throws $\n */'])(
    'detect a comment of 111 columns, but not one of 110: %j',
    (form) => {
      const toText = (columns: number): string => {
        const own = form.split('\n').find((line) => line.includes('$')) ?? ''
        return form.replace('$', 'x'.repeat(columns - own.length + 1))
      }
      expect(longComments({ a: toText(111) })).toHaveLength(1)
      expect(longComments({ a: toText(110) })).toEqual([])
      expect(longComments({ a: `/** @example ${toText(111).replaceAll(/[/*]/g, '')} */` })).toEqual([])
    },
  )

  it.each([
    ["import './b.js'\n"],
    ["import type { B } from './b.js'\n"],
    ["import {\n  b,\n} from './b.js'\n"],
    ["export * from './b.js'\n"],
  ])('detect 16 imports, but not 15: %j', (statement) => {
    const own = "export { b }\nconst text = `\nimport './b.js'`\n"
    expect(filesWithManyImports({ 'src/model/a.ts': statement.repeat(16) + own })).toEqual({
      'src/model/a.ts': 16,
    })
    expect(filesWithManyImports({ 'src/model/a.ts': statement.repeat(15) + own })).toEqual({})
    expect(filesWithManyImports({ 'src/model/index.ts': statement.repeat(16) })).toEqual({})
  })

  it('detect a second HTTP client and a missing file', () => {
    expect(
      httpClients({
        'streams/a.ts': "import { request } from 'undici'",
        'sinks/b.ts': "import { get } from 'node:https'",
      }),
    ).toHaveLength(2)
    expect(brokenImports({ 'src/model/a.ts': "import './gone.js'" })).toEqual([
      'src/model/a.ts imports src/model/gone.ts',
    ])
    expect(defaultExports({ a: 'export default 1', b: "export { x as default } from './x.js'" })).toEqual([
      'a',
      'b',
    ])
  })

  it('detect a private file of a package, a package outside its places, and a line that is written by hand', () => {
    const imports = (target: string): Sources => ({ 'src/http/a.ts': `import x from '${target}'` })
    for (const target of ['undici/lib/dispatcher/pool.js', 'csv-stringify/lib/sync.js', 'zod/src/index.js'])
      expect(privateImports(imports(target))).toHaveLength(1)
    for (const target of ['undici', 'csv-stringify/sync', '@duckdb/node-api', 'node:fs/promises', './b.js'])
      expect(privateImports(imports(target))).toEqual([])
    expect(importersOf('pino', imports('pino'))).toEqual(['src/http/a.ts'])
    for (const line of [
      'JSON.stringify(row)',
      'escape(JSON.stringify(row))',
      'JSON.stringify({ a: b() })',
      "cells.join(',')",
    ])
      expect(ownLines({ a: `f(\`$\{${line}}\\n\`)` }), line).toEqual(['a'])
    for (const line of [
      'JSON.stringify(all, undefined, 2)',
      "JSON.stringify(row)} and ${''",
      "cells.join(', ')",
    ])
      expect(ownLines({ a: `f(\`$\{${line}}\\n\`)` }), line).toEqual([])
  })

  it.each(['node:fs', 'fs', 'node:fs/promises', 'node:timers/promises'])(
    'detect an import of %s',
    (target) => {
      expect(machineImports({ 'src/storage/a.ts': `import { x } from '${target}'` })).toHaveLength(1)
      expect(machineImports({ 'src/storage/a.ts': "import { disk } from './disk.js'" })).toEqual([])
    },
  )

  it.each([
    'Date.now()',
    'const clock = () => Date.now',
    'new Date()',
    'setTimeout(f, 1)',
    'setInterval(f, 1)',
  ])('see %s', (text) => {
    expect(ownTime({ 'streams/a.ts': text })).toHaveLength(1)
    expect(ownTime({ 'src/operators/a.ts': text })).toHaveLength(1)
    expect(ownTime({ 'src/engine/a.ts': text })).toHaveLength(1)
    expect(ownTime({ 'src/cli/a.ts': text })).toEqual([])
  })

  it.each([
    "f('use --out DIR')",
    'f(`--out`)',
    'f(`a --out $' + '{a}`)',
    'f(`$' + '{a} --no-x$' + '{b}`)',
    `f('"scripstream query" lists them')`,
  ])('detect a flag or call of the command in %s', (text) => {
    expect(commandSyntaxInTexts({ 'src/http/a.ts': text })).toHaveLength(1)
    expect(commandSyntaxInTexts({ 'src/cli/a.ts': text })).toEqual([])
  })

  it('permit flags in comments, dashes that are no flag, and names', () => {
    expect(
      commandSyntaxInTexts({
        'src/http/a.ts': "/** `--out` */ f('a--b', '-- comment', '--', 'scripstream run') // --out",
      }),
    ).toEqual([])
  })

  it('permit the real clock as a default, and dates from a given instant', () => {
    expect(
      ownTime({ 'src/engine/a.ts': '({ clock = Date.now }) => new Date(clock()) // not Date.now()' }),
    ).toEqual([])
  })
})
