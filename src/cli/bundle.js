import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'rolldown'
import { buildPage } from '../web/bundle.js'

// Bundles the built command into one file: finding and reading hundreds of modules takes most of the start-up
// time. Code that only some runs need (logging, the simulator) stays in separate files.

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
// The same depth as the unbundled command, so that both find package.json by the same relative path.
const FOLDER = join(ROOT, 'dist/bundle/cli')

// Optional packages are loaded from the user's installation.
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const external = Object.keys(manifest.peerDependenciesMeta)

const buildBundle = () =>
  build({
    cwd: ROOT,
    input: join(ROOT, 'dist/src/cli/main.js'),
    platform: 'node',
    external,
    // Node resolves rxjs to its CommonJS build, which cannot be tree-shaken.
    resolve: { alias: { rxjs: join(ROOT, 'node_modules/rxjs/dist/esm/index.js') } },
    // One chunk of all that every command loads, instead of one for each set of commands that share modules.
    output: {
      dir: FOLDER,
      format: 'esm',
      chunkFileNames: '[name].js',
      cleanDir: true,
      codeSplitting: { groups: [{ name: 'common', tags: ['$initial'] }] },
    },
    logLevel: 'warn',
    checks: { ineffectiveDynamicImport: false },
  })

/** Finds the package of a file. A package.json without a name only sets the module type of its folder. */
const findPackage = (file) => {
  const folder = dirname(file)
  const manifest = join(folder, 'package.json')
  const { name, version, license } = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : {}
  return name && version ? { title: `${name} ${version} (${license})`, folder } : findPackage(folder)
}

const readLicense = ({ title, folder }) => {
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)/i.test(file))
  return [title, ...files.map((file) => readFileSync(join(folder, file), 'utf8').trim())].join('\n\n')
}

/**
 * The library, one file for each entry point and one for each set of modules that they share: an app then
 * starts in half the time.
 */
const buildLibrary = () =>
  build({
    cwd: ROOT,
    input: Object.fromEntries(
      Object.entries(manifest.exports).map(([name, { types }]) => [
        name === '.' ? 'index' : name.slice(2),
        join(ROOT, types.replace('.d.ts', '.js')),
      ]),
    ),
    platform: 'node',
    // Packages are installed beside it, but for ndjson: it would bring nine others.
    external: (id, importer = '') =>
      /^[^./]/.test(id) && id !== 'ndjson' && !importer.includes('node_modules'),
    output: {
      dir: join(ROOT, 'dist/lib'),
      format: 'esm',
      chunkFileNames: 'shared/[name].js',
      cleanDir: true,
    },
    logLevel: 'warn',
    checks: { ineffectiveDynamicImport: false },
  })

/**
 * An editor shows what a setting means: the compiler keeps no descriptions of a schema, so they become
 * comments of its declaration.
 */
const describeSettings = async () => {
  const { Settings } = await import('../../dist/src/model/settings.js')
  const file = join(ROOT, 'dist/src/model/settings.d.ts')
  const withTexts = Object.entries(Settings.shape).reduce(
    (text, [name, { description = '' }]) =>
      text.replace(new RegExp(`\\n( {4}${name}: )`), (_, field) => `\n    /** ${description}. */\n${field}`),
    readFileSync(file, 'utf8').replace(/\n {4}\/\*\* .*\*\//g, ''),
  )
  writeFileSync(file, withTexts)
}

/** The digest of the sources, the same on every system: the driver and the workers of a fleet compare it. */
const writeBuild = () => {
  const files = ['src', 'streams', 'sinks'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(folder, name)),
  )
  const hash = createHash('sha256').update(JSON.stringify([manifest.version, manifest.dependencies]))
  for (const file of files
    .filter((name) => name.endsWith('.ts'))
    .sort((one, other) => (toPosix(one) < toPosix(other) ? -1 : 1)))
    hash
      .update(`\n${toPosix(file)}\n`)
      .update(readFileSync(join(ROOT, file), 'utf8').replaceAll('\r\n', '\n'))
  const target = join(ROOT, 'dist/src/fleet/queues.js')
  const text = readFileSync(target, 'utf8').replace(
    /BUILD = '\w+'/,
    `BUILD = '${hash.digest('hex').slice(0, 10)}'`,
  )
  writeFileSync(target, text)
}

const toPosix = (path) => path.replaceAll('\\', '/')

await describeSettings()
writeBuild()
await buildLibrary()
const { output } = await buildBundle()
const page = await buildPage(ROOT)
const thirdParty = [...output, ...page]
  .flatMap(({ moduleIds }) => moduleIds ?? [])
  .filter((id) => /[\\/]node_modules[\\/]/.test(id))
const licenses = new Set(thirdParty.map((id) => readLicense(findPackage(id))))
writeFileSync(join(FOLDER, 'LICENSES.txt'), `${[...licenses].sort().join(`\n\n${'-'.repeat(80)}\n\n`)}\n`)
// The entry checks the version of Node before it loads anything.
copyFileSync(join(ROOT, 'src/cli/scripstream.cjs'), join(FOLDER, 'scripstream.cjs'))
cpSync(join(ROOT, 'src/cli/shells'), join(FOLDER, 'shells'), { recursive: true })
// npm sets this bit when it installs the package; a linked package stays executable after a rebuild.
chmodSync(join(FOLDER, 'scripstream.cjs'), 0o755)
