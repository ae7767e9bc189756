import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

interface Locked {
  readonly version: string
  readonly integrity?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
interface Manifest {
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))
const manifest = read('package.json') as Manifest
const { packages } = read('package-lock.json') as { readonly packages: Readonly<Record<string, Locked>> }
const locked = Object.entries(packages).filter(([path]) => path !== '')

it('every package that is installed is locked by its digest, and runs nothing when it is installed', () => {
  expect(locked.length).toBeGreaterThan(50)
  // Binaries for other systems were not available when the lock was made; they are listed so that `npm ci`
  // works.
  const isElsewhere = (path: string): boolean =>
    /^node_modules\/(@duckdb\/node-bindings-(darwin|win32|linux-arm64)|@msgpackr-extract\/msgpackr-extract-(darwin|win32|linux-arm$))/.test(
      path,
    )
  const isDigest = (integrity = ''): boolean => integrity.startsWith('sha512-')
  expect(
    locked
      .filter(([path, { integrity }]) => !isDigest(integrity) && !isElsewhere(path))
      .map(([path]) => path),
  ).toEqual([])
  // An optional accelerator of BullMQ, which works without it (`npm install --ignore-scripts`). It is
  // installed only with BullMQ.
  const ACCELERATOR = 'node_modules/msgpackr-extract'
  expect(locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([
    ACCELERATOR,
  ])
  expect(packages[ACCELERATOR]).toMatchObject({ dev: true, optional: true })
  expect(manifest.peerDependenciesMeta).toMatchObject({
    bullmq: { optional: true },
    ioredis: { optional: true },
  })
  expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([])
})

it('every optional package that a locked one names is locked too, because otherwise `npm ci` rejects the lock', () => {
  const named = locked.flatMap(([, { optionalDependencies }]) => Object.keys(optionalDependencies ?? {}))
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !locked.some(([path]) => path.endsWith(`node_modules/${name}`)))).toEqual([])
})

it('needs few packages to run, each named on purpose', () => {
  expect(Object.keys(manifest.dependencies)).toEqual([
    'csv-parse',
    'csv-stringify',
    'hyparquet',
    'hyparquet-writer',
    'strip-json-comments',
    'undici',
  ])
  // An app has one of each of these.
  expect(
    Object.keys(manifest.peerDependencies).filter((name) => !manifest.peerDependenciesMeta[name]?.optional),
  ).toEqual(['rxjs', 'zod'])
})

it('never runs with a client that accepts a truncated chunked body', () => {
  const [major = 0, minor = 0, patch = 0] = (packages['node_modules/undici']?.version ?? '')
    .split('.')
    .map(Number)
  expect(major).toBe(7)
  expect(minor * 1_000 + patch).toBeGreaterThanOrEqual(30_002)
  expect(manifest.dependencies.undici).toMatch(/^\^7\.(30\.[2-9]|3[1-9]\.)/)
})
