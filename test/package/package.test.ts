import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandOf, manifest, type Packed, pack, ROOT, run } from './packed.js'

let packed: Packed
beforeAll(() => {
  packed = pack()
  writeFileSync(join(packed.project, 'package.json'), '{"type":"module","private":true}\n')
  for (const file of ['consumer.ts', 'declarations.ts', 'options.ts'])
    copyFileSync(join(import.meta.dirname, file), join(packed.project, file))
})
afterAll(() => packed.remove())

const compile = (options: object, files: readonly string[] = ['consumer.ts']): ReturnType<typeof run> => {
  const exact = { noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true }
  const compilerOptions = {
    strict: true,
    ...exact,
    skipLibCheck: false,
    target: 'ES2022',
    lib: ['ES2023', 'DOM'],
    types: [],
    ...options,
  }
  writeFileSync(join(packed.project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  return run([commandOf('typescript', 'tsc'), '-p', '.'], packed.project)
}

describe('the package', () => {
  it('names types first, and no main that a resolver could take instead', () => {
    expect(manifest.main).toBeUndefined()
    for (const conditions of Object.values(manifest.exports)) {
      expect(Object.keys(conditions)).toEqual(['types', 'default'])
      for (const file of Object.values(conditions)) expect(packed.files).toContain(file.replace('./', ''))
    }
  })

  it('lets an app bundle the operators for a browser: two in 30 kB with RxJS, and none with zod or a module of Node', async () => {
    const input = join(packed.project, 'two.js')
    writeFileSync(input, "export * from 'scripstream/operators'\n")
    const all = await (await rolldown({ input, platform: 'browser', logLevel: 'silent' })).generate()
    expect(all.output[0].imports).toEqual([])
    writeFileSync(input, "export { deadline, retryFailures } from 'scripstream/operators'\n")
    const bundle = await rolldown({ input, platform: 'browser', logLevel: 'silent' })
    const { output } = await bundle.generate({ minify: true })
    expect(Object.keys(output[0].modules).filter((file) => file.includes('/zod/'))).toEqual([])
    expect(output[0].code.length).toBeLessThan(30_000)
  })

  it('contains what is run and imported, and nothing else', () => {
    const isLibrary = (file: string): boolean =>
      /^dist\/lib\/.+\.js$|^dist\/(src|streams|sinks)\/.+\.d\.ts$|^dist\/src\/examples\/.+\.js$/.test(file)
    const others = packed.files.filter((file) => !isLibrary(file))
    const [bundled, rest] = [
      others.filter((file) => file.startsWith('dist/bundle/')),
      others.filter((file) => !file.startsWith('dist/')),
    ]
    expect(bundled).toEqual(
      expect.arrayContaining([
        'dist/bundle/cli/scripstream.cjs',
        'dist/bundle/cli/main.js',
        'dist/bundle/cli/LICENSES.txt',
        ...['bash', 'fish', 'zsh'].map((shell) => `dist/bundle/cli/shells/scripstream.${shell}`),
        'dist/bundle/web/index.html',
        'dist/bundle/web/page.js',
        'dist/bundle/web/page.css',
      ]),
    )
    const examples = rest.filter((file) => /^src\/examples\/\d\d-[a-z-]+\.ts$/.test(file))
    expect(examples.length).toBeGreaterThan(5)
    const neither = rest.filter((file) => !examples.includes(file) && !file.endsWith('.md'))
    expect(neither.sort()).toEqual([
      'LICENSE',
      'package.json',
      'src/telemetry/alerts.yml',
      'src/telemetry/grafana-dashboard.json',
    ])
    expect(bundled.length + rest.length).toBe(others.length)
    expect(packed.files.filter((file) => /^dist\/src\/(cli|web)\//.test(file))).toEqual([])
  })

  it('contains what its README links to, and every page that another page links to', () => {
    const linked = packed.files
      .filter((file) => file.endsWith('.md'))
      .flatMap((page) => {
        // A package page takes images from the repository: they need not be in the package.
        const links = [
          ...readFileSync(join(ROOT, page), 'utf8').matchAll(/(?<!!\[[^\]]*)\]\((?!https?:|#)([^)#]+)/g),
        ]
        const targets = links.map(([, link = '']) => posix.join(posix.dirname(page), link))
        return page === 'README.md'
          ? targets
          : targets.filter((target) => target.endsWith('.md') || target.startsWith('src/examples/'))
      })
    expect(linked.length).toBeGreaterThan(10)
    expect(linked.filter((target) => !packed.files.includes(target))).toEqual([])
  })

  it('passes publint', () => {
    expect(run([commandOf('publint', 'publint'), 'run', packed.tarball, '--strict'], packed.project)).toEqual(
      {
        status: 0,
        output: expect.stringContaining('All good!'),
      },
    )
  })

  it('has types that every way of resolving modules finds', () => {
    const { status, output } = run(
      [
        commandOf('@arethetypeswrong/cli', 'attw'),
        packed.tarball,
        '--profile',
        'esm-only',
        '--no-color',
        '--no-emoji',
      ],
      packed.project,
    )
    expect(status, output).toBe(0)
    expect(output.match(/OK \(ESM\)/g)).toHaveLength(Object.keys(manifest.exports).length)
  })
})

describe('an app that installs the package', () => {
  it.each([
    { as: 'nodenext', module: 'nodenext', moduleResolution: 'nodenext' },
    { as: 'a bundler’s', module: 'esnext', moduleResolution: 'bundler' },
  ])(
    'compiles strictly, libraries too, without the types of Node, with options that are undefined: $as',
    ({ module, moduleResolution }) => {
      expect(compile({ module, moduleResolution, noEmit: true }, ['consumer.ts', 'options.ts'])).toEqual({
        status: 0,
        output: '',
      })
    },
  )

  it('can be built upon by a library: its declarations name each result of the API', () => {
    const options = { module: 'nodenext', moduleResolution: 'nodenext', declaration: true }
    expect(compile({ ...options, emitDeclarationOnly: true, outDir: 'types' }, ['declarations.ts'])).toEqual({
      status: 0,
      output: '',
    })
  })

  const expected = {
    outcome: 'complete',
    hasNews: true,
    files: expect.arrayContaining(['mine.json']),
    tried: [[{ answer: 42 }]],
    lacking: Array(2).fill(
      'a fleet needs two packages that are not installed: npm install bullmq@6 ioredis@6',
    ),
    isUsageError: true,
  }

  it('runs', () => {
    expect(compile({ module: 'nodenext', moduleResolution: 'nodenext' })).toEqual({ status: 0, output: '' })
    const { status, output } = run(['consumer.js'], packed.project)
    expect(status, output).toBe(0)
    expect(JSON.parse(output)).toEqual(expected)
  })

  it('gets the same modules by require, which Node supports from 20.19 on', () => {
    const names = Object.keys(manifest.exports).map((path) => path.replace('.', manifest.name))
    const script = `console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => Object.keys(require(name)).length > 0)))`
    writeFileSync(join(packed.project, 'required.cjs'), script)
    const { status, output } = run(['--no-warnings', 'required.cjs'], packed.project)
    expect(status, output).toBe(0)
    expect(JSON.parse(output)).toEqual(names.map(() => true))
  })

  it('has the command', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly version: string
    }
    const command = join(packed.project, 'node_modules', manifest.name, 'dist/bundle/cli/scripstream.cjs')
    expect(run([command, '--version'], packed.project)).toEqual({ status: 0, output: `${version}\n` })
  })
})
