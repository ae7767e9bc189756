import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
// Our compiler has no API yet; an older one, a dependency of the type checker of the package, has.
import type ts from '../../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'
import { manifest, ROOT } from './packed.js'

const require = createRequire(import.meta.url)
const typescript = createRequire(require.resolve('@arethetypeswrong/core'))('typescript') as typeof ts

interface Exported {
  /** Its export: `scripstream/sinks: folder`. */
  readonly name: string
  readonly docstring: string
  readonly isFunction: boolean
  /** Its tags, such as `example`. */
  readonly tags: readonly string[]
}

/** Functions whose name and types say how they are called. */
const OBVIOUS: readonly string[] = [
  'exactly',
  'assertSameIsin',
  'createResult',
  'isRow',
  'readText',
  'oneOrMore',
  'textSuchAs',
  'requireSid',
  'toStockRecord',
  'toDocumentColumns',
  'addDays',
  'readDay',
  'toDay',
  'toInstant',
  'toFilePath',
  'memorySession',
  'readReport',
  'parseRetryAfter',
  'workerName',
]

/** All exports of the given declaration files, by entry point. */
const exportsOf = (entries: Readonly<Record<string, string>>, program: ts.Program): readonly Exported[] => {
  const checker = program.getTypeChecker()
  return Object.entries(entries).flatMap(([specifier, file]) => {
    const source = program.getSourceFile(file)
    const entry = source && checker.getSymbolAtLocation(source)
    if (entry === undefined) throw new Error(`${file} is no module: run npm run build`)
    return checker.getExportsOfModule(entry).map((symbol) => {
      const declared = symbol.flags & typescript.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      const docstring = typescript.displayPartsToString(declared.getDocumentationComment(checker))
      const isFunction = checker.getTypeOfSymbol(declared).getCallSignatures().length > 0
      const tags = declared.getJsDocTags(checker).map(({ name }) => name)
      return { name: `${specifier}: ${symbol.name}`, docstring, isFunction, tags }
    })
  })
}

/** Whether a docstring has at least one sentence. */
const isSaying = ({ docstring }: Exported): boolean =>
  docstring.split(/\s+/).length >= 4 && /[.;]$/.test(docstring)

const options: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  types: [],
  target: typescript.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts'],
  module: typescript.ModuleKind.NodeNext,
}

const entries = Object.fromEntries(
  Object.entries(manifest.exports).map(([path, { types = '' }]) => [
    path.replace('.', manifest.name),
    join(ROOT, types),
  ]),
)

describe('the public API', () => {
  const program = typescript.createProgram(Object.values(entries), options)

  it('has a docstring for everything that it exports', () => {
    const all = exportsOf(entries, program)
    expect(all.length).toBeGreaterThan(100)
    // What somebody has to look through; parts of a type are reached through it, such as
    // `RunReport['stale']`.
    expect(all.length).toBeLessThanOrEqual(221)
    expect(all.filter((one) => !isSaying(one)).map(({ name, docstring }) => `${name}: ${docstring}`)).toEqual(
      [],
    )
  })

  it('has an example for every function, unless its name and types say it all', () => {
    const functions = exportsOf(entries, program).filter(({ isFunction }) => isFunction)
    const without = functions
      .filter(({ tags }) => !tags.includes('example'))
      .map(({ name }) => name.split(': ')[1])
    expect(without.sort()).toEqual([...OBVIOUS].sort())
  })

  it('says of every entry point how stable it is', () => {
    const sources = Object.values(entries).map((file) =>
      file.replace(join(ROOT, 'dist'), ROOT).replace(/\.d\.ts$/, '.ts'),
    )
    for (const file of sources)
      expect(readFileSync(file, 'utf8'), file).toMatch(/@module scripstream.*\n \* @(public|beta)\n/)
  })

  it('compiles with an older compiler without the types of Node or of a browser', () => {
    const own = program
      .getSourceFiles()
      .filter(({ fileName }) => !relative(ROOT, fileName).startsWith('node_modules'))
    const problems = own
      .filter(({ fileName }) => relative(ROOT, fileName).startsWith('dist'))
      .flatMap((file) => program.getSemanticDiagnostics(file))
      .map(
        ({ file, messageText }) =>
          `${relative(ROOT, file?.fileName ?? '')}: ${typescript.flattenDiagnosticMessageText(messageText, ' ')}`,
      )
    expect(problems).toEqual([])
  })
})

describe('the check of docstrings', () => {
  const check = (text: string): readonly string[] => {
    const file = join(ROOT, 'dist', 'checked.d.ts')
    const host = typescript.createCompilerHost(options)
    const { getSourceFile, fileExists, readFile } = host
    host.fileExists = (name) => name === file || fileExists(name)
    host.readFile = (name) => (name === file ? text : readFile(name))
    host.getSourceFile = (name, target) =>
      name === file ? typescript.createSourceFile(name, text, target) : getSourceFile(name, target)
    const program = typescript.createProgram([file], options, host)
    return exportsOf({ checked: file }, program)
      .filter((one) => !isSaying(one))
      .map(({ name }) => name)
  }

  it.each([
    'export declare const f: () => void',
    'export interface f { a: 1 }',
    'export declare class f {}',
    'export type f = 1',
    '/** The f. */ export declare function f(): void',
    '// Says what it does, in a comment.\nexport declare function f(): void',
    'declare const g: 1\nexport { g as f }',
  ])('reports %j', (text) => expect(check(text)).toEqual(['checked: f']))

  it('accepts a sentence, wherever the declaration is', () => {
    expect(check('/** Says what the type cannot say. */ declare const g: 1\nexport { g as f }')).toEqual([])
  })
})
