import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
// Our compiler has no API yet; an older one, a dependency of the type checker of the package, has.
import type ts from '../../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'
import { manifest, ROOT } from './packed.js'

const require = createRequire(import.meta.url)
const typescript = createRequire(require.resolve('@arethetypeswrong/core'))('typescript') as typeof ts

const options: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ['node'],
  target: typescript.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
  module: typescript.ModuleKind.NodeNext,
}

const entries = Object.entries(manifest.exports).map(([path, { types = '' }]) => ({
  from: path.replace('.', manifest.name),
  file: join(ROOT, types),
}))

/** What the app around an example has, by name: its type, with the names of the package. */
const APP: Readonly<Record<string, string>> = {
  settings: 'SettingsInput',
  collector: 'Collector<RowsOf<typeof streams>>',
  database: '{ insert(key: string, rows: readonly unknown[]): Promise<void> }',
  server:
    '{ get(path: string, handler: (request: unknown, response: { type(type: string): { send(text: string): void } }) => Promise<void>): void }',
  log: '(text: string) => Observable<void>',
  insert: '(key: string, rows: readonly unknown[]) => Promise<void>',
  ask: 'Ask',
  chain: 'Endpoint<{ symbol: string }, readonly Row[]>',
  holidays: 'Endpoint<object, readonly Row[]>',
  api: 'Endpoint<object, readonly Row[]>',
  archive: 'Endpoint<object, readonly Row[]>',
  expiries: 'Endpoint<{ of: string }, readonly Row[]>',
  input: 'any',
  Contract: 'typeof MasterRow',
  text: 'string',
  url: 'string',
  deliveries: 'Endpoint<{ readonly day: Day }, readonly { readonly SYMBOL: string }[]>',
  urls: 'readonly string[]',
  bucketFiles: 'FileStore',
  chains: 'StreamDefinition',
  optionChains: 'StreamDefinition',
  first$: 'Observable<number>',
  second$: 'Observable<string>',
  prices$: 'Observable<number>',
  news$: 'Observable<string>',
  rows$: 'Observable<readonly { date: string }[]>',
  rows: 'readonly { id: string; date: string }[]',
  request$: 'Observable<string>',
  socket$: 'Observable<string>',
  request: 'string',
  send: '(request: string) => Observable<string>',
  transfer: '{ bytesAt: number }',
  rejectStatus: '(response: Response) => void',
}

const namesIn = (text: string): readonly string[] => [...new Set(text.match(/[A-Za-z_]\w*\$?/g))]

/** The names that an example declares itself. */
const declaredIn = (code: string): ReadonlySet<string> =>
  new Set(
    [...code.matchAll(/(?:const|interface|import \* as) (?:\{([^}]*)\}|(\w+\$?))/g)].flatMap(
      ([, list, name]) => namesIn(list ?? name ?? ''),
    ),
  )

/**
 * An example as a module: what it uses of the package, of rxjs and zod is imported, what the app has is
 * declared.
 */
const toModule = (code: string, exported: ReadonlyMap<string, string>): string => {
  const own = declaredIn(code)
  const used = namesIn(code).filter((name) => !own.has(name))
  const app = used.filter((name) => name in APP)
  const needed = new Set([
    ...used.filter((name) => !(name in APP)),
    ...app.flatMap((name) => namesIn(APP[name] ?? '')),
  ])
  const imports = [...needed].flatMap((name) =>
    exported.has(name) ? [`import { ${name} } from '${exported.get(name)}'`] : [],
  )
  return [...imports, ...app.map((name) => `declare const ${name}: ${APP[name]}`), code, 'export {}'].join(
    '\n',
  )
}

describe('the examples in docstrings', () => {
  const program = createProgram(
    {},
    entries.map(({ file }) => file),
  )
  const checker = program.getTypeChecker()
  const exportsOf = (file: string): readonly ts.Symbol[] => {
    const source = program.getSourceFile(file)
    const symbol = source && checker.getSymbolAtLocation(source)
    return symbol ? checker.getExportsOfModule(symbol) : []
  }
  const foreign = {
    rxjs: 'Observable of from map mergeMap tap defer switchMap catchError throwError',
    zod: 'z',
    'rxjs/fetch': 'fromFetch',
    undici: 'MockAgent',
  }
  const exported = new Map([
    ...Object.entries(foreign).flatMap(([from, names]) =>
      names.split(' ').map((name) => [name, from] as const),
    ),
    ...entries.flatMap(({ from, file }) => exportsOf(file).map(({ name }) => [name, from] as const)),
  ])
  const examples = entries.flatMap(({ from, file }) =>
    exportsOf(file).flatMap((symbol) => {
      const declared = symbol.flags & typescript.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      return [declared, ...(declared.members?.values() ?? [])].flatMap((one) =>
        one
          .getJsDocTags(checker)
          .filter(({ name }) => name === 'example')
          .map(({ text }) => ({
            of: `${from}: ${symbol.name}`,
            code: typescript.displayPartsToString(text),
          })),
      )
    }),
  )

  it('compile in an app', () => {
    expect(examples.length).toBeGreaterThan(40)
    const modules = Object.fromEntries(
      examples.map(({ code }, index) => [join(ROOT, `dist/example${index}.mts`), toModule(code, exported)]),
    )
    const compiled = createProgram(modules, [])
    const problems = Object.keys(modules).flatMap((file, index) =>
      compiled
        .getSemanticDiagnostics(compiled.getSourceFile(file))
        .concat(compiled.getSyntacticDiagnostics(compiled.getSourceFile(file)))
        .map(
          ({ messageText }) =>
            `${examples[index]?.of}: ${typescript.flattenDiagnosticMessageText(messageText, ' ').slice(0, 300)}`,
        ),
    )
    expect(problems).toEqual([])
  })
})

/** A program of texts that are not on the disk, and of files. */
function createProgram(texts: Readonly<Record<string, string>>, files: readonly string[]): ts.Program {
  const host = typescript.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => name in texts || fileExists(name)
  host.readFile = (name) => texts[name] ?? readFile(name)
  host.getSourceFile = (name, target) => {
    const text = texts[name]
    return text === undefined ? getSourceFile(name, target) : typescript.createSourceFile(name, text, target)
  }
  return typescript.createProgram([...Object.keys(texts), ...files], options, host)
}
